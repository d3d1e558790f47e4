package catalogue

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ablated returns the built-in scenarios in all variants, changed by an ablation.
func ablated(t *testing.T, a ablation) []*scenariov1.Scenario {
	t.Helper()
	selection := Selection{Variants: []string{AllVariants, "confirmation"}, ablation: a}
	scenarios, err := selection.Load(t.Context(), io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenarios
}

// told returns the texts by which a scenario configures a role.
func told(s *scenariov1.Scenario, role worldv1.Role) []string {
	var texts []string
	for _, m := range s.GetSetup().GetMessages() {
		if m.GetSender() == worldv1.Role_ROLE_SYSTEM && m.GetRecipient() == role {
			texts = append(texts, m.GetText())
		}
	}
	return texts
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prompt.txt")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAgentPrompt puts texts around the agent's prompt and changes nothing else.
func TestAgentPrompt(t *testing.T) {
	t.Parallel()
	all, changed := ablated(t, ablation{}), ablated(t, ablation{before: file(t, "\nFirst.\n"), after: file(t, "Last.")})
	for i, s := range changed {
		want := told(all[i], worldv1.Role_ROLE_AGENT)
		want[0] = "First.\n\n" + want[0] + "\n\nLast."
		if diff := cmp.Diff(want, told(s, worldv1.Role_ROLE_AGENT)); diff != "" {
			t.Fatalf("%s: agent's prompts (-want +got):\n%s", s.GetSetup().GetName(), diff)
		}
		for j, m := range s.GetSetup().GetMessages() {
			if m.GetRecipient() == worldv1.Role_ROLE_AGENT && m.GetSender() == worldv1.Role_ROLE_SYSTEM {
				m.Body = all[i].GetSetup().GetMessages()[j].GetBody()
			}
		}
		if !proto.Equal(all[i], s) {
			t.Fatalf("%s: more than the agent's prompt differs", s.GetSetup().GetName())
		}
	}
}

// TestUserPrompt tells the user less: first no demonstrations, then only its goal.
func TestUserPrompt(t *testing.T) {
	t.Parallel()
	all, knowing, aiming := ablated(t, ablation{}), ablated(t, ablation{user: "knowledge"}), ablated(t, ablation{user: "goal"})
	demonstrated, known := 0, 0
	for i, s := range all {
		name, user := s.GetSetup().GetName(), s.GetEvaluation().GetUser()
		if len(knowing[i].GetSetup().GetMessages()) < len(s.GetSetup().GetMessages()) {
			demonstrated++
		}
		if diff := cmp.Diff(told(s, worldv1.Role_ROLE_USER), told(knowing[i], worldv1.Role_ROLE_USER)); diff != "" {
			t.Fatalf("%s: instructions with knowledge (-all +knowledge):\n%s", name, diff)
		}
		instructions := told(aiming[i], worldv1.Role_ROLE_USER)
		if len(instructions) != 1 || !strings.Contains(instructions[0], user.GetGoal()) {
			t.Fatalf("%s: instructions with the goal: got %q", name, instructions)
		}
		for _, item := range slices.Concat(user.GetKnowledge(), user.GetUnknown()) {
			known++
			if !strings.Contains(user.GetGoal(), item) && strings.Contains(instructions[0], item) {
				t.Fatalf("%s: instructions with the goal: got %q with %q", name, instructions, item)
			}
		}
		for _, changed := range []*scenariov1.Scenario{knowing[i], aiming[i]} {
			for j, m := range changed.GetSetup().GetMessages() {
				if m.GetIndex() != int32(j) {
					t.Fatalf("%s: message %d has the index %d", name, j, m.GetIndex())
				}
			}
			if !proto.Equal(s.GetEvaluation(), changed.GetEvaluation()) {
				t.Fatalf("%s: the evaluation differs", name)
			}
		}
	}
	if demonstrated == 0 || known == 0 {
		t.Errorf("got %d scenarios with demonstrations and %d facts, want some of both", demonstrated, known)
	}
}

// TestUserSees changes what the user's view and its check contain, and nothing else.
func TestUserSees(t *testing.T) {
	t.Parallel()
	all, seeing := ablated(t, ablation{}), ablated(t, ablation{sees: "results"})
	for i, s := range seeing {
		setup, user := s.GetSetup(), s.GetEvaluation().GetUser()
		if setup.GetShownToUser() != worldv1.ShownToolUse_SHOWN_TOOL_USE_RESULTS || user.GetShown() != setup.GetShownToUser() {
			t.Fatalf("%s: got %v and %v, want results", setup.GetName(), setup.GetShownToUser(), user.GetShown())
		}
		s = proto.CloneOf(s)
		s.Setup.ShownToUser, s.Evaluation.User.Shown = 0, 0
		if !proto.Equal(all[i], s) {
			t.Fatalf("%s: more than the user's view differs", setup.GetName())
		}
	}
}

func TestBadAblations(t *testing.T) {
	t.Parallel()
	missing, empty, binary := filepath.Join(t.TempDir(), "none"), file(t, " \n"), file(t, "\xff")
	for want, a := range map[string]ablation{
		"--agent-prompt: open " + missing:                            {before: missing},
		"--agent-prompt-after: " + empty + ": it is empty":           {after: empty},
		"--agent-prompt: " + binary + ": it is no UTF-8":             {before: binary},
		`--user-prompt: "some" given, expected one of [goal knowled`: {user: "some"},
		`--user-sees: "all" given, expected one of [texts calls res`: {sees: "all"},
	} {
		selection := Selection{Variants: []string{PlainVariant}, ablation: a}
		if _, err := selection.Load(t.Context(), io.Discard, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got error %v, want %q", a, err, want)
		}
	}
	listed := Selection{PackPaths: []string{"../describe/testdata/pack"}, Variants: []string{PlainVariant}, ablation: ablation{user: "goal"}}
	if _, err := listed.Load(t.Context(), io.Discard, nil); err == nil || !strings.Contains(err.Error(), "--user-prompt: in_other_words has no separate goal") {
		t.Errorf("explicit messages: got error %v", err)
	}
}
