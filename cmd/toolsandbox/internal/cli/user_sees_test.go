package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestUserSees shows the agent's calls, and then their results, to a simulated user. Everything
// that the agent is sent stays the same, and so does the world. The setting is recorded, a replay
// repeats it, and a resumed run must.
func TestUserSees(t *testing.T) {
	t.Parallel()
	answer := chatHandler(t)
	var mu sync.Mutex
	var toAgent, toUser []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodPost && !strings.Contains(string(body), "probe") {
			mu.Lock()
			if strings.Contains(string(body), `"name":"end_conversation"`) {
				toUser = append(toUser, string(body))
			} else {
				toAgent = append(toAgent, string(body))
			}
			mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	play := func(sees string) (agent, user []string, run *results.Run) {
		toAgent, toUser = nil, nil
		mustRun(t, "--agent", "openai:m", "--user", "openai:m", "--base-url", server.URL+"/v1", "--user-sees", sees, "--out", filepath.Join(dir, sees), "turn_off_wifi")
		return toAgent, toUser, readRunFile(t, filepath.Join(dir, sees))
	}
	const call, result = `[Tool call] set_wifi_status {\"on\": false}`, `[Tool result] None`
	var first []string
	for sees, want := range map[string][]bool{"texts": {false, false}, "calls": {true, false}, "results": {true, true}} {
		agent, user, run := play(sees)
		if first == nil {
			first = agent
		}
		if diff := cmp.Diff(first, agent); diff != "" || len(agent) == 0 {
			t.Errorf("%s: requests of the agent (-first +this):\n%s", sees, diff)
		}
		last := user[len(user)-1]
		if got := []bool{strings.Contains(last, call), strings.Contains(last, result)}; !slices.Equal(got, want) {
			t.Errorf("%s: the user sees a call and a result: got %v, want %v in %s", sees, got, want, last)
		}
		if recorded := run.Prompts != nil && run.Prompts.UserSees == sees; recorded != (sees != "texts") || run.Rollouts[0].UserFlags != nil {
			t.Errorf("%s: got prompts %+v and flags %v", sees, run.Prompts, run.Rollouts[0].UserFlags)
		}
		mustRun(t, "--replay", filepath.Join(dir, sees), "--out", filepath.Join(dir, sees+" again"))
		again := readRunFile(t, filepath.Join(dir, sees+" again"))
		if diff := cmp.Diff(run.Prompts, again.Prompts); diff != "" || again.Rollouts[0].ContextSHA256 != run.Rollouts[0].ContextSHA256 {
			t.Errorf("%s: the replay differs (-want +got):\n%s", sees, diff)
		}
	}
	code, _, stderr := command("run", "--agent", "openai:m", "--user", "openai:m", "--base-url", server.URL+"/v1", "--user-sees", "texts", "--out", filepath.Join(dir, "results"), "--resume", "turn_off_wifi")
	if code != 2 || !strings.Contains(stderr, "--user-sees was results, is texts") {
		t.Errorf("resumed with another view: got code %d, %s", code, stderr)
	}
}
