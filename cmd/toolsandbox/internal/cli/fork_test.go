package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// readMessages reads the messages of a rollout.
func readMessages(t *testing.T, dir, rollout string) []*worldv1.Message {
	t.Helper()
	reader, err := results.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := reader.Messages(rollout)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// TestFork continues a rollout as it was, and with another agent after another text. The same fork
// has the same rollout, so has its replay, and it can be forked again.
func TestFork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustRun(t, "--agent", "oracle", "--out", in("out"), "turn_off_wifi", "which_mateo")
	origin := readRunFile(t, in("out")).Rollouts[1]
	play := func(out string, args ...string) results.Outcome {
		t.Helper()
		mustRun(t, append(args, "--out", in(out))...)
		return readRunFile(t, in(out)).Rollouts[0]
	}
	if same := play("same", "--fork", in("out/which_mateo@7")); same.ContextSHA256 != origin.ContextSHA256 || same.ID == origin.ID || same.Seed != origin.Seed {
		t.Errorf("fork without a change: got %+v, want the rollout %+v with another id", same, origin)
	}
	const text = "Which one, your friend or your neighbour?"
	if err := os.WriteFile(in("text"), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	changed := play("fork", "--fork", in("out/trajectories/which_mateo@6"), "--agent", "random", "--text", text)
	want := &results.Fork{Run: "../out", Rollout: "which_mateo", ID: origin.ID, Message: 6, Agent: "random", Text: new(text)}
	if diff := cmp.Diff(want, readRunFile(t, in("fork")).Fork); diff != "" {
		t.Errorf("record of the fork (-want +got):\n%s", diff)
	}
	before, after := readMessages(t, in("out"), "which_mateo"), readMessages(t, in("fork"), "which_mateo")
	for i, message := range after[:6] {
		if message.String() != before[i].String() {
			t.Errorf("message %d before the fork: got %v, want %v", i, message, before[i])
		}
	}
	if after[6].GetText() != text || after[7].GetText() != before[7].GetText() || after[8].GetCall().GetTool() == before[8].GetCall().GetTool() {
		t.Errorf("messages 6 to 8: got %v, want the text, the user's, and another call", after[6:9])
	}
	for name, args := range map[string][]string{
		"again": {"--fork", in("out/which_mateo@6"), "--agent", "random", "--text", "@" + in("text")}, "replay": {"--replay", in("fork")},
		"fork of the fork": {"--fork", in("fork/which_mateo@8")},
	} {
		if got := play(name, args...); got.ContextSHA256 != changed.ContextSHA256 {
			t.Errorf("%s: got another rollout, want that of the fork", name)
		}
	}
	if fork := readRunFile(t, in("replay")).Fork; cmp.Diff(want, fork) != "" {
		t.Errorf("record of the replay: got %+v, want %+v", fork, want)
	}
	mustRun(t, "--fork", in("out/which_mateo@8"), "--agent", "random", "--trials", "2", "--out", in("trials"))
	if trials := readRunFile(t, in("trials")).Rollouts; len(trials) != 2 || trials[0].Seed != origin.Seed || trials[0].ContextSHA256 == trials[1].ContextSHA256 {
		t.Errorf("two trials: got %+v, want two different rollouts, the first with seed %d", trials, origin.Seed)
	}
	forkUsage(t, dir)
}

// forkUsage names what cannot be forked. Nothing is written.
func forkUsage(t *testing.T, dir string) {
	t.Helper()
	out := filepath.Join(dir, "out")
	foreign := filepath.Join(dir, "same", ".toolsandbox")
	if err := os.RemoveAll(foreign); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		out + "/which_mateo@0":                       "begins no turn of the agent or the user: expected 4 or a later turn",
		out + "/which_mateo@5":                       "message 5 of which_mateo begins no turn of the agent or the user: expected e.g. 4 or 6",
		out + "/which_mateo@99":                      "or an earlier turn",
		out + "/nothing@4":                           `no finished rollout "nothing": expected one of its 2, e.g. turn_off_wifi`,
		out + "@4":                                   "has 2 rollouts: name one",
		out + "/which_mateo":                         "expected RUN/ROLLOUT@N",
		dir + "/nowhere/x@4":                         "holds no run",
		dir + "/same/which_mateo@4":                  "has no recorded turns",
		out + "/which_mateo@4 --text x":              "--text: message 4 of which_mateo is no single text",
		out + "/which_mateo@6 --text @" + dir + "/x": "--text: open",
		out + "/which_mateo@4 turn_off_wifi":         "the rollout determines the scenario",
		out + "/which_mateo@4 --seed 1":              "--seed: given, but with --fork",
		out + "/which_mateo@4 --variants all":        "--variants: given, but with --fork",
		out + "/which_mateo@4 --temperature 1":       "need its --agent or --user",
		out + "/which_mateo@4 --floors":              "not played with --fork",
	} {
		never := filepath.Join(dir, "never")
		code, _, stderr := command(append([]string{"run", "--out", never, "--fork"}, strings.Fields(args)...)...)
		if _, err := os.Stat(never); code != 2 || !strings.Contains(stderr, want) || err == nil {
			t.Errorf("%s: got %d and %s (%v), want 2, %q and no directory", args, code, stderr, err, want)
		}
	}
}

// TestForkOfModel asks a model only for the turns from the fork on, with the conversation that it
// had before.
func TestForkOfModel(t *testing.T) {
	t.Parallel()
	answer := chatHandler(t)
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		if r.Method == http.MethodPost {
			asked = append(asked, string(body))
		}
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	play := func(out string, args ...string) []string {
		t.Helper()
		asked = nil
		mustRun(t, append(args, "--probe=false", "--floors=false", "--out", filepath.Join(dir, out))...)
		return asked
	}
	all := play("out", "--agent", "openai:m", "--base-url", server.URL+"/v1", "turn_off_wifi")
	if len(all) < 2 {
		t.Fatalf("requests of the origin: got %d, want 2 or more", len(all))
	}
	origin := filepath.Join(dir, "out", "turn_off_wifi")
	if diff := cmp.Diff(all[1:], play("same", "--fork", origin+"@6")); diff != "" {
		t.Errorf("requests of the fork (-those of the origin from there on +got):\n%s", diff)
	}
	was, is := readRunFile(t, filepath.Join(dir, "out")).Rollouts[0], readRunFile(t, filepath.Join(dir, "same")).Rollouts[0]
	if was.ContextSHA256 != is.ContextSHA256 || *was.Usage.Agent.InputTokens <= *is.Usage.Agent.InputTokens {
		t.Errorf("fork: got %+v, want %+v with the usage of fewer turns", is, was)
	}
	if got := play("oracle", "--fork", origin+"@6", "--agent", "oracle"); len(got) > 0 {
		t.Errorf("requests of a fork with the oracle: got %d, want none", len(got))
	}
	if got := play("replay", "--replay", filepath.Join(dir, "same")); len(got) > 0 {
		t.Errorf("requests of the replay of a fork: got %d, want none", len(got))
	}
}
