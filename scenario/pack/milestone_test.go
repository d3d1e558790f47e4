package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// turnScenario is a scenario with a placeholder ORACLE for its solution and the rest.
const turnScenario = `world: base
categories: [SINGLE_TOOL_CALL]
user: {goal: Wifi off., says: Wifi off!}
ORACLE`

func turnEvaluation(t *testing.T, oracle string) *evaluationv1.Evaluation {
	t.Helper()
	loaded, err := readPack(files(strings.Replace(turnScenario, "ORACLE", oracle, 1), testWorld), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return loaded[0].Scenario.GetEvaluation()
}

// TestTurnMilestones compares milestones of turns with listed ones.
func TestTurnMilestones(t *testing.T) {
	t.Parallel()
	const turns = `oracle:
  - calls: [{id: x, tool: set_wifi_status, arguments: {on: false}}]
  - say: Done.
  - calls: [{tool: get_wifi_status}]
  - say: Bye.
`
	marked := strings.NewReplacer("{on: false}}]", "{on: false}}]\n    milestone: off", "Done.", "Done.\n    milestone: told",
		"{tool: get_wifi_status}]", "{tool: get_wifi_status}]\n    milestone: looked").Replace(turns)
	const off, told, looked = "  off: {call: {tool: set_wifi_status, arguments: {on: false}}}\n", "  told: {says: Done.}\n",
		"  looked: {call: {tool: get_wifi_status}}\n"
	const state = "  state: {table: setting, measure: update, reference: off, expect: {wifi: false}}\n"
	for _, c := range []struct{ name, list, written string }{
		{"alone", "", off + told + looked},
		{"behind the list", "milestones:\n  hm: {says: Hm.}\n", "  hm: {says: Hm.}\n" + off + told + looked},
		{"in the list", "milestones:\n  off:\n" + state, off + state + told + looked},
		{"with what they come after", "milestones:\n  looked: {after: []}\n  told: {after: [looked], guardrails: {only: [setting]}}\n",
			"  looked: {after: [], call: {tool: get_wifi_status}}\n  told: {after: [looked], guardrails: {only: [setting]}, says: Done.}\n" + off},
		{"in another order", "milestones:\n  looked:\n  off:\n" + state + "  told:\n", looked + off + state + told},
	} {
		got, want := turnEvaluation(t, marked+c.list), turnEvaluation(t, turns+"milestones:\n"+c.written)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: milestones (-in the list +of turns):\n%s", c.name, diff)
		}
	}
}

// TestCallMilestones compares milestones of calls with listed ones.
func TestCallMilestones(t *testing.T) {
	t.Parallel()
	const carried = `oracle:
  - calls: [get_wifi_status, {set_wifi_status: {on: false}, id: x, tolerances: {on: 0.5}, milestone: off}, {get_wifi_status: {}, milestone: looked}]
  - set_wifi_status: {on: true}
    tolerances: {on: 0.25}
    milestone: on
  - say: Done.
    milestone: told
milestones:
  looked:
  "off": {after: [looked]}
`
	const listed = `oracle:
  - calls: [get_wifi_status, {set_wifi_status: {on: false}, id: x}, get_wifi_status]
  - set_wifi_status: {on: true}
  - say: Done.
milestones:
  looked: {call: get_wifi_status}
  "off": {after: [looked], call: {set_wifi_status: {on: false}, tolerances: {on: 0.5}}}
  "on": {call: {set_wifi_status: {on: true}, tolerances: {on: 0.25}}}
  told: {says: Done.}
`
	const quoted = `milestone: "off"`
	text := strings.NewReplacer("milestone: off", quoted, "milestone: on", `milestone: "on"`).Replace(carried)
	if diff := cmp.Diff(turnEvaluation(t, listed), turnEvaluation(t, text), protocmp.Transform()); diff != "" {
		t.Errorf("milestones (-in the list +of calls):\n%s", diff)
	}
}

