package pack

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// withGraphs returns testScenario with other milestones and minefields, which start on line 12 of
// the file. Its last text is not a milestone.
func withGraphs(t *testing.T, graphs string) string {
	t.Helper()
	head, _, ok := strings.Cut(testScenario, "milestones:\n")
	if !ok || strings.Count(head, "\n") != 9 {
		t.Fatal("testScenario does not have its milestones on line 10")
	}
	return edit(t, head, "  - say: Done.\n", "  - say: Done.\n    milestone: none\n") + graphs
}

// crossing returns n milestones after n others, with crossing references to them.
func crossing(n int) string {
	var yaml strings.Builder
	yaml.WriteString("milestones:\n")
	for i := range n {
		fmt.Fprintf(&yaml, "  a%d: {after: [], table: contact, expect: {name: x}}\n", i)
	}
	for i := range n {
		fmt.Fprintf(&yaml, "  b%d: {after: [a%d, a%d, a%d, a%d], constraints: [{table: contact, measure: addition, reference: a%d, expect: {name: x}}, "+
			"{table: contact, measure: addition, reference: a%d, expect: {name: x}}, {table: contact, measure: addition, reference: a%d, expect: {name: x}}]}\n",
			i, i, (i*5+3)%n, (i*7+1)%n, (i*3+5)%n, (i*5+3)%n, (i*7+1)%n, (i*3+5)%n)
	}
	return yaml.String()
}

// numbered returns a chain of n milestones.
func numbered(n int) string {
	var yaml strings.Builder
	for i := range n {
		fmt.Fprintf(&yaml, "  n%d: {says: Done.}\n", i)
	}
	return yaml.String()
}

func TestBadGraphs(t *testing.T) {
	const first = "milestones:\n  one: {says: Done.}\n"
	for _, c := range []struct{ name, graphs, want string }{
		{"cycle", "milestones:\n  one: {after: [two], says: a}\n  two: {after: [one], says: b}\n",
			"a.yaml:13:19: one.milestones.one.after[0]: the order has a cycle: one before two before one"},
		{"unknown reference", first + "  m: {table: contact, measure: addition, reference: on, expect: {name: x}}\n",
			`a.yaml:14:55: one.milestones.m.reference: is "on", expected start or "one"`},
		{"later reference", "milestones:\n  m: {table: contact, measure: addition, reference: two, expect: {name: x}}\n  two: {says: b}\n",
			`a.yaml:13:55: one.milestones.m.reference: "two" does not come before "m", so there would be nothing to refer to; name it in after`},
		{"own reference", first + "  two: {table: contact, measure: addition, reference: two, expect: {name: x}}\n",
			`a.yaml:14:57: one.milestones.two.reference: "two" refers to itself`},
		{"parallel reference", first + "  two: {after: [one], says: b}\n" +
			"  three: {after: [one], table: contact, measure: addition, reference: two, expect: {name: x}}\n",
			`a.yaml:15:73: one.milestones.three.reference: "two" does not come before "three", so there would be nothing to refer to; name it in after`},
		{"milestone in a minefield", first + "minefields:\n  m: {table: contact, measure: addition, reference: one, expect: {name: x}}\n",
			`a.yaml:15:55: one.minefields.m.reference: is "one", expected start`},
		{"duplicate name", first + "  one: {says: b}\n", "a.yaml:14:5: one.milestones.one: is written twice; keep one"},
		{"too many", "milestones:\n" + numbered(65),
			"a.yaml:77:5: one.milestones.n64: the graph has 65 nodes; at most 64 are scored"},
		{"too tangled", crossing(16),
			"a.yaml:27:5: one.milestones.a14: too many references cross each other: the matches of 11 nodes would have to be tried together, " +
				"at most 10 are; refer to a node directly before or to the start, or split the graph into chains"},
		{"unknown guardrail table", "milestones:\n  m: {says: Done., guardrails: {except: [contacts]}}\n",
			`a.yaml:13:44: one.milestones.m.guardrails.except[0]: unknown table "contacts"; did you mean "contact"?`},
		{"guardrail with a target", first + "  m: {table: contact, measure: guardrail, reference: one, expect: {name: x}}\n",
			"a.yaml:14:8: one.milestones.m: compares with its reference only and takes nothing to expect"},
		{"empty target", "milestones:\n  m: {table: contact, expect: []}\n",
			"a.yaml:13:8: one.milestones.m: says nothing to expect: give expect, call or says"},
		{"empty row", "milestones:\n  m: {table: contact, expect: [{}]}\n",
			"a.yaml:13:34: one.milestones.m.expect[0]: wants no column, so it says nothing"},
		{"two messages", "milestones:\n  m: {table: sandbox, expect: [{content: a}, {content: b}]}\n",
			"a.yaml:13:48: one.milestones.m.expect[1]: is a second row, but one message is compared at a time"},
		{"addition of messages", "milestones:\n  m: {table: sandbox, measure: addition, reference: start, expect: {content: a}}\n",
			"a.yaml:13:34: one.milestones.m.measure: is addition, which compares stored tables; messages are in sandbox"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkErrors(t, files(withGraphs(t, c.graphs), testWorld), strings.Split(c.want, "\n"))
		})
	}
}

