package prove

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
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
