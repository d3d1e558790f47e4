package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// invalidOutputs returns outputs that violate each model's format.
func invalidOutputs() map[string][]string {
	return map[string][]string{
		"hermes:m":          {"<tool_call>{\"name\": ", "<tool_call>[1, 2]</tool_call>", "", "<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>"},
		"mistral:m":         {"[TOOL_CALLS] [{oops]", "[TOOL_CALLS] []", "", "[TOOL_CALLS] [{\"name\": \"fly\", \"arguments\": \"x\"}]"},
		"cohere-prompted:m": {"Action: ```json\n[{]```", "Action: ```json\n{}```", "", "Action: ```json\n[{\"tool_name\": \"fly\", \"parameters\": 1}]```"},
		"plain:m":           {"[CALL] oops", "[CALL] {\"name\": 3}", "", "[CALL] {\"name\": \"fly\"}"},
	}
}

// entry returns the summary's entry of a run's only rollout.
func entry(t *testing.T, out string) resultfile.ScenarioResult {
	t.Helper()
	summary, err := results.ReadSummary(out)
	if err != nil || len(summary.Scenarios) != 1 {
		t.Fatalf("summary: got %+v and %v, want one rollout", summary, err)
	}
	if run, err := results.ReadRun(out); err != nil || run.Totals.UserFlagCounts == nil {
		t.Fatalf("run: got %+v and %v, want how often its user was flagged", run, err)
	}
	return summary.Scenarios[0]
}

// TestModelUserInvalidOutput runs prompted models whose first outputs are invalid. The rollout
// continues and ends.
func TestModelUserInvalidOutput(t *testing.T) {
	t.Parallel()
	for _, m := range userModels() {
		texts := invalidOutputs()[m.player]
		if texts == nil {
			continue // the provider has native calls
		}
		t.Run(m.player, func(t *testing.T) {
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				answer := m.answer(userTurn{tool: "end_conversation", arguments: "{}"})
				switch {
				case requests < len(texts):
					answer = fmt.Sprintf(`{"choices": [{"text": %q, "finish_reason": "stop"}]}`, texts[requests])
				case requests == len(texts):
					answer = m.answer(userTurn{text: "The neighbour."})
				}
				requests++
				_, _ = io.WriteString(w, answer)
			}))
			t.Cleanup(server.Close)
			out := filepath.Join(t.TempDir(), "out")
			toolsandbox(t, "run", "--probe=false", "--agent", "unhelpful", "--user", m.player, "--user-base-url", server.URL, "--out", out, "which_mateo")
			if got := entry(t, out); got.Failed() || requests != len(texts)+2 {
				t.Errorf("%q: got %+v after %d requests, want a rollout without a failure after %d", texts, got, requests, len(texts)+2)
			}
		})
	}
}

// TestModelUserNeverValid runs prompted models with invalid outputs only. Their rollouts end.
func TestModelUserNeverValid(t *testing.T) {
	t.Parallel()
	for player, texts := range invalidOutputs() {
		t.Run(player, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"choices": [{"text": %q, "finish_reason": "stop"}]}`, texts[0])
			}))
			t.Cleanup(server.Close)
			out := filepath.Join(t.TempDir(), "out")
			args := []string{"run", "--probe=false", "--agent", "unhelpful", "--user", player, "--user-base-url", server.URL, "--out", out, "which_mateo"}
			printed, err := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...).Output()
			limit := err == nil && strings.Contains(string(printed), "message limit")
			failed := err != nil && strings.Contains(string(printed), "not scored: the simulated user: 5 turns in a row could not be used")
			if !limit && !failed {
				t.Errorf("got %v and\n%s\nwant the message limit, or no score because of the user", err, printed)
			}
		})
	}
}

// TestModelUserFails runs a user's model with five empty outputs. That does not count against the
// agent, and a resumed run requests the user again. Both replay identically.
func TestModelUserFails(t *testing.T) {
	t.Parallel()
	turns := append(make([]userTurn, 5), userTurn{tool: "end_conversation", arguments: "{}"})
	m := callingUsers()[0]
	address, requests := m.start(t, turns)
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"run", "--probe=false", "--agent", "unhelpful", "--user", m.player, "--user-base-url", address, "--out", out, "which_mateo"}
	wantFailure(t, "not scored: the simulated user: 5 turns in a row could not be used", args...)
	if got := entry(t, out); got.Scored() || len(requests()) != 5 {
		t.Errorf("got %+v after %d requests, want no score after 5", got, len(requests()))
	}
	again := filepath.Join(t.TempDir(), "again")
	wantFailure(t, "not scored: the simulated user: 5 turns in a row", "run", "--replay", out, "--out", again)
	equalRuns(t, out, again)
	toolsandbox(t, append(args, "--resume")...)
	if got := entry(t, out); !got.Scored() || got.Failed() || len(requests()) != len(turns) {
		t.Errorf("got %+v after %d requests, want a score after %d", got, len(requests()), len(turns))
	}
	replay(t, out)
}

// TestGorillaAsUser checks that this model is rejected as a user before any rollout.
func TestGorillaAsUser(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gorilla", "gorilla:m", "Gorilla"} {
		out := filepath.Join(t.TempDir(), "out")
		printed, err := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), "run", "--agent", "oracle", "--user", name, "--out", out, "which_mateo").CombinedOutput()
		if err == nil || !strings.Contains(string(printed), "cannot play the user") {
			t.Errorf("--user %s: got %v and\n%s\nwant an error that it cannot play the user", name, err, printed)
		}
	}
}
