package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

var chaosPass = flag.Int("chaos.pass", 0, "the first pass of TestLongChaos; each depends on the seed and its number alone")

const (
	// faultsPerPass is the number of consecutive faults during a run.
	faultsPerPass = 3
	// runTimeout is the timeout of a run after its last fault.
	runTimeout = 150 * time.Second
)

// turnQuota limits the turns of an agent and counts requests by conversation and turn.
type turnQuota struct {
	quota
	mu   sync.Mutex
	sold map[turn]int
}

type turn struct {
	conversation string
	number       int
}

func (s *turnQuota) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sold = make(map[turn]int)
}

func (s *turnQuota) act(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
	if !s.pass(ctx) {
		return agent.Reply{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sold[turn{c.ID, c.Turn}]++
	return answerByTurn(c), nil
}

// repeatedTurns returns the turns that were requested more than once.
func (s *turnQuota) repeatedTurns() (turns []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, turn := range slices.SortedFunc(maps.Keys(s.sold), func(a, b turn) int { return strings.Compare(a.conversation, b.conversation) }) {
		if n := s.sold[turn]; n > 1 {
			turns = append(turns, fmt.Sprintf("turn %d of %s: %d times", turn.number, turn.conversation, n))
		}
	}
	return turns
}

// misbehavingAgent answers invalidly, too much, late or not at all, depending only on the
// conversation.
func misbehavingAgent(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.Messages[0].Text + c.Last().Text))
	switch (h.Sum32() + uint32(c.Turn)) % 6 {
	case 0:
		return agent.Call("no_such_tool", map[string]any{"x": []int{1}}), nil
	case 1:
		return agent.Calls(agent.ToolCall{Name: "set_wifi_status", Arguments: []byte(`{"on": `)}), nil
	case 2:
		return agent.Say(strings.Repeat("x", 600<<10)), nil
	case 3:
		return agent.Reply{}, errors.New("I have had enough")
	case 4:
		timer := time.NewTimer(300 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return agent.Say("\x00\ufffe " + c.Last().Text), nil
}

// TestLongChaos runs a plug-in agent and a misbehaving agent over four services and NATS, with
// random faults for -chaos.time. All final files equal those of undisturbed runs. Data that the
// faults cannot lose is complete without --resume, and paid once.
func TestLongChaos(t *testing.T) {
	t.Parallel()
	good := &turnQuota{}
	good.open()
	good.set(unlimited)
	baseline := filepath.Join(t.TempDir(), "calm")
	runs := map[string][]string{}
	for name, act := range map[string]agent.Func{"good": good.act, "hostile": misbehavingAgent} {
		runs[name] = append(slices.Clone(chaosFlags), "--sweep-id", name, "--agent", serveAgent(t, act), "--out")
		toolsandbox(t, append(slices.Clone(runs[name]), filepath.Join(baseline, name))...)
	}
	start := time.Now()
	for n := *chaosPass; time.Since(start) < *chaosTime && !t.Failed(); n++ {
		p := &pass{number: n, random: rand.New(rand.NewPCG(*chaosSeed, uint64(n))), calm: baseline, dir: t.TempDir(), good: good}
		p.choose()
		p.play(t, runs)
		if err := os.RemoveAll(p.dir); err != nil {
			t.Fatal(err)
		}
	}
}

// pass is one run of each agent with its faults.
type pass struct {
	number   int
	random   *rand.Rand
	faults   []fault
	calm     string // the directory of the calm runs
	dir      string
	services *cluster.Cluster
	good     *turnQuota
}

// choose selects the faults: the next ones of an endless shuffled list, so that each occurs soon,
// and a random one or the damage of one store.
func (p *pass) choose() {
	all := faults()
	for place := p.number * (faultsPerPass - 1); len(p.faults) < faultsPerPass-1; place++ {
		order := rand.New(rand.NewPCG(*chaosSeed, ^uint64(place/len(all)))).Perm(len(all))
		p.faults = append(p.faults, all[order[place%len(all)]])
	}
	one := all[p.random.IntN(len(all))]
	if p.number%2 == 1 {
		one = storeDamage(p.random.Int())
	}
	p.faults = append(p.faults, one)
	p.random.Shuffle(len(p.faults), func(i, j int) { p.faults[i], p.faults[j] = p.faults[j], p.faults[i] })
}

func (p *pass) any(is func(fault) bool) bool { return slices.ContainsFunc(p.faults, is) }

// String names the faults.
func (p *pass) String() string {
	var names []string
	for _, fault := range p.faults {
		names = append(names, fault.name)
	}
	return fmt.Sprintf("pass %d of seed %d: %s", p.number, *chaosSeed, strings.Join(names, ", "))
}

// play runs both agents, injects the faults and checks the files.
func (p *pass) play(t *testing.T, runs map[string][]string) {
	t.Helper()
	start := time.Now()
	services, err := cluster.Start(t.Context(), cluster.Config{Bin: bin, Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	p.services = services
	defer func() {
		if err := services.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s: do it again with: go test ./e2e -run '^TestLongChaos$' -chaos.seed=%d -chaos.pass=%d -chaos.time=1s\n%s", p, *chaosSeed, p.number, p.logs())
		}
	}()
	p.good.open()
	p.good.set(0)
	playing := make(map[string]*backgroundRun)
	for name, flags := range runs {
		out := filepath.Join(p.dir, name)
		run := startBackground(t, out, append(append(slices.Clone(flags), out), services.ClientArgs()...))
		defer run.stop()
		playing[name] = run
	}
	p.injectFaults(t, playing["good"])
	p.good.set(unlimited)
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		p.finish(t, filepath.Join(p.calm, name), playing[name])
	}
	if turns := p.good.repeatedTurns(); len(turns) > 0 && !p.any(repays) {
		t.Errorf("paid more than once: %v", turns)
	}
	t.Logf("%s: %s", p, time.Since(start))
}

// injectFaults injects the faults from the first turn on, while the quota keeps the run from
// ending.
func (p *pass) injectFaults(t *testing.T, run *backgroundRun) {
	t.Helper()
	for p.good.set(1); p.good.rest() > 0 && !run.over(); {
		pause(20 * time.Millisecond)
	}
	for _, fault := range p.faults {
		p.good.set(4 + p.random.IntN(30))
		pause(time.Duration(100+p.random.IntN(500)) * time.Millisecond)
		if err := fault.do(t.Context(), p.random, p.services); err != nil {
			t.Fatalf("%s: %v", fault.name, err)
		}
		if run.over() && !p.any(loses) {
			t.Fatalf("the run ended before the last fault: %v\n%s", run.err, run.printed.String())
		}
	}
}

// backgroundRun is a running command line.
type backgroundRun struct {
	args    []string
	out     string
	printed bytes.Buffer
	done    chan struct{} // closed when it has ended
	err     error         // result of the run; read it after done
	cancel  context.CancelFunc
}

func startBackground(t *testing.T, out string, args []string) *backgroundRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	b := &backgroundRun{args: args, out: out, done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(b.done)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "toolsandbox"), args...)
		cmd.Stderr = &b.printed
		b.err = errors.Join(cmd.Run(), ctx.Err())
	}()
	return b
}

