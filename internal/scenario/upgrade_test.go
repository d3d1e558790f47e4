package scenario

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// formerScenario is written in an earlier version of the format, todaysScenario is the same in
// today's.
const (
	formerScenario = `# The oldest one.
name: one
floor: 0.5 # generous
tables:
  CONTACT: {add: [{name: SETTING}]}
categories: [COREFERENCE, SINGLE_TOOL_CALL, SINGLE_USER_TURN]
tools: [get_wifi_status]
user: {goal: Know., knowledge: [You do not know why. Or how., You do not know her name.], demonstrations: [{user: Hi.}, {end: true}], says: Look at wifi.}
oracle:
  - calls: [{tool: get_wifi_status, arguments: {trip: CONTACT, floor: 1, timestamp_0: {cel: 'local("2025-03-15T10:00")'}}}]
  - say: It is on.
  - calls: [{id: x, tool: get_wifi_status}]
  - say: Bye.
  - {say: "No, bye."}
recordings:
  - {url: a, params: {timestamp: {cel: now}}, response: 1}
guardrails: {except: [CONTACT, SETTING]}
milestones:
  - {name: first, says: It is on.}
  - {name: second, says: It is on.}
  - name: status # a call
    call: {tool: get_wifi_status, arguments: {trip: CONTACT, floor: 1, timestamp_0: {cel: 'local("2025-03-15T10:00")'}}}
  - name: asked
    call: {tool: get_wifi_status, arguments: {timestamp: {cel: now}, at: {cel: now}}}
  - table: SANDBOX
    measure: tool_trace_dependant
    reference: asked
    fill_to: content
    extractor: days_extractor
    expect: {content: "{days} fill_to"}
  - {name: told, after: [asked], says: "No, bye."}
minefields:
  - says: trip
    trip: [{say: trip}]
`
	todaysScenario = `# The oldest one.
name: one
max_idle_score: 0.5 # generous
tables: {contact: {add: [{name: SETTING}]}}
categories: [COREFERENCE]
extra_tools: []
user: {goal: Know., knowledge: [You do not know why. Or how.], unknown: [her name], demonstrations: [{user: Hi.}], says: Look at wifi.}
oracle:
  - get_wifi_status: {trip: CONTACT, floor: 1, timestamp_0: 2025-03-15T10:00}
  - {say: It is on., milestone: first}
  - calls: [{get_wifi_status: {}, id: x}]
  - say: Bye.
  - {say: "No, bye.", milestone: told}
recordings:
  - {url: a, params: {timestamp: {cel: now}}, response: 1}
guardrails: {except: [contact, setting]}
milestones:
  - first
  - {name: second, says: It is on.}
  - name: status # a call
    call: {get_wifi_status: {trip: CONTACT, floor: 1, timestamp_0: 2025-03-15T10:00}}
  - {name: asked, call: {get_wifi_status: {timestamp: now, at: {cel: now}}}}
  - {table: sandbox, measure: derived, reference: asked, expect: {content: "{days} fill_to"}, into: content, extractor: days_extractor}
  - {name: told, after: [asked]}
minefields:
  - {says: trip, triggered_by: [{say: trip}]}
`
)

func TestUpgrade(t *testing.T) {
	t.Parallel()
	got, err := Upgrade("one.yaml", []byte(formerScenario))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(todaysScenario, string(got)); diff != "" {
		t.Errorf("Upgrade (-want +got):\n%s", diff)
	}
	again, err := Upgrade("one.yaml", got)
	if diff := cmp.Diff(string(got), string(again)); diff != "" || err != nil {
		t.Errorf("a second Upgrade (-first +second):\n%s%v", diff, err)
	}
}

