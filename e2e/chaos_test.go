package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// serveAgent serves an agent over gRPC until the test ends. Its replies are recorded.
func serveAgent(t *testing.T, act agent.Func) (flag string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- agent.ServeListener(ctx, listener, act) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "grpc://" + listener.Addr().String()
}

// remote is a command line that uses a cluster.
type remote struct {
	cmd     *exec.Cmd
	printed strings.Builder
	lines   chan string // of standard error; closed at its end
}

// startRemote starts the command line. The caller receives its lines.
func startRemote(t *testing.T, services *cluster.Cluster, args ...string) *remote {
	t.Helper()
	r := &remote{cmd: exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append(args, services.ClientArgs()...)...), lines: make(chan string)}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.lines)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			r.lines <- lines.Text()
		}
	}()
	return r
}

// next returns the next line. ok is false at the end.
func (r *remote) next() (string, bool) {
	line, ok := <-r.lines
	if ok {
		r.printed.WriteString(line + "\n")
	}
	return line, ok
}

// progress receives lines until one reports progress. It returns false at the end.
func (r *remote) progress() bool {
	for line, ok := r.next(); ok; line, ok = r.next() {
		if strings.Contains(line, "rollouts, mean score") {
			return true
		}
	}
	return false
}

// wait receives the remaining lines and returns the exit error.
func (r *remote) wait() error {
	for ok := true; ok; {
		_, ok = r.next()
	}
	return r.cmd.Wait()
}

// succeed receives the remaining lines and expects exit code 0.
func (r *remote) succeed(t *testing.T) {
	t.Helper()
	if err := r.wait(); err != nil {
		t.Fatalf("toolsandbox %s: %v\n%s", strings.Join(r.cmd.Args[1:], " "), err, r.printed.String())
	}
}

// TestLongOrchestratorKills kills the orchestrator every second while a slow plug-in agent plays a
// remote run. The command line continues, and every result exists once and equals the undisturbed
// run.
func TestLongOrchestratorKills(t *testing.T) {
	t.Parallel()
	const kills, trials = 6, 40
	services := start(t)
	var patient atomic.Bool
	var answers atomic.Int64
	enough := make(chan struct{})
	plug := serveAgent(t, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
		if patient.Load() && answers.Add(1) > trials {
			select {
			case <-enough:
			case <-ctx.Done():
			}
		}
		return switchWifiOff(ctx, c)
	})
	flags := []string{"run", "--agent", plug, "--trials", strconv.Itoa(trials), "--parallel", "2", "turn_off_wifi", "is_cellular_on", "--out"}
	baseline, disturbed := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "shaken")
	toolsandbox(t, append(flags, baseline)...)
	patient.Store(true)
	run := startRemote(t, services, append(flags, disturbed)...)
	killed := make(chan error, 1)
	go func() {
		defer close(enough)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for range kills {
			<-ticker.C
			if err := errors.Join(services.Kill(cluster.Orchestrator), services.Start(t.Context(), cluster.Orchestrator)); err != nil {
				killed <- err
				return
			}
		}
		killed <- nil
	}()
	run.succeed(t)
	select {
	case err := <-killed:
		if err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatal("the run ended before the kills did")
	}
	equalRuns(t, baseline, disturbed)
}

// rationed serves switchWifiOff, whose turns wait for the quota. It keeps a run from ending before
// what the test does to it.
func rationed(t *testing.T) (flag string, turns *quota) {
	t.Helper()
	turns = &quota{}
	turns.set(unlimited)
	return serveAgent(t, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
		if !turns.pass(ctx) {
			return agent.Reply{}, ctx.Err()
		}
		return switchWifiOff(ctx, c)
	}), turns
}

// TestLongNATSOutage stops NATS for longer than any request waits, while a plug-in agent plays a
// remote run and the evaluator has logs to score.
func TestLongNATSOutage(t *testing.T) {
	t.Parallel()
	const some = 20 // of 80 turns
	services := start(t)
	plug, turns := rationed(t)
	flags := []string{"run", "--agent", plug, "--trials", "20", "--parallel", "2", "turn_off_wifi", "is_cellular_on", "--out"}
	baseline, disturbed := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "shaken")
	toolsandbox(t, append(flags, baseline)...)
	turns.set(some)
	run := startRemote(t, services, append(flags, disturbed)...)
	if !run.progress() {
		t.Fatalf("the run ended at once\n%s", run.printed.String())
	}
	if err := services.Signal(cluster.Evaluator, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	turns.set(some)
	eventually(t, "rollouts end while the evaluator is stopped", func() bool { return turns.rest() == 0 })
	if err := errors.Join(services.Kill(cluster.NATS), services.Signal(cluster.Evaluator, syscall.SIGCONT)); err != nil {
		t.Fatal(err)
	}
	turns.set(unlimited)
	pause(33 * time.Second)
	if err := services.Start(t.Context(), cluster.NATS); err != nil {
		t.Fatal(err)
	}
	run.succeed(t)
	equalRuns(t, baseline, disturbed)
	if !strings.Contains(run.printed.String(), `msg="waiting for service" peer=orchestrator`) {
		t.Errorf("stderr: got\n%s\nwant what is waited for", run.printed.String())
	}
}

// TestClientKilled kills the command line of a remote run, which continues meanwhile, and resumes
// it.
func TestClientKilled(t *testing.T) {
	t.Parallel()
	services := start(t)
	plug, turns := rationed(t)
	flags := []string{"run", "--agent", plug, "--trials", "20", "--parallel", "2", "turn_off_wifi", "is_cellular_on", "--out"}
	baseline, broken := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "broken")
	toolsandbox(t, append(flags, baseline)...)
	turns.set(20) // of 80
	run := startRemote(t, services, append(flags, broken)...)
	for range 2 {
		if !run.progress() {
			t.Fatalf("the run ended before it could be killed\n%s", run.printed.String())
		}
	}
	if err := run.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := run.wait(); err == nil {
		t.Fatal("the killed run: got nil, want an error")
	}
	turns.set(unlimited)
	toolsandbox(t, append(append(flags, broken, "--resume"), services.ClientArgs()...)...)
	equalRuns(t, baseline, broken)
}

// pause waits during a fault.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// await reads the lines of a run, which has to go on until something is reached.
func (r *remote) await(t *testing.T, reached <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-reached:
			return
		case line, ok := <-r.lines:
			if !ok {
				t.Fatalf("the run has ended too early:\n%s", &r.printed)
			}
			r.printed.WriteString(line + "\n")
		}
	}
}