// TestLastText checks that the oracle's last text is the milestone told by default.
func TestLastText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rest string
		want       []string
	}{
		{"by itself", "oracle: [{say: Done.}]\n", []string{"told: Done."}},
		{"behind others", "oracle: [{say: Hm., milestone: hm}, {say: Done.}]\nmilestones: {x: {says: X.}}\n", []string{"x: X.", "hm: Hm.", "told: Done."}},
		{"in another place", "oracle: [{say: Hm., milestone: hm}, {say: Done.}]\nmilestones: {told: , x: {says: X.}}\n", []string{"told: Done.", "x: X.", "hm: Hm."}},
		{"with its order", "oracle: [{say: Hm., milestone: hm}, {say: Done.}]\nmilestones: {hm: , told: {after: [hm]}}\n", []string{"hm: Hm.", "told: Done."}},
		{"written out", "oracle: [{say: Done., milestone: told}]\n", []string{"told: Done."}},
		{"under another name", "oracle: [{say: Done., milestone: bye}]\n", []string{"bye: Done."}},
		{"none", "oracle: [{say: Done., milestone: none}]\n", nil},
		{"listed with what it wants", "oracle: [{say: Done.}]\nmilestones: {told: {says: Finished.}}\n", []string{"told: Finished."}},
		{"taken by a turn", "oracle: [{say: Hm., milestone: told}, {say: Done.}]\n", []string{"told: Hm."}},
		{"no text at the end", "oracle: [{say: Done.}, get_wifi_status: {}]\n", nil},
	} {
		var got []string
		for _, node := range turnEvaluation(t, c.rest).GetMilestones().GetNodes() {
			got = append(got, node.GetName()+": "+node.GetConstraints()[0].GetTarget()[0].GetCells()[2].GetValue().GetText())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: milestones (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestTurnMilestoneErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, oracle, want string }{
		{"several calls", "oracle:\n  - {calls: [{tool: get_wifi_status}, {tool: get_wifi_status}], milestone: both}\n",
			"a.yaml:6:78: one.oracle[0].milestone: needs a turn that says something or makes one call; write the milestone beside one of the calls"},
		{"only a milestone", "oracle:\n  - milestone: both\n", "a.yaml:6:7: one.oracle[0]: has 0 fields, expected one of say, calls, end"},
		{"unknown", "oracle:\n  - {say: Done., milestone: told}\nmilestones: {tolld: }\n",
			`a.yaml:7:16: one.milestones.tolld: no turn of the oracle has this milestone; say what it wants, as in tolld: {call: search_contacts}; did you mean "told"?`},
		{"unknown with its order", "oracle:\n  - {say: Done., milestone: told}\nmilestones: {tolld: {after: []}}\n",
			"a.yaml:7:16: one.milestones.tolld: no turn of the oracle has this milestone"},
		{"twice in the list", "oracle:\n  - {say: Done., milestone: told}\nmilestones: {told: , told: }\n",
			"a.yaml:7:24: one.milestones.told: is written twice; keep one"},
		{"twice in the oracle", "oracle:\n  - {say: Done., milestone: told}\n  - {say: Bye., milestone: told}\n",
			`a.yaml:7:30: one.oracle[1].milestone: "told" is the name of number 0 too`},
		{"no text", "oracle:\n  - {say: Done., milestone: 5}\nmilestones: {a: {says: Done.}}\n",
			"a.yaml:6:31: one.oracle[0].milestone: is a number, expected a text (quote it)"},
		{"a mistake in the turn", "oracle:\n  - {say: 5, milestone: told}\nmilestones: {a: {says: Done.}}\n",
			"a.yaml:6:13: one.oracle[0].say: is a number, expected a text (quote it)"},
		{"none of another text", "oracle:\n  - {say: Hm., milestone: none}\n  - say: Done.\n",
			"a.yaml:6:29: one.oracle[0].milestone: only the last text of the oracle is a milestone by itself; leave it out here"},
		{"nothing as a name", "oracle:\n  - say: Done.\n    milestone:\n", "a.yaml:7:18: one.oracle[0].milestone: is nothing, expected a text"},
		{"nothing wanted", "oracle:\n  - say: Done.\nmilestones: {found: {}}\n",
			"a.yaml:7:16: one.milestones.found: no turn of the oracle has this milestone; say what it wants, as in found: {call: search_contacts}"},
		{"a text as a milestone", "oracle:\n  - say: Done.\nmilestones: {found: search_contacts}\n",
			"a.yaml:7:23: one.milestones.found: is a text, expected a mapping"},
		{"a list of milestones", "oracle:\n  - say: Done.\nmilestones: [told]\n",
			"a.yaml:7:15: one.milestones: is a list, expected a mapping from names to what is wanted"},
		{"nothing as milestones", "oracle:\n  - say: Done.\nmilestones:\n", "a.yaml:7:15: one.milestones: is nothing, expected a mapping"},
		{"nothing as a minefield", "oracle:\n  - say: Done.\nminefields:\n  bad:\n", "a.yaml:8:10: one.minefields.bad: is nothing, expected a mapping"},
		{"no name", "oracle:\n  - say: Done.\nminefields: {\"\": {says: No.}}\n", "a.yaml:7:16: one.minefields.: is empty, expected a name"},
		{"a word for tools", "extra_tools: al\noracle:\n  - say: Done.\n", `one.extra_tools: is "al", expected all or a list of tools`},
		{"tolerances alone", "oracle:\n  - {get_wifi_status: {}, tolerances: {a: 1}}\n",
			"a.yaml:6:41: one.oracle[0].tolerances: belongs to a milestone; write milestone: and its name beside it"},
		{"tolerances of a text", "oracle:\n  - {say: Done., tolerances: {a: 1}, milestone: told}\n",
			"a.yaml:6:32: one.oracle[0].tolerances: belongs to a call, and a text has none"},
		{"a user's call", "oracle:\n  - {say: Done., milestone: told}\nminefields: {no: {says: No., triggered_by: [{calls: [{a: {}, milestone: b}]}]}}\n",
			"a.yaml:7:64: one.minefields.no.triggered_by[0].calls[0].milestone: unknown field; expected one of id, tool, arguments"},
		{"of a user's turn", "oracle:\n  - {say: Done., milestone: told}\nminefields: {no: {says: No., triggered_by: [{say: No., milestone: told}]}}\n",
			"a.yaml:7:58: one.minefields.no.triggered_by[0].milestone: unknown field; expected one of say, calls, end"},
	} {
		_, err := readPack(files(strings.Replace(turnScenario, "ORACLE", c.oracle, 1), testWorld), scenario.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// TestOracleTools checks that the agent has the listed tools and those that the oracle calls.
func TestOracleTools(t *testing.T) {
	t.Parallel()
	const oracle = "oracle:\n  - calls: [b, {a: {}}]\n  - b: {}\n"
	for _, c := range []struct {
		tools string
		want  []string
	}{
		{"", []string{"b", "a", "end_conversation"}},
		{"extra_tools: all\n", nil},
		{"extra_tools: []\n", []string{"b", "a", "end_conversation"}},
		{"extra_tools: [c]\n", []string{"b", "a", "c", "end_conversation"}},
		{"extra_tools: [c, b]\n", []string{"a", "c", "b", "end_conversation"}},
	} {
		loaded, err := readPack(files(strings.Replace(turnScenario, "ORACLE", c.tools+oracle, 1), testWorld), scenario.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, loaded[0].Scenario.GetSetup().GetTools().GetAllow()); diff != "" {
			t.Errorf("tools with %q (-want +got):\n%s", c.tools, diff)
		}
	}
}
