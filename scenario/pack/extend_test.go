package pack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

const (
	paraphrased = scenariov1.Kind_KIND_PARAPHRASED
	derived     = scenariov1.Kind_KIND_DERIVED
)

// extending returns a pack with the scenario one and others in a file before it.
func extending(others string) fstest.MapFS {
	fsys := files(testScenario, testWorld)
	fsys["0.yaml"] = &fstest.MapFile{Data: []byte(others)}
	fsys["worlds/other.yaml"] = &fstest.MapFile{Data: []byte("extends: base\ntables: {contact: {set: {name: Bo}}}\n")}
	return fsys
}

// TestExtend extends a scenario, and the result again: each has the same milestones, the fields
// that it gives itself, and its lineage.
func TestExtend(t *testing.T) {
	loaded, err := readPack(extending(`again: {extends: reworded, world: other}
reworded:
  extends: one
  user: {says: Off with it!, knowledge: It is on.}
solved:
  extends: one
  oracle:
    - calls: [{tool: set_wifi_status, arguments: {on: true}}, {tool: set_wifi_status, arguments: {on: false}}]
    - say: Anything.
reticent: {extends: one, tables: {contact: []}, clock: {step: 2}}
`), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]*scenariov1.Scenario)
	for _, l := range loaded {
		byName[l.name()] = l.Scenario
		if want := map[bool]string{true: "other", false: "base"}[l.name() == "again"]; l.World != want {
			t.Errorf("%s: got world %q, want %q", l.name(), l.World, want)
		}
	}
	one := byName["one"]
	for name, want := range map[string]*scenariov1.Lineage{
		"one":      nil,
		"reworded": {Extends: "one", Seed: "one", Kind: paraphrased},
		"again":    {Extends: "reworded", Seed: "one", Kind: derived},
		"solved":   {Extends: "one", Seed: "one", Kind: derived},
		"reticent": {Extends: "one", Seed: "one", Kind: derived},
	} {
		s := byName[name]
		if diff := cmp.Diff(want, s.GetLineage(), protocmp.Transform()); diff != "" {
			t.Errorf("%s: lineage (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(one.GetEvaluation().GetMilestones(), s.GetEvaluation().GetMilestones(), protocmp.Transform()); diff != "" {
			t.Errorf("%s: milestones (-one +%[1]s):\n%s", name, diff)
		}
	}
	for _, name := range []string{"reworded", "again"} {
		s := byName[name]
		messages := s.GetSetup().GetMessages()
		if said := messages[len(messages)-1].GetText(); said != "Off with it!" || s.GetEvaluation().GetUser().GetGoal() != "Wifi off." || len(s.GetEvaluation().GetUser().GetKnowledge()) != 1 {
			t.Errorf("%s: got %q and %v, want the new text and knowledge with the old goal", name, said, s.GetEvaluation().GetUser())
		}
	}
	if rows := byName["again"].GetSetup().GetTables()[1].GetRows(); !strings.Contains(fmt.Sprint(rows), "Bo") {
		t.Errorf("again: got contacts %v, want those of its world", rows)
	}
	if setup := byName["reticent"].GetSetup(); setup.GetClock().GetStep() != 2 || setup.GetClock().GetNow() != one.GetSetup().GetClock().GetNow() || len(setup.GetTables()[1].GetRows()) != 0 {
		t.Errorf("reticent: got %v and %v, want a changed clock and no contacts", setup.GetClock(), setup.GetTables()[1])
	}
	if turns := byName["solved"].GetSetup().GetOracleScript(); len(turns) != 2 || len(turns[0].GetCalls()) != 2 || !proto.Equal(byName["reworded"].GetSetup().GetOracleScript()[0], one.GetSetup().GetOracleScript()[0]) {
		t.Errorf("solved: got %v, want its own turns", turns)
	}
}

func TestExtendErrors(t *testing.T) {
	for name, c := range map[string]struct {
		others string
		want   []string
	}{
		"unknown":        {"a: {extends: on, notes: x}\n", []string{`0.yaml:1:14: a.extends: there is no scenario "on" in the YAML files of this pack; did you mean "one"?; those of other packs cannot be extended`}},
		"itself":         {"a: {extends: a, notes: x}\n", []string{`0.yaml:1:14: a.extends: extends itself by way of "a"`}},
		"loop":           {"a: {extends: b, notes: x}\nb: {extends: c, notes: x}\nc: {extends: a, notes: x}\n", []string{`0.yaml:3:14: c.extends: extends itself by way of "a"`}},
		"nothing":        {"a: {extends: one}\n", []string{"0.yaml:1:14: a.extends: is the only field; say what this scenario changes of one"}},
		"no text":        {"a: {extends: [one], notes: x}\n", []string{"0.yaml:1:14: a.extends: is a list, expected a text"}},
		"oracle":         {"a: {extends: one, oracle: 3}\n", []string{"0.yaml:1:27: a.oracle: is a number, expected a list"}},
		"milestones":     {"a: {extends: one, milestones: {}}\n", []string{"0.yaml:1:19: a.milestones: comes from one, and has to stay: a scenario with other milestones or minefields extends none"}},
		"unknown field":  {"a: {extends: one, note: x}\n", []string{`0.yaml:1:19: a.note: unknown field; did you mean "notes"?`}},
		"lost milestone": {"a: {extends: b, oracle: [{say: Off.}]}\nb:\n" + indented(carried), []string{`0.yaml:1:25: a.oracle: lacks the milestone "off" of b at its place`}},
		"new milestone":  {"a: {extends: b, oracle: [{set_wifi_status: {on: false}, milestone: off}, {say: Off.}, {say: Bye., milestone: bye}]}\nb:\n" + indented(carried), []string{`0.yaml:1:25: a.oracle: lacks the milestone "told" of b at its place`}},
		"changed milestone": {"a: {extends: b, oracle: [{set_wifi_status: {on: false}, milestone: off}, {say: It is off.}]}\nb:\n" + indented(carried),
			[]string{`0.yaml:1:25: a.oracle: changes what the milestone "told" of b wants; define it below milestones there, so that no turn has to be the same`}},
		// What follows from a change is reported at the extension, in its words.
		"denied tool": {"a: {extends: one, without_tools: [set_wifi_status]}\n", []string{"0.yaml:1:14: a.oracle[0].calls[0].tool: "}},
		"broken base": {"a: {extends: b, notes: x}\nb: {extends: one, nots: x}\n", []string{`0.yaml:2:19: b.nots: unknown field; did you mean "notes"?`}},
		"broken seed": {"a: {extends: b, notes: x}\nb: {world: base}\n", []string{"0.yaml:2:4: b: "}},
		"twice":       {"a: {extends: one, notes: x}\n'a': {extends: one, notes: y}\n", []string{`0.yaml:2:1: a: is written twice; keep one`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readPack(extending(c.others), testOptions())
			var mistakes document.Errors
			if !errors.As(err, &mistakes) {
				t.Fatalf("got %v, want Errors", err)
			}
			var got []string
			for _, mistake := range mistakes {
				got = append(got, mistake.Error())
			}
			if len(got) < len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
			if len(got) > len(c.want) {
				t.Errorf("further mistakes: %q", got[len(c.want):])
			}
		})
	}
}

// carried is a scenario whose oracle carries its milestones.
const carried = `world: base
user: {goal: Wifi off., says: Wifi off!}
oracle:
  - {set_wifi_status: {on: false}, milestone: off}
  - say: Off.
`