func TestFormerNames(t *testing.T) {
	t.Parallel()
	_, err := Load(fstest.MapFS{"one.yaml": {Data: []byte(formerScenario)}}, Options{})
	var mistakes Errors
	if !errors.As(err, &mistakes) {
		t.Fatalf("Load of a former scenario: %v, want mistakes", err)
	}
	for _, want := range []string{
		"one.yaml:3:1: floor: floor is now called max_idle_score; toolsandbox scenario fmt --upgrade renames it",
		"one.yaml:5:3: tables.CONTACT: CONTACT is now called contact;",
		"one.yaml:17:23: guardrails.except[0]: CONTACT is now called contact;",
		"one.yaml:25:12: milestones[4].table: SANDBOX is now called sandbox;",
		"one.yaml:26:14: milestones[4].measure: tool_trace_dependant is now called derived;",
		"one.yaml:28:5: milestones[4].fill_to: fill_to is now called into;",
		"one.yaml:34:5: minefields[0].trip: trip is now called triggered_by;",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Load of a former scenario: %v\nwant a mistake %s", err, want)
		}
	}
}

// TestCatalogueIsUpgraded checks that the catalogue is written in today's format.
func TestCatalogueIsUpgraded(t *testing.T) {
	t.Parallel()
	const dir = "../../scenarios"
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		after, err := Upgrade(path, before)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(string(before), string(after)); diff != "" {
			t.Errorf("%s: run toolsandbox scenario fmt --upgrade (-written +upgraded):\n%s", path, diff)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestUpgradeTools(t *testing.T) {
	t.Parallel()
	const oracle = "oracle:\n  - calls: [b, {a: {}}]\n  - b: {}\n  - end_conversation: {}\n"
	for _, c := range []struct{ before, after string }{
		{"tools: [b, a, c]\n", "extra_tools: [c]\n"},
		{"tools:\n  - b\n  - a\n", "extra_tools: []\n"},
		{"tools: [a, b, c]\n", "extra_tools: [a, b, c]\n"}, // the order would change
		{"extra_tools: [c]\n", "extra_tools: [c]\n"},
		{"extra_tools: [b, a]\nwithout_tools: [a]\n", "extra_tools: [b, a]\nwithout_tools: [a]\n"},
		{"", ""},
	} {
		got, err := Upgrade("one.yaml", []byte("name: one\n"+c.before+oracle))
		if want := "name: one\n" + c.after; err != nil || !strings.HasPrefix(string(got), want+"oracle:") {
			t.Errorf("Upgrade with %q: got %s, %v, want it to begin with %s", c.before, got, err, want)
		}
	}
}

// TestOracleTools checks that the agent gets the tools that the oracle calls and those listed.
func TestOracleTools(t *testing.T) {
	t.Parallel()
	const oracle = "oracle:\n  - calls: [b, {a: {}}]\n  - b: {}\n"
	for _, c := range []struct {
		tools string
		want  []string
	}{
		{"", nil},
		{"extra_tools: []\n", []string{"b", "a", endTool}},
		{"extra_tools: [c]\n", []string{"b", "a", "c", endTool}},
		{"extra_tools: [c, b]\n", []string{"a", "c", "b", endTool}},
	} {
		loaded, err := Load(files(strings.Replace(turnScenario, "ORACLE", c.tools+oracle, 1), testWorld), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, loaded[0].Scenario.GetSetup().GetTools().GetAllow()); diff != "" {
			t.Errorf("tools with %q (-want +got):\n%s", c.tools, diff)
		}
	}
}

func FuzzUpgrade(f *testing.F) {
	f.Add(formerScenario)
	f.Add(todaysScenario)
	f.Add("oracle: [{calls: [{a: {}, milestone: y, tolerances: {b: 1}}, c]}, {a: {b: 1}, milestone: x}, {calls: [a, {b: {}, id: c}, {tool: id}]}]\nminefields: [{call: [a, {b: {c: 1}}]}]\n")
	f.Add("tables: {CONTACT: {change: [{where: {name: A}, set: {name: B}}]}}\nextends: x\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Upgrade("fuzz.yaml", []byte(text))
		if err != nil {
			return
		}
		again, err := Upgrade("fuzz.yaml", got)
		if err != nil || string(again) != string(got) {
			t.Errorf("Upgrade of %q gives %q, then %q, %v", text, got, again, err)
		}
	})
}
