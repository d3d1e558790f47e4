package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// answering returns the address of a server of chat completions that gives its answers in order,
// the last one again and again.
func answering(t *testing.T, status int, answers ...string) string {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answers[min(asked, len(answers)-1)])
		asked++
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func choice(message, reason string) string {
	return fmt.Sprintf(`{"choices": [{"message": %s, "finish_reason": %q}]}`, message, reason)
}

// TestCauses plays a model that refuses against a user whose model is filtered and then ends the
// conversation. The causes of both are apart, and so are the means.
func TestCauses(t *testing.T) {
	t.Parallel()
	agent := answering(t, http.StatusOK, choice(`{"content": null, "refusal": "I can't."}`, "stop"))
	ended := choice(`{"content": "", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "end_conversation", "arguments": "{}"}}]}`, "tool_calls")
	user := answering(t, http.StatusOK, choice(`{"content": ""}`, "content_filter"), ended)
	out := filepath.Join(t.TempDir(), "out")
	printed := toolsandbox(t, "run", "--probe=false", "-p", "1", "--agent", "openai:m", "--base-url", agent, "--user", "openai:m", "--user-base-url", user, "--out", out, "--trials", "2", "which_mateo")
	for _, want := range []string{
		"\n no tool called           2      2       0.000        – \n refused: refusal         2      3       0.000        – \n", "\n the simulated user's fault  rollouts  times  score with  without \n",
		"\n refused: content_filter            1      1       0.000    0.000 \n", ", n 2; without the rollouts whose user failed 0.", ", n 1\n", "\nfloors on this 1 scenario: idle 0.",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("got\n%s\nwant %q in it", printed, want)
		}
	}
	run, err := results.ReadRun(out)
	if err != nil || run.Totals.CauseCounts.UserFailed != 1 || run.Totals.Floors.Idle.Rollouts != 30 {
		t.Errorf("run: got %+v and %v, want one rollout whose user failed, and 30 of each floor", run, err)
	}
	if got := toolsandbox(t, "explain", out, "which_mateo_trial_0"); !strings.Contains(got, "the user failed: the model refused, or its provider's filter blocked it at message 5 (content_filter)\n") {
		t.Errorf("explain: got\n%s", got)
	}
}

// TestNoCauses plays a model whose provider refuses every request: no rollout has a score, so there
// is neither a table of causes nor a floor.
func TestNoCauses(t *testing.T) {
	t.Parallel()
	agent := answering(t, http.StatusUnauthorized, `{"error": {"message": "no"}}`)
	out := filepath.Join(t.TempDir(), "out")
	wantFailure(t, "3 of 3 rollouts have no score", "run", "--probe=false", "-p", "1", "--agent", "openai:m", "--base-url", agent, "--out", out, "--trials", "3", "which_mateo")
	run, err := results.ReadRun(out)
	if err != nil || run.Totals.Done != 3 || run.Totals.CauseCounts != nil || run.Totals.Floors != nil {
		t.Errorf("run: got %+v and %v, want three rollouts without causes and floors", run, err)
	}
}