// startOfDerived is the mistake of a derived milestone of TestBadTargets that refers to the start.
const startOfDerived = "13:54: one.milestones.m.reference: is start, before which nothing was called, so that no value completes the target; expected the name of the node with the call"

func TestBadTargets(t *testing.T) {
	for _, c := range []struct{ name, constraint, want string }{
		{"unknown table", "table: contct, expect: {name: x}", `13:16: one.milestones.m.table: unknown table "contct"; did you mean "contact"?`},
		{"unknown column", "table: contact, expect: {nam: x}", `13:34: one.milestones.m.expect.nam: contact has no column "nam"; did you mean "name"?`},
		{"text for a boolean", "table: contact, expect: {is_self: x}", "13:43: one.milestones.m.expect.is_self: is a text, expected a boolean"},
		{"text for a number", "table: setting, expect: {latitude: x}", "13:44: one.milestones.m.expect.latitude: is \"x\", expected a number or a local time like 2024-05-22T10:30"},
		{"number for a text", "table: contact, expect: {name: 5}", "13:40: one.milestones.m.expect.name: is a number, expected a text (quote it)"},
		{"list of texts", "table: sandbox, expect: {visible_to: USER}", "13:46: one.milestones.m.expect.visible_to: visible_to cannot be compared"},
		{"trace that is no JSON", "table: sandbox, expect: {tool_trace: '{'}", "13:46: one.milestones.m.expect.tool_trace: is no tool trace in JSON: {"},
		{"trace without a tool", "table: sandbox, expect: {tool_trace: {arguments: {}}}",
			`13:46: one.milestones.m.expect.tool_trace: a tool trace needs tool_name and arguments: {"arguments": {}}`},
		{"no traces", "table: sandbox, expect: {tool_trace: []}", "13:46: one.milestones.m.expect.tool_trace: lists no tool trace"},
		{"unknown extractor", "table: sandbox, measure: derived, reference: start, into: content, extractor: day_extractor, expect: {content: x}",
			startOfDerived + "\na.yaml:" + `13:87: one.milestones.m.extractor: unknown extractor "day_extractor"; did you mean "days_extractor"?`},
		{"completed by nothing", "table: sandbox, measure: derived, reference: start, into: content, extractor: days_extractor, expect: {content: '{days}'}", startOfDerived},
		{"fills another column", "table: sandbox, measure: derived, reference: start, into: sender, extractor: days_extractor, expect: {content: x}",
			startOfDerived + "\na.yaml:" + `13:67: one.milestones.m.into: is "sender", expected tool_trace or content`},
		{"fills what is not there", "table: sandbox, measure: derived, reference: start, into: tool_trace, extractor: days_extractor, expect: {content: x}",
			startOfDerived + "\na.yaml:13:114: one.milestones.m.expect: has no tool_trace, which into says is to be filled"},
		{"fills a stored table", "table: contact, measure: derived, reference: start, into: content, extractor: days_extractor",
			"13:8: one.milestones.m: says nothing to expect: give expect, call or says\na.yaml:13:16: one.milestones.m.table: is contact, but derived compares messages, which are in sandbox\na.yaml:" + startOfDerived},
		{"measure of an unknown column", "table: contact, expect: {name: x}, overrides: {nam: contains}",
			`13:56: one.milestones.m.overrides.nam: contact has no column "nam"; did you mean "name"?`},
		{"measure of text for a boolean", "table: contact, expect: {name: x}, overrides: {is_self: contains}",
			"13:56: one.milestones.m.overrides.is_self: contains compares texts, and is_self is a boolean"},
		{"measure of traces for a text", "table: contact, expect: {name: x}, overrides: {name: tool_trace}",
			"13:56: one.milestones.m.overrides.name: tool_trace compares the column tool_trace, not name"},
		{"negative tolerance", "table: setting, expect: {latitude: 1}, overrides: {latitude: {measure: close, tolerances: {latitude: -1}}}",
			"13:110: one.milestones.m.overrides.latitude.tolerances.latitude: is -1, expected a tolerance of 0 or more"},
		{"tolerance that is no number", "table: setting, expect: {latitude: 1}, overrides: {latitude: {measure: close, tolerances: {latitude: .nan}}}",
			"13:110: one.milestones.m.overrides.latitude.tolerances.latitude: is not a finite number"},
		{"tolerance of an unknown column", "table: setting, expect: {latitude: 1}, overrides: {latitude: {measure: close, tolerances: {lat: 1}}}",
			`13:60: one.milestones.m.overrides.latitude: has a tolerance for "lat", expected "latitude"`},
		{"tolerance of an exact measure", "table: setting, expect: {latitude: 1}, overrides: {latitude: {measure: exact, tolerances: {latitude: 1}}}",
			"13:60: one.milestones.m.overrides.latitude: exact takes no tolerance, only close and tool_trace do"},
	} {
		t.Run(c.name, func(t *testing.T) {
			scenario := withGraphs(t, "milestones:\n  m: {"+c.constraint+"}\n")
			checkErrors(t, files(scenario, testWorld), strings.Split("a.yaml:"+c.want, "\n"))
		})
	}
}

