package usercheck_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

// TestGoalLeaks checks users that repeat their complete goal, verbatim and in the first person. A
// goal that only states what the user does not know may be told.
func TestGoalLeaks(t *testing.T) {
	loaded, err := pack.Load(os.DirFS(filepath.Join("..", "..", "..", "..", "packs", "phone")), pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const long = 15
	mine := strings.NewReplacer("your ", "my ", "Your ", "My ", "you are", "I am", "You ", "I ", " you ", " I ", " you.", " me.", " you,", " me,")
	var unseen, turned []string
	goals := 0
	for _, one := range loaded.Scenarios {
		setup := one.Scenario.GetSetup()
		userSpec := one.Scenario.GetEvaluation().GetUser()
		goal := userSpec.GetGoal()
		if len(strings.Fields(goal)) < long {
			continue
		}
		goals++
		view := slices.Concat(initialScene(one.Scenario).view, []*worldv1.Message{message(agent, user, "Can you tell me more?")})
		leaks := func(text string) bool {
			return slices.ContainsFunc(flagged(userSpec, view, message(user, agent, text)), func(flag string) bool { return strings.HasPrefix(flag, usercheck.Leak) })
		}
		if !leaks(goal) {
			unseen = append(unseen, setup.GetName())
		}
		if !leaks(mine.Replace(goal)) {
			turned = append(turned, setup.GetName())
		}
	}
	if diff := cmp.Diff([]string(nil), unseen); diff != "" || goals < 100 {
		t.Errorf("%d goals as they stand: not flagged (-want +got):\n%s", goals, diff)
	}
	if diff := cmp.Diff([]string{"nobody_called_zelda"}, turned); diff != "" {
		t.Errorf("%d goals in the first person: not flagged (-want +got):\n%s", goals, diff)
	}
}
