package e2e_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// sweepDetail is what sweep show and top print for programs.
type sweepDetail struct {
	sweepState
	Running, Queued, Parked int
	Rate                    *float64
	Parallel                int
	Providers               []struct {
		Provider       string
		Asked, Limited int
	}
	SpentTokens int `json:"spent_tokens"`
}

// controller runs commands on a sweep at one place.
type controller struct {
	t  *testing.T
	at []string
}

func (c controller) do(args ...string) string {
	c.t.Helper()
	return toolsandbox(c.t, slices.Concat([]string{"sweep"}, args, c.at)...)
}

func (c controller) show(args ...string) (detail sweepDetail) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.do(slices.Concat([]string{"show", "--json"}, args)...)), &detail); err != nil {
		c.t.Fatal(err)
	}
	return detail
}

// quiet fails the test if the server is asked within a time.
func quiet(t *testing.T, server *countingServer, during time.Duration) {
	t.Helper()
	before := server.asked.Load()
	timer := time.NewTimer(during)
	defer timer.Stop()
	<-timer.C
	if got := server.asked.Load() - before; got != 0 {
		t.Errorf("requests while the sweep is paused: got %d, want none", got)
	}
}

// halfPlayed is half of the requests of the run of playing.
const halfPlayed = 240

// playing returns the flags of a run that asks a model.
func playing(server *countingServer, out string) []string {
	return []string{
		"run", "--probe=false", "--floors=false", "--agent", "openai:m", "--user", "openai:n", "--base-url", server.URL + "/v1", "--trials", "15", "--parallel", "4",
		"--sweep-id", "night", "--out", out, "turn_off_wifi", "is_cellular_on",
	}
}

// TestLongControlOfRemoteSweep pauses a sweep and kills its orchestrator and its client. Nothing is
// asked until the sweep continues, with other limits and without a client. Then it is deleted, with
// its sessions.
func TestLongControlOfRemoteSweep(t *testing.T) {
	t.Parallel()
	services, server := start(t), startCountingServer(t)
	out := filepath.Join(t.TempDir(), "out")
	server.set(halfPlayed)
	run := startRemote(t, services, playing(server, out)...)
	c := controller{t, sweepFlags(services)}
	eventually(t, "some rollouts have ended", func() bool { return statesOf(t, services)["night"].Done >= 2 })
	var top []sweepDetail
	if err := json.Unmarshal([]byte(c.do("top", "--json", "--interval", "500ms")), &top); err != nil {
		t.Fatal(err)
	}
	if len(top) != 1 || top[0].Rate == nil || top[0].SpentTokens == 0 || top[0].Running == 0 || top[0].Parallel != 4 {
		t.Errorf("top: got %+v, want the sweep with rate, spending and limits", top)
	}
	c.do("pause", "night")
	server.set(unlimited)
	eventually(t, "nothing runs", func() bool { return c.show("night").Running == 0 })
	if detail := c.show("night"); detail.State != "paused" || detail.Queued != 30-detail.Done {
		t.Errorf("the paused sweep: got %+v, want all rollouts without a result in the queue", detail)
	}
	quiet(t, server, time.Second)
	for _, end := range []func() error{
		func() error { return services.Kill(cluster.Orchestrator) },
		func() error { return services.Start(t.Context(), cluster.Orchestrator) },
		run.cmd.Process.Kill,
	} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	_ = run.wait() // it was killed
	quiet(t, server, 2*time.Second)
	if detail := c.show("night"); detail.State != "paused" {
		t.Errorf("after the restart: got %+v, want the sweep paused", detail)
	}
	if got := exitCodeOf(t, append([]string{"sweep", "delete", "night"}, c.at...)...); got != 1 {
		t.Errorf("exit code of delete before the end: got %d, want 1", got)
	}
	c.do("set", "night", "--parallel", "2", "--spend-tokens", "1000000")
	c.do("resume", "night")
	eventually(t, "the sweep ends without its client", func() bool { return statesOf(t, services)["night"].State == "done" })
	if got, want := c.do("requeue", "night", "--errored"), "sweep night: 0 rollouts queued in round 0\n"; got != want {
		t.Errorf("requeue: got %q, want %q", got, want)
	}
	resumed := slices.Concat(playing(server, out), []string{"--resume"}, services.ClientArgs())
	toolsandbox(t, resumed...)
	deleteWithSessions(t, services, c)
	if code, printed := attempt(t, resumed...); code != 2 || !strings.Contains(printed, "--resume: sweep night was deleted, so nothing of the run in "+out+" can be played again; its files stay") {
		t.Errorf("resumed after delete: got %d and %s, want 2 and that the sweep was deleted", code, printed)
	}
	if record, err := results.ReadRun(out); err != nil || len(record.Damaged()) > 0 {
		t.Errorf("run after delete: got %v, want a record without damage", err)
	}
}

// deleteWithSessions deletes the only sweep of a cluster, twice.
func deleteWithSessions(t *testing.T, services *cluster.Cluster, c controller) {
	t.Helper()
	sessions := func() string {
		t.Helper()
		return toolsandbox(t, "session", "list", "--remote", "--toolhost-addr", services.Address(cluster.ToolHost))
	}
	if before := sessions(); !strings.Contains(before, "night.7") {
		t.Errorf("sessions: got\n%s\nwant those of the sweep", before)
	}
	for range 2 {
		if got, want := c.do("delete", "night"), "sweep night is deleted\n"; got != want {
			t.Errorf("delete: got %q, want %q", got, want)
		}
	}
	if after := sessions(); strings.Contains(after, "night.") {
		t.Errorf("sessions after delete: got\n%s\nwant none of the sweep", after)
	}
	if states := statesOf(t, services); len(states) != 0 {
		t.Errorf("sweeps after delete: got %v, want none", states)
	}
}

// TestLongControlOfRunInOneProcess pauses, changes and continues a run in one process from another
// one.
func TestLongControlOfRunInOneProcess(t *testing.T) {
	t.Parallel()
	server := startCountingServer(t)
	out := filepath.Join(t.TempDir(), "out")
	server.set(halfPlayed)
	run := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), playing(server, out)...)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	c := controller{t, []string{"--out", out}}
	eventually(t, "the model is asked", func() bool { return server.asked.Load() > 8 })
	c.do("pause")
	server.set(unlimited)
	eventually(t, "nothing runs", func() bool { return c.show().Running == 0 })
	quiet(t, server, time.Second)
	c.do("set", "--parallel", "8")
	if detail := c.show("night"); detail.State != "paused" || detail.Parallel != 8 {
		t.Errorf("the paused run: got %+v, want it paused with 8 at once", detail)
	}
	c.do("resume")
	if err := run.Wait(); err != nil {
		t.Errorf("the run: got %v, want nil", err)
	}
	if got := exitCodeOf(t, "sweep", "show", "--out", out); got != 2 {
		t.Errorf("exit code of show after the end: got %d, want 2", got)
	}
}
