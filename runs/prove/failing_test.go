package prove

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// TestFailingCalls names a call of the oracle that fails, in a note or with the score that it
// costs, unless a later call of the tool succeeds.
func TestFailingCalls(t *testing.T) {
	const fails, works = `{}`, `{"is_self": true}`
	turn := func(id, arguments string) *worldv1.ScriptTurn {
		return &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{{Id: proto.String(id), Tool: "search_contacts", ArgumentsJson: arguments}}}
	}
	const named = "search_contacts of turn 1 fails with ValueError: "
	for _, test := range []struct {
		name   string
		turns  []*worldv1.ScriptTurn
		solves bool
		want   bool
	}{
		{name: "alone", turns: []*worldv1.ScriptTurn{turn("a", fails)}, solves: true, want: true},
		{name: "alone, unsolved", turns: []*worldv1.ScriptTurn{turn("a", fails)}, want: true},
		{name: "tried again", turns: []*worldv1.ScriptTurn{turn("a", fails), turn("b", works)}},
	} {
		s := load(t, "testdata/right")[1]
		s.Setup.Tools.Allow = append(s.GetSetup().GetTools().GetAllow(), "search_contacts")
		s.Setup.OracleScript = slices.Concat(test.turns, s.GetSetup().GetOracleScript())
		if !test.solves {
			s.Setup.OracleScript = s.GetSetup().GetOracleScript()[:len(test.turns)]
		}
		reports, err := Prove(t.Context(), services(t), []*scenariov1.Scenario{s})
		if err != nil {
			t.Fatal(err)
		}
		got := writeReport(t, reports[0], false)
		if strings.Contains(got, named) != test.want {
			t.Errorf("%s: got\n%swant %q: %t", test.name, got, named, test.want)
		}
		if reports[0].Proven() != test.solves {
			t.Errorf("%s: got\n%swant proven: %t", test.name, got, test.solves)
		}
	}
}

// TestDefectOfTool proves scenarios whose oracles call a tool that only fails by a defect, which no
// milestone sees.
func TestDefectOfTool(t *testing.T) {
	const head = "import re\n\n\ndef look(title: str) -> str:\n    \"\"\"Looks.\n\n    Args:\n        title: What.\n    \"\"\"\n    "
	for body, want := range map[string]string{
		`return title.split("/")[1]`:                "FAIL  look_up: oracle: fix the tool or this call: look of turn 1 fails with IndexError: list index out of range",
		`return str(1 / (len(title) - 4))`:          "FAIL  look_up: oracle: fix the tool or this call: look of turn 1 fails with ZeroDivisionError: division by zero",
		`return str(re.search(title + "(", title))`: "FAIL  look_up: oracle: fix the tool or this call: look of turn 1 fails with re.error: ",
		`raise ValueError("there is none")`:         "note  look_up: change this call unless it should fail: look of turn 1 fails with ValueError: there is none",
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"tools/desk.py": head + body + "\n", "desk.yaml": lookUp} {
			if err := storage.WriteFile(filepath.Join(dir, name), []byte(text), false); err != nil {
				t.Fatal(err)
			}
		}
		reports, err := Prove(t.Context(), services(t), load(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := writeReport(t, reports[0], false); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%swant %s", body, got, want)
		}
	}
}

// lookUp is a scenario whose solution is a text.
const lookUp = `look_up:
  clock: {now: 2025-01-02T09:00:00, time_zone: UTC}
  tables: {setting: [{wifi: true}]}
  extra_tools: [look]
  user: {goal: Learn where the book is., says: Where is Emma?}
  oracle:
    - look: {title: Emma}
    - {say: Emma is in the cellar., milestone: told}
`
