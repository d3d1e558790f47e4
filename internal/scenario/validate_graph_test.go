package scenario

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// withGraphs is testScenario with other milestones and minefields, which begin on line 11.
func withGraphs(t *testing.T, graphs string) string {
	t.Helper()
	head, _, ok := strings.Cut(testScenario, "milestones:\n")
	if !ok || strings.Count(head, "\n") != 10 {
		t.Fatal("testScenario does not have its milestones on line 11")
	}
	return head + graphs
}

// crossing returns n milestones behind n others, to which they refer crosswise.
func crossing(n int) string {
	var yaml strings.Builder
	yaml.WriteString("milestones:\n")
	for i := range n {
		fmt.Fprintf(&yaml, "  - {name: a%d, after: [], table: contact, expect: {name: x}}\n", i)
	}
	for i := range n {
		fmt.Fprintf(&yaml, "  - {after: [a%d, a%d, a%d, a%d], constraints: [{table: contact, measure: addition, reference: a%d, expect: {name: x}}, "+
			"{table: contact, measure: addition, reference: a%d, expect: {name: x}}, {table: contact, measure: addition, reference: a%d, expect: {name: x}}]}\n",
			i, (i*5+3)%n, (i*7+1)%n, (i*3+5)%n, (i*5+3)%n, (i*7+1)%n, (i*3+5)%n)
	}
	return yaml.String()
}

func TestBadGraphs(t *testing.T) {
	const first = "milestones:\n  - {name: one, says: Done.}\n"
	for _, c := range []struct{ name, graphs, want string }{
		{"cycle", "milestones:\n  - {name: one, after: [two], says: a}\n  - {name: two, after: [one], says: b}\n",
			"a.yaml:12:25: milestones[0].after[0]: the order goes in a circle: one before two before one"},
		{"unknown reference", first + "  - {table: contact, measure: addition, reference: on, expect: {name: x}}\n",
			`a.yaml:13:52: milestones[1].reference: is "on", expected start or "one"`},
		{"later reference", "milestones:\n  - {table: contact, measure: addition, reference: two, expect: {name: x}}\n  - {name: two, says: b}\n",
			`a.yaml:12:52: milestones[0].reference: "two" does not come before "number 0", so there would be nothing to refer to; name it in after`},
		{"own reference", first + "  - {name: two, table: contact, measure: addition, reference: two, expect: {name: x}}\n",
			`a.yaml:13:63: milestones[1].reference: "two" refers to itself`},
		{"parallel reference", first + "  - {name: two, after: [one], says: b}\n" +
			"  - {name: three, after: [one], table: contact, measure: addition, reference: two, expect: {name: x}}\n",
			`a.yaml:14:79: milestones[2].reference: "two" does not come before "three", so there would be nothing to refer to; name it in after`},
		{"milestone in a minefield", first + "minefields:\n  - {table: contact, measure: addition, reference: one, expect: {name: x}}\n",
			`a.yaml:14:52: minefields[0].reference: is "one", expected start`},
		{"duplicate name", first + "  - {name: one, says: b}\n", `a.yaml:13:12: milestones[1].name: "one" is the name of number 0 too`},
		{"too many", "milestones:\n" + strings.Repeat("  - says: Done.\n", 65),
			"a.yaml:76:5: milestones[64]: is one too many, at most 64 are scored; there are 65"},
		{"too tangled", crossing(16),
			"a.yaml:26:5: milestones[14]: too many references cross each other: the matches of 11 nodes would have to be tried together, " +
				"at most 10 are; refer to a node directly before or to the start, or split the graph into chains"},
		{"unknown guardrail table", "milestones:\n  - {says: Done., guardrails: {except: [contacts]}}\n",
			`a.yaml:12:41: milestones[0].guardrails.except[0]: unknown table "contacts"; did you mean "contact"?`},
		{"guardrail with a target", first + "  - {table: contact, measure: guardrail, reference: one, expect: {name: x}}\n",
			"a.yaml:13:5: milestones[1]: compares with its reference only and takes nothing to expect"},
		{"empty target", "milestones:\n  - {table: contact, expect: []}\n",
			"a.yaml:12:5: milestones[0]: says nothing to expect: give expect, call or says"},
		{"empty row", "milestones:\n  - {table: contact, expect: [{}]}\n",
			"a.yaml:12:31: milestones[0].expect[0]: wants no column, so it says nothing"},
		{"two messages", "milestones:\n  - {table: sandbox, expect: [{content: a}, {content: b}]}\n",
			"a.yaml:12:45: milestones[0].expect[1]: is a second row, but one message is compared at a time"},
		{"addition of messages", "milestones:\n  - {table: sandbox, measure: addition, reference: start, expect: {content: a}}\n",
			"a.yaml:12:31: milestones[0].measure: is addition, which compares stored tables; messages are in sandbox"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkErrors(t, files(withGraphs(t, c.graphs), testWorld), strings.Split(c.want, "\n"))
		})
	}
}

