package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

func TestProof(t *testing.T) {
	text := testScenario + "max_idle_score: 0.25\norders: [[2, 1]]\nminefields:\n  no: {says: No.}\n  never:\n    says: Never.\n    triggered_by: [{say: Never.}]\n"
	loaded, err := readPack(files(text, testWorld), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := &scenariov1.Proof{
		MaxIdleScore: 0.25, Orders: []*scenariov1.Order{{Turns: []int32{1, 0}}},
		Triggers: []*scenariov1.MinefieldTrigger{{Minefield: 1, Turns: []*worldv1.ScriptTurn{{Say: "Never."}}}},
	}
	if diff := cmp.Diff(want, loaded[0].Scenario.GetProof(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	loaded, err = readPack(files(testScenario, testWorld), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if got := loaded[0].Scenario.GetProof().GetMaxIdleScore(); got != scenario.DefaultMaxIdleScore {
		t.Errorf("max_idle_score: got %v, want %v", got, scenario.DefaultMaxIdleScore)
	}
}

func TestProofErrors(t *testing.T) {
	minefield := "minefields:\n  no:\n    says: No.\n    triggered_by: "
	for _, c := range []struct{ name, added, want string }{
		{"floor too high", "max_idle_score: 1.5", "a.yaml:17:19: one.max_idle_score: is 1.5, expected a similarity from 0 to 1"},
		{"floor no number", "max_idle_score: low", "a.yaml:17:19: one.max_idle_score: is a text, expected a number"},
		{"missing turn", "orders: [[2]]", "a.yaml:17:12: one.orders[0]: is no order of the oracle's 2 turns, expected each number from 1 to 2 once"},
		{"turn twice", "orders: [[2, 1], [2, 2]]", "a.yaml:17:20: one.orders[1]: is no order of the oracle's 2 turns, expected each number from 1 to 2 once"},
		{"from zero", "orders: [[1, 0]]", "a.yaml:17:16: one.orders[0][1]: is 0, expected a whole number from 1 to 10000"},
		{"written order", "orders: [[1, 2]]", "a.yaml:17:12: one.orders[0]: is the order in which the oracle is written; leave it out"},
		{"order twice", "orders: [[2, 1], [2, 1]]", "a.yaml:17:20: one.orders[1]: is the same order as number 1"},
		{"trigger of a milestone", "  no:\n    says: No.\n    triggered_by: [{say: No.}]", "a.yaml:19:7: one.milestones.no.triggered_by: unknown field"},
		{"empty trigger", minefield + "[]", "a.yaml:20:21: one.minefields.no.triggered_by: is empty, expected the turns that step on the minefield"},
		{"empty turn", minefield + "[{say: ''}]", "a.yaml:20:22: one.minefields.no.triggered_by[0]: neither says nor calls anything"},
		{"unknown tool", minefield + "[{calls: [{tool: add_contactt}]}]",
			`a.yaml:20:38: one.minefields.no.triggered_by[0].calls[0].tool: unknown tool "add_contactt"; did you mean "add_contact"?`},
		{"tool of a variant", minefield + "[{calls: [{tool: add_contact}]}]", ""},
		{"tool taken away", "without_tools: [add_contact]\n" + minefield + "[{calls: [{tool: add_contact}]}]",
			`a.yaml:21:38: one.minefields.no.triggered_by[0].calls[0].tool: the agent may not call "add_contact": without_tools lists it`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, "\n")
			}
			checkErrors(t, files(testScenario+c.added+"\n", testWorld), want)
		})
	}
}

// TestValidateProof checks claims that are impossible in YAML files.
func TestValidateProof(t *testing.T) {
	loaded, err := readPack(files(testScenario, testWorld), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	s := proto.CloneOf(loaded[0].Scenario)
	trigger := &scenariov1.MinefieldTrigger{Minefield: 1, Turns: []*worldv1.ScriptTurn{{Say: "No."}}}
	s.Proof = &scenariov1.Proof{MaxIdleScore: -1, Triggers: []*scenariov1.MinefieldTrigger{trigger}}
	want := []scenario.Problem{
		{Path: "proof.max_idle_score", Reason: "is -1, expected a similarity from 0 to 1"},
		{Path: "proof.triggers[0]", Reason: "is about minefield 1, expected a number below 0"},
	}
	if diff := cmp.Diff(want, scenario.Validate(s, testOptions())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	s.Proof = nil
	if problems := scenario.Validate(s, testOptions()); problems != nil {
		t.Errorf("without a proof: got %v, want no problem", problems)
	}
}
