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

// formerScenario is in an earlier version of the format, todaysScenario the same in the current
// one.
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
one:
  max_idle_score: 0.5 # generous
  tables: {contact: {add: [{name: SETTING}]}}
  categories: [COREFERENCE]
  user: {goal: Know., knowledge: You do not know why. Or how., unknown: her name, demonstrations: [{user: Hi.}], says: Look at wifi.}
  oracle:
    - get_wifi_status: {trip: CONTACT, floor: 1, timestamp_0: 2025-03-15T10:00}
    - {say: It is on., milestone: first}
    - calls: [{get_wifi_status: {}, id: x}]
    - say: Bye.
    - say: "No, bye."
  recordings:
    - {url: a, params: {timestamp: {cel: now}}, response: 1}
  guardrails: {except: [contact, setting]}
  milestones:
    first:
    second: {says: It is on.}
    # a call
    status: {call: {get_wifi_status: {trip: CONTACT, floor: 1, timestamp_0: 2025-03-15T10:00}}}
    asked: {call: {get_wifi_status: {timestamp: now, at: {cel: now}}}}
    milestone_5:
      table: sandbox
      measure: derived
      reference: asked
      expect: {content: "{days} fill_to"}
      into: content
      extractor: days_extractor
    told: {after: [asked]}
  minefields:
    minefield_1: {says: trip, triggered_by: [{say: trip}]}
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

// formerNames has fields and values under former names.
const formerNames = `two:
  floor: 0.5
  tables: {CONTACT: []}
  milestones: {a: {after: [], table: SANDBOX, measure: tool_trace_dependant, fill_to: content}}
  minefields: {b: {says: no, trip: []}}
`

func TestFormerNames(t *testing.T) {
	t.Parallel()
	_, err := Load(fstest.MapFS{
		"one.yaml":   {Data: []byte(formerScenario)},
		"two.yaml":   {Data: []byte(formerNames)},
		"three.yaml": {Data: []byte("three:\n  milestones: [{name: a, says: b}]\n")},
	}, Options{})
	var mistakes Errors
	if !errors.As(err, &mistakes) {
		t.Fatalf("Load of a former scenario: %v, want mistakes", err)
	}
	for _, want := range []string{
		"one.yaml:2:7: name: the name of a scenario is now the key of its fields, as in one: {user: …}, and a file is one mapping without ---; " +
			"toolsandbox scenario fmt --upgrade writes it so",
		"two.yaml:2:3: two.floor: floor is now called max_idle_score; toolsandbox scenario fmt --upgrade renames it",
		"two.yaml:3:12: two.tables.CONTACT: CONTACT is now called contact;",
		"two.yaml:4:38: two.milestones.a.table: SANDBOX is now called sandbox;",
		"two.yaml:4:56: two.milestones.a.measure: tool_trace_dependant is now called derived;",
		"two.yaml:4:78: two.milestones.a.fill_to: fill_to is now called into;",
		"two.yaml:5:30: two.minefields.b.trip: trip is now called triggered_by;",
		"three.yaml:2:15: three.milestones: is a list, expected a mapping from names to what is wanted; toolsandbox scenario fmt --upgrade writes it so",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Load of a former scenario: %v\nwant a mistake %s", err, want)
		}
	}
}

// TestCatalogueIsUpgraded checks that the catalogue is in the current format.
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
		{"tools: [b, a, c]\n", "  extra_tools: [c]\n"},
		{"tools:\n  - b\n  - a\n", ""},
		{"tools: [a, c, b]\n", "  extra_tools: [c]\n"},
		{"extra_tools: [c]\n", "  extra_tools: [c]\n"},
		{"extra_tools: []\n", ""},
		{"extra_tools: [b, a]\nwithout_tools: [a]\n", "  extra_tools: [a]\n  without_tools: [a]\n"},
		{"", "  extra_tools: all\n"},
	} {
		got, err := Upgrade("one.yaml", []byte("name: one\n"+c.before+oracle))
		if want := "one:\n" + c.after; err != nil || !strings.HasPrefix(string(got), want+"  oracle:") {
			t.Errorf("Upgrade with %q: got %s, %v, want it to begin with %s", c.before, got, err, want)
		}
	}
}

// TestUpgradeDocuments checks that several documents become one mapping with all comments.
func TestUpgradeDocuments(t *testing.T) {
	t.Parallel()
	const former = `# File.

# First.
name: a # is a
oracle: [{say: A., milestone: told}] # said
---
# Second.
world: b # w
name: b
milestones:
  # m
  - told # t
  - {name: x, says: X.} # x
  # end
oracle:
  - say: B.
    milestone: told
# last
`
	const todays = `# File.

# First.
# is a
a:
  extra_tools: all
  oracle: [{say: A.}] # said
b:
  # Second.
  world: b # w
  extra_tools: all
  oracle:
    - say: B.
  # last

  milestones:
    # m
    # t
    told:
    # x
    # end
    x: {says: X.}
`
	got, err := Upgrade("a.yaml", []byte(former))
	if diff := cmp.Diff(todays, string(got)); diff != "" || err != nil {
		t.Errorf("Upgrade: %v (-want +got):\n%s", err, diff)
	}
}

// TestUpgradeLastText checks that a last text is the milestone told if and only if it was before.
func TestUpgradeLastText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after string }{
		{"oracle: [{say: A., milestone: told}]\n", "  oracle: [{say: A.}]\n"},
		{"oracle: [{say: A., milestone: bye}]\n", "  oracle: [{say: A., milestone: bye}]\n"},
		{"oracle: [{say: A.}]\n", "  oracle: [{say: A., milestone: none}]\n"},
		{"oracle: [{say: A.}]\nmilestones: [{name: told, call: b}]\n", "  oracle: [{say: A.}]\n  milestones:\n    told: {call: b}\n"},
		{"oracle: [{say: A., milestone: told}, {say: B.}]\n", "  oracle: [{say: A., milestone: told}, {say: B.}]\n"},
		{"oracle: [{say: A.}]\nmilestones: [{name: told, says: A.}]\n", "  oracle: [{say: A.}]\n"},
		{"oracle: [{a: {}}]\n", "  oracle: [{a: {}}]\n"},
	} {
		got, err := Upgrade("one.yaml", []byte("name: one\nextra_tools: [z]\n"+c.before))
		if want := "one:\n  extra_tools: [z]\n" + c.after; err != nil || string(got) != want {
			t.Errorf("Upgrade with %q: got %s, %v, want %s", c.before, got, err, want)
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
		{"", []string{"b", "a", endTool}},
		{"extra_tools: all\n", nil},
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
	f.Add("name: a # b\nmilestones: [told, {name: x, says: y}]\noracle: [{say: z, milestone: told}]\n---\n# c\nname: d\n")
	f.Add("name: x\noracle: [{calls: [{a: {}, milestone: y, tolerances: {b: 1}}, c]}, {a: {b: 1}, milestone: x}, {calls: [a, {b: {}, id: c}, {tool: id}]}]\nminefields: [{call: [a, {b: {c: 1}}]}]\n")
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