// stop kills it, unless it has ended.
func (b *backgroundRun) stop() {
	b.cancel()
	<-b.done
}

func (b *backgroundRun) over() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// finish waits for the end of a run and compares its files with the undisturbed run, after --resume
// if needed.
func (p *pass) finish(t *testing.T, baseline string, run *backgroundRun) {
	t.Helper()
	p.watch(t, run)
	if run.err == nil {
		equalRuns(t, baseline, run.out)
		return
	}
	output := run.printed.String()
	if !p.any(loses) || !strings.Contains(output, "--resume") {
		t.Fatalf("toolsandbox %s: %v\n%s", strings.Join(run.args, " "), run.err, output)
	}
	if strings.Contains(output, "--resume plays") {
		wantNamed(t, baseline, run)
	} // otherwise it stopped following its rollouts
	resume(t, p.String(), baseline, run.out, append(run.args, "--resume")...)
}

// watch waits for the end of a run. Meanwhile no service may end, except a tool host that finds
// damage.
func (p *pass) watch(t *testing.T, run *backgroundRun) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-run.done:
			return
		case <-ticker.C:
		}
		for _, name := range append(cluster.Services(), cluster.NATS) {
			if !p.services.Ended(name) {
				continue
			}
			err := errors.New("it ended by itself")
			if name == cluster.ToolHost {
				err = restartDamaged(t.Context(), p.services)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// wantNamed checks an incomplete run: it has a result for each rollout, and rollouts whose files
// differ from the undisturbed run have no score.
func wantNamed(t *testing.T, baseline string, run *backgroundRun) {
	t.Helper()
	want, got := readSummary(t, baseline), readSummary(t, run.out)
	if len(got.Scenarios) != len(want.Scenarios) {
		t.Errorf("results: got %d, want %d\n%s", len(got.Scenarios), len(want.Scenarios), run.printed.String())
	}
	for _, wrong := range wrongFiles(t, baseline, run.out) {
		name := filepath.Base(filepath.Dir(wrong))
		if !slices.ContainsFunc(got.Scenarios, func(s summaryScenario) bool { return s.Name == name && s.Similarity == "" }) {
			t.Errorf("%s is wrong, and has a score\n%s", wrong, run.printed.String())
		}
	}
}

// logs returns the ends of the services' logs.
func (p *pass) logs() string {
	var all strings.Builder
	for _, name := range append(cluster.Services(), cluster.NATS) {
		raw, err := os.ReadFile(p.services.Log(name))
		fmt.Fprintf(&all, "--- %s %v\n%s\n", name, err, raw[max(0, len(raw)-6000):])
	}
	return all.String()
}
