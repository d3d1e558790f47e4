package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// turnScenario has ORACLE in place of its solution and all that follows.
const turnScenario = `name: one
world: base
categories: [SINGLE_TOOL_CALL]
user: {goal: Wifi off., says: Wifi off!}
ORACLE`

func turnEvaluation(t *testing.T, oracle string) *evaluationv1.Evaluation {
	t.Helper()
	loaded, err := Load(files(strings.Replace(turnScenario, "ORACLE", oracle, 1), testWorld), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return loaded[0].Scenario.GetEvaluation()
}

// TestTurnMilestones compares milestones of turns with the same ones in the list.
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
	const off, told, looked = "  - {name: off, call: {tool: set_wifi_status, arguments: {on: false}}}\n", "  - {name: told, says: Done.}\n",
		"  - {name: looked, call: {tool: get_wifi_status}}\n"
	const state = "  - {name: state, table: setting, measure: update, reference: off, expect: {wifi: false}}\n"
	for _, c := range []struct{ name, list, written string }{
		{"alone", "", off + told + looked},
		{"behind the list", "milestones:\n  - {says: Hm.}\n", "  - {says: Hm.}\n" + off + told + looked},
		{"in the list", "milestones:\n  - off\n" + state, off + state + told + looked},
		{"with what they come after", "milestones:\n  - {name: looked, after: []}\n  - {name: told, after: [looked], guardrails: {only: [setting]}}\n",
			"  - {name: looked, after: [], call: {tool: get_wifi_status}}\n  - {name: told, after: [looked], guardrails: {only: [setting]}, says: Done.}\n" + off},
		{"in another order", "milestones:\n  - looked\n  - off\n" + state + "  - told\n", looked + off + state + told},
	} {
		got, want := turnEvaluation(t, marked+c.list), turnEvaluation(t, turns+"milestones:\n"+c.written)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: milestones (-in the list +of turns):\n%s", c.name, diff)
		}
	}
}

// TestCallMilestones compares milestones of calls with the same ones in the list.
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
  - looked
  - {name: "off", after: [looked]}
`
	const listed = `oracle:
  - calls: [get_wifi_status, {set_wifi_status: {on: false}, id: x}, get_wifi_status]
  - set_wifi_status: {on: true}
  - say: Done.
milestones:
  - {name: looked, call: get_wifi_status}
  - {name: "off", after: [looked], call: {set_wifi_status: {on: false}, tolerances: {on: 0.5}}}
  - {name: "on", call: {set_wifi_status: {on: true}, tolerances: {on: 0.25}}}
  - {name: told, says: Done.}
`
	const quoted = `milestone: "off"`
	text := strings.NewReplacer("milestone: off", quoted, "milestone: on", `milestone: "on"`).Replace(carried)
	if diff := cmp.Diff(turnEvaluation(t, listed), turnEvaluation(t, text), protocmp.Transform()); diff != "" {
		t.Errorf("milestones (-in the list +of calls):\n%s", diff)
	}
	upgraded, err := Upgrade("one.yaml", []byte(strings.Replace(turnScenario, "ORACLE", listed, 1)))
	for _, want := range []string{
		"{get_wifi_status: {}, milestone: looked}", `{set_wifi_status: {on: false}, id: x, tolerances: {on: 0.5}, ` + quoted + "}",
		"  - {set_wifi_status: {on: true}, tolerances: {on: 0.25}, milestone: \"on\"}\n",
		"milestones:\n  - looked\n  - {name: \"off\", after: [looked]}\n",
	} {
		if err != nil || !strings.Contains(string(upgraded), want) {
			t.Errorf("Upgrade: got %s, %v, want it to have %s", upgraded, err, want)
		}
	}
}

func TestTurnMilestoneErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, oracle, want string }{
		{"several calls", "oracle:\n  - {calls: [{tool: get_wifi_status}, {tool: get_wifi_status}], milestone: both}\n",
			"a.yaml:6:76: oracle[0].milestone: needs a turn that says something or makes one call; write the milestone beside one of the calls"},
		{"only a milestone", "oracle:\n  - milestone: both\n", "a.yaml:6:5: oracle[0]: has 0 fields, expected one of say, calls, end"},
		{"unknown", "oracle:\n  - {say: Done., milestone: told}\nmilestones: [tolld]\n",
			`a.yaml:7:14: milestones[0]: no turn of the oracle has the milestone "tolld", or it stands here twice; did you mean "told"?`},
		{"unknown with its order", "oracle:\n  - {say: Done., milestone: told}\nmilestones: [{name: tolld, after: []}]\n",
			`a.yaml:7:14: milestones[0]: has no "table", which is required`},
		{"twice in the list", "oracle:\n  - {say: Done., milestone: told}\nmilestones: [told, told]\n",
			`a.yaml:7:20: milestones[1]: no turn of the oracle has the milestone "told", or it stands here twice`},
		{"twice in the oracle", "oracle:\n  - {say: Done., milestone: told}\n  - {say: Bye., milestone: told}\n",
			`a.yaml:7:28: oracle[1].milestone: "told" is the name of number 0 too`},
		{"no text", "oracle:\n  - {say: Done., milestone: 5}\nmilestones: [{says: Done.}]\n",
			"a.yaml:6:29: oracle[0].milestone: is a number, expected a text (quote it)"},
		{"a mistake in the turn", "oracle:\n  - {say: 5, milestone: told}\nmilestones: [{says: Done.}]\n",
			"a.yaml:6:11: oracle[0].say: is a number, expected a text (quote it)"},
		{"tolerances alone", "oracle:\n  - {get_wifi_status: {}, tolerances: {a: 1}}\n",
			"a.yaml:6:39: oracle[0].tolerances: belongs to a milestone; write milestone: and its name beside it"},
		{"tolerances of a text", "oracle:\n  - {say: Done., tolerances: {a: 1}, milestone: told}\n",
			"a.yaml:6:30: oracle[0].tolerances: belongs to a call, and a text has none"},
		{"a user's call", "oracle:\n  - {say: Done., milestone: told}\nminefields: [{says: No., triggered_by: [{calls: [{a: {}, milestone: b}]}]}]\n",
			"a.yaml:7:58: minefields[0].triggered_by[0].calls[0].milestone: unknown field; expected one of id, tool, arguments"},
		{"of a user's turn", "oracle:\n  - {say: Done., milestone: told}\nminefields: [{says: No., triggered_by: [{say: No., milestone: told}]}]\n",
			"a.yaml:7:52: minefields[0].triggered_by[0].milestone: unknown field; expected one of say, calls, end"},
	} {
		_, err := Load(files(strings.Replace(turnScenario, "ORACLE", c.oracle, 1), testWorld), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}