func TestBadTargets(t *testing.T) {
	for _, c := range []struct{ name, constraint, want string }{
		{"unknown table", "table: contct, expect: {name: x}", `12:13: milestones[0].table: unknown table "contct"; did you mean "contact"?`},
		{"unknown column", "table: contact, expect: {nam: x}", `12:31: milestones[0].expect.nam: contact has no column "nam"; did you mean "name"?`},
		{"text for a boolean", "table: contact, expect: {is_self: x}", "12:40: milestones[0].expect.is_self: is a text, expected a boolean"},
		{"text for a number", "table: setting, expect: {latitude: x}", "12:41: milestones[0].expect.latitude: is \"x\", expected a number or a local time like 2024-05-22T10:30"},
		{"number for a text", "table: contact, expect: {name: 5}", "12:37: milestones[0].expect.name: is a number, expected a text (quote it)"},
		{"list of texts", "table: sandbox, expect: {visible_to: USER}", "12:43: milestones[0].expect.visible_to: visible_to cannot be compared"},
		{"trace that is no JSON", "table: sandbox, expect: {tool_trace: '{'}", "12:43: milestones[0].expect.tool_trace: is no tool trace in JSON: {"},
		{"trace without a tool", "table: sandbox, expect: {tool_trace: {arguments: {}}}",
			`12:43: milestones[0].expect.tool_trace: a tool trace needs tool_name and arguments: {"arguments": {}}`},
		{"no traces", "table: sandbox, expect: {tool_trace: []}", "12:43: milestones[0].expect.tool_trace: lists no tool trace"},
		{"unknown extractor", "table: sandbox, measure: derived, reference: start, into: content, extractor: day_extractor, expect: {content: x}",
			`12:84: milestones[0].extractor: unknown extractor "day_extractor"; did you mean "days_extractor"?`},
		{"fills another column", "table: sandbox, measure: derived, reference: start, into: sender, extractor: days_extractor, expect: {content: x}",
			`12:64: milestones[0].into: is "sender", expected tool_trace or content`},
		{"fills what is not there", "table: sandbox, measure: derived, reference: start, into: tool_trace, extractor: days_extractor, expect: {content: x}",
			"12:111: milestones[0].expect: has no tool_trace, which into says is to be filled"},
		{"fills a stored table", "table: contact, measure: derived, reference: start, into: content, extractor: days_extractor",
			"12:5: milestones[0]: says nothing to expect: give expect, call or says\na.yaml:12:13: milestones[0].table: is contact, but derived compares messages, which are in sandbox"},
		{"measure of an unknown column", "table: contact, expect: {name: x}, overrides: {nam: contains}",
			`12:53: milestones[0].overrides.nam: contact has no column "nam"; did you mean "name"?`},
		{"measure of text for a boolean", "table: contact, expect: {name: x}, overrides: {is_self: contains}",
			"12:53: milestones[0].overrides.is_self: contains compares texts, and is_self is a boolean"},
		{"measure of traces for a text", "table: contact, expect: {name: x}, overrides: {name: tool_trace}",
			"12:53: milestones[0].overrides.name: tool_trace compares the column tool_trace, not name"},
		{"negative tolerance", "table: setting, expect: {latitude: 1}, overrides: {latitude: {measure: close, tolerances: {latitude: -1}}}",
			"12:107: milestones[0].overrides.latitude.tolerances.latitude: is -1, expected a tolerance of 0 or more"},
		{"tolerance that is no number", "table: setting, expect: {latitude: 1}, overrides: {latitude: {measure: close, tolerances: {latitude: .nan}}}",
			"12:107: milestones[0].overrides.latitude.tolerances.latitude: is not a finite number"},
		{"tolerance of an unknown column", "table: setting, expect: {latitude: 1}, overrides: {latitude: {measure: close, tolerances: {lat: 1}}}",
			`12:57: milestones[0].overrides.latitude: has a tolerance for "lat", expected "latitude"`},
		{"tolerance of an exact measure", "table: setting, expect: {latitude: 1}, overrides: {latitude: {measure: exact, tolerances: {latitude: 1}}}",
			"12:57: milestones[0].overrides.latitude: exact takes no tolerance, only close and tool_trace do"},
	} {
		t.Run(c.name, func(t *testing.T) {
			scenario := withGraphs(t, "milestones:\n  - {"+c.constraint+"}\n")
			checkErrors(t, files(scenario, testWorld), strings.Split("a.yaml:"+c.want, "\n"))
		})
	}
}

// What the YAML reader refuses by itself must be refused in the canonical form too.
func TestBadTolerancesOfTheCanonicalForm(t *testing.T) {
	loaded, err := Load(files(testScenario, testWorld), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, absolute := range []float64{-1, math.NaN()} {
		s := proto.CloneOf(loaded[0].Scenario)
		s.GetEvaluation().GetMilestones().GetNodes()[0].GetConstraints()[0].Overrides = []*evaluationv1.ColumnOverride{{
			Column: "latitude", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE,
			Tolerances: []*evaluationv1.Tolerance{{Name: "latitude", Absolute: absolute}},
		}}
		want := Problem{
			Path:   "evaluation.milestones.nodes[0].constraints[0].overrides[0]",
			Reason: fmt.Sprintf(`the tolerance of "latitude" is %v, expected 0 or more`, absolute),
		}
		if got := Validate(s, testOptions()); len(got) != 1 || got[0] != want {
			t.Errorf("Validate: got %v, want %v", got, want)
		}
		s.GetEvaluation().GetMilestones().GetNodes()[0].GetConstraints()[0].Table = "NOTE"
		if got := Validate(s, testOptions()); len(got) == 0 || !strings.Contains(got[0].Reason, "names no table") {
			t.Errorf("Validate of an unknown table: got %v, want a problem", got)
		}
	}
}
