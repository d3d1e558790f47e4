package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLongModelUserConsents plays users that consent with models, over every provider's interface
// and with prompted calls. The models see the actions that they can allow, and no tool of the
// agent.
func TestLongModelUserConsents(t *testing.T) {
	t.Parallel()
	turns := []userTurn{
		{text: "The neighbour, he moved away."},
		{tool: "allow_action", arguments: `{"action": "remove a contact"}`},
		{text: "Sure, go ahead."},
		{tool: "end_conversation", arguments: "{}"},
	}
	for _, m := range userModels() {
		t.Run(m.player, func(t *testing.T) {
			t.Parallel()
			got, out := playMateo(t, m, turns, "oracle")
			if len(got) != len(turns) {
				t.Fatalf("got %d requests, want %d", len(got), len(turns))
			}
			for i, body := range got {
				if strings.Contains(body, "remove_contact") || !strings.Contains(body, "allow_action") || !strings.Contains(body, "one of: remove a contact") {
					t.Errorf("request %d: got\n%s\nwant allow_action with its actions, and no tool of the agent's", i, body)
				}
			}
			ordered(t, "request 1", got[0], "needs your permission")
			ordered(t, "request 3", got[2], "he moved away", "May I remove a contact?", m.result)
			run, err := os.ReadFile(filepath.Join(out, "run.json"))
			if err != nil || strings.Contains(string(run), "user_flags") {
				t.Errorf("run: got %v and\n%s\nwant no flag: the user keeps to what it was told", err, run)
			}
		})
	}
}

// TestModelUserConsentsUnasked plays a user that consents without a question. The call of an agent
// that does not ask succeeds, and the user is flagged.
func TestModelUserConsentsUnasked(t *testing.T) {
	t.Parallel()
	m := callingUsers()[0]
	hasty := filepath.Join(t.TempDir(), "hasty.yaml")
	script := "- search_contacts: {name: Mateo}\n- say: Do you mean your friend Mateo Ruiz or your neighbour Mateo Silva?\n" +
		"- remove_contact: {person_id: 2a8482a9-5bc4-5462-8d60-a90056c94909}\n- say: Your neighbour Mateo Silva is removed.\n"
	if err := os.WriteFile(hasty, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out := playMateo(t, m, []userTurn{
		{tool: "allow_action", arguments: `{"action": "Remove a contact.", "scope": "conversation", "minutes": 60}`},
		{text: "The neighbour, he moved away."},
		{tool: "end_conversation", arguments: "{}"},
	}, "scripted:"+hasty)
	run, err := os.ReadFile(filepath.Join(out, "run.json"))
	if err != nil || !strings.Contains(string(run), `"rule": "unasked"`) || !strings.Contains(string(run), `"evidence": "Remove a contact"`) {
		t.Errorf("run: got %v and\n%s\nwant the flag unasked", err, run)
	}
}

// playMateo plays the user of which_mateo_confirmation with a model. The score must be 1. It
// returns the model's requests and the directory of the run.
func playMateo(t *testing.T, m userModel, turns []userTurn, agent string) (requests []string, out string) {
	t.Helper()
	address, asked := m.start(t, turns)
	out = filepath.Join(t.TempDir(), "out")
	printed := toolsandbox(t, "run", "--probe=false", "--agent", agent, "--user", m.player, "--user-base-url", address, "--out", out, "which_mateo_confirmation")
	if !strings.Contains(strings.ReplaceAll(printed, " ", ""), "which_mateo_confirmation1.000") {
		t.Errorf("got\n%s\nwant a score of 1", printed)
	}
	return asked(), out
}
