package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// TestShortCalls compares short forms of calls with complete ones.
func TestShortCalls(t *testing.T) {
	t.Parallel()
	const long = `oracle:
  - calls: [{tool: set_wifi_status, arguments: {on: false}}]
    milestone: off
  - calls: [{tool: get_wifi_status}, {id: x, tool: get_wifi_status, arguments: {}}]
  - say: Done.
milestones:
  looked: {call: {tool: get_wifi_status}}
  set: {call: [{tool: set_wifi_status, arguments: {on: false}, tolerances: {on: 1}}, {tool: get_wifi_status}]}
minefields:
  set: {call: {tool: set_wifi_status, arguments: {on: true}}, triggered_by: [{calls: [{tool: set_wifi_status, arguments: {on: true}}]}]}
`
	const short = `oracle:
  - set_wifi_status: {on: false}
    milestone: off
  - calls: [get_wifi_status, {id: x, get_wifi_status: {}}]
  - say: Done.
milestones:
  looked: {call: get_wifi_status}
  set: {call: [{set_wifi_status: {on: false}, tolerances: {on: 1}}, get_wifi_status]}
minefields:
  set: {call: {set_wifi_status: {on: true}}, triggered_by: [{set_wifi_status: {on: true}}]}
`
	load := func(text string) []Loaded {
		loaded, err := readPack(files(strings.Replace(turnScenario, "ORACLE", text, 1), testWorld), scenario.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	if diff := cmp.Diff(load(long)[0].Scenario, load(short)[0].Scenario, protocmp.Transform()); diff != "" {
		t.Errorf("calls (-long +short):\n%s", diff)
	}
}

func TestShortCallErrors(t *testing.T) {
	t.Parallel()
	const orTool = ", or one tool with its arguments, as in search_contacts: {name: Ada}"
	for _, c := range []struct{ name, oracle, want string }{
		{"two tools", "oracle:\n  - {a: {}, b: {}}\n",
			"a.yaml:6:8: one.oracle[0].a: unknown field; expected one of say, calls, end, tolerances, milestone" + orTool},
		{"no arguments", "oracle:\n  - get_wifi_status:\n",
			"a.yaml:6:7: one.oracle[0].get_wifi_status: unknown field; expected one of say, calls, end, tolerances, milestone" + orTool},
		{"beside a text", "oracle:\n  - {say: Hi., get_wifi_status: {}}\n",
			"a.yaml:6:18: one.oracle[0].get_wifi_status: unknown field; expected one of say, calls, end, tolerances, milestone"},
		{"alone as a turn", "oracle:\n  - get_wifi_status\n", "a.yaml:6:7: one.oracle[0]: is a text, expected a mapping"},
		{"a text as a call", "oracle:\n  - calls: [Look at wifi]\n", "a.yaml:6:15: one.oracle[0].calls[0]: is a text, expected a mapping"},
		{"arguments twice", "oracle:\n  - calls: [{a: {}, arguments: {}}]\n", "a.yaml:6:16: one.oracle[0].calls[0].a: unknown field"},
	} {
		_, err := readPack(files(strings.Replace(turnScenario, "ORACLE", c.oracle, 1), testWorld), scenario.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// TestScriptOfOneText compares a script of one text with a list.
func TestScriptOfOneText(t *testing.T) {
	t.Parallel()
	load := func(script string) []*worldv1.ScriptTurn {
		return loadOne(t, edit(t, testScenario, "  says: Wifi off!\n", "  says: Wifi off!\n  script: "+script+"\n")).GetSetup().GetUserScript()
	}
	if diff := cmp.Diff(load("[{say: Please.}]"), load("Please."), protocmp.Transform()); diff != "" {
		t.Errorf("script (-list +text):\n%s", diff)
	}
}