// TestBadCanonicalTolerances checks that Validate also rejects what the YAML reader
// rejects.
func TestBadCanonicalTolerances(t *testing.T) {
	loaded, err := readPack(files(testScenario, testWorld), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, absolute := range []float64{-1, math.NaN()} {
		s := proto.CloneOf(loaded[0].Scenario)
		s.GetEvaluation().GetMilestones().GetNodes()[0].GetConstraints()[0].Overrides = []*evaluationv1.ColumnOverride{{
			Column: "latitude", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE,
			Tolerances: []*evaluationv1.Tolerance{{Name: "latitude", Absolute: absolute}},
		}}
		want := scenario.Problem{
			Path:   "evaluation.milestones.nodes[0].constraints[0].overrides[0]",
			Reason: fmt.Sprintf(`the tolerance of "latitude" is %v, expected 0 or more`, absolute),
		}
		if got := scenario.Validate(s, testOptions()); len(got) != 1 || got[0] != want {
			t.Errorf("Validate: got %v, want %v", got, want)
		}
		s.GetEvaluation().GetMilestones().GetNodes()[0].GetConstraints()[0].Table = "NOTE"
		if got := scenario.Validate(s, testOptions()); len(got) == 0 || !strings.Contains(got[0].Reason, `unknown table "NOTE"`) {
			t.Errorf("Validate of an unknown table: got %v, want a problem", got)
		}
	}
}
