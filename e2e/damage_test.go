package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

var (
	chaosTime = flag.Duration("chaos.time", 30*time.Second, "how long TestLongDamagedStores and TestLongChaos go on, side by side")
	chaosSeed = flag.Uint64("chaos.seed", 1, "seed of their choices")
)

const (
	// maxResumptions is the maximum number of resumptions of a damaged run. One reports the damage,
	// and one runs the damaged rollouts again. A round that starts with a partly lost document may
	// need one more.
	maxResumptions = 4
	// maxForged bounds the rollouts with forged results.
	maxForged = 10
	// resumeTimeout is the timeout of one resumption on a busy machine.
	resumeTimeout = 3 * time.Minute
)

// chaosFlags are the flags of damaged runs. Their scenarios write to every table.
var chaosFlags = []string{
	"run", "--parallel", "8", "a*", "b*", "c*",
}

// stores are the directories of an installation's streams and sessions.
type stores struct{ streams, sessions string }

// storesOf returns the stores of a run in one process.
func storesOf(out string) stores {
	data := filepath.Join(out, ".toolsandbox")
	return stores{streams: filepath.Join(data, "nats"), sessions: filepath.Join(data, "toolhost")}
}

// damage is one change of stored data while no process uses it.
type damage struct {
	name string
	do   func(random *rand.Rand, at stores) error
}

// damages returns the damages of every store. A stream has block files with messages and index
// files.
func damages() []damage {
	all := []damage{
		{"nothing", func(*rand.Rand, stores) error { return nil }},
		{"tool host lost", func(_ *rand.Rand, at stores) error { return os.RemoveAll(at.sessions) }},
		{"results forged", func(random *rand.Rand, at stores) error {
			return withStreams(at.streams, func(js jetstream.JetStream) error {
				_, err := forge(context.Background(), js, 1+random.IntN(maxForged))
				return err
			})
		}},
		{"clock gone back", func(_ *rand.Rand, at stores) error {
			return withStreams(at.streams, func(js jetstream.JetStream) error {
				return holdJobs(context.Background(), js, time.Second)
			})
		}},
	}
	for _, stream := range []string{"BUS_*", "BUS_1", "SNAPSHOT_*", "SNAPSHOT_2", "RESULT", "SETUP", "EVALUATION", "SWEEP", "JOBS", "RECORDING"} {
		all = append(all,
			damage{stream + " lost", func(_ *rand.Rand, at stores) error { return removeAll(filepath.Dir(blocksOf(at, stream))) }},
			damage{stream + " without its tail", func(random *rand.Rand, at stores) error {
				return change(blocksOf(at, stream), truncate(random))
			}},
			damage{stream + " with flipped bits", func(random *rand.Rand, at stores) error {
				return change(blocksOf(at, stream), flipBits(random))
			}},
		)
	}
	return all
}

// blocksOf returns the pattern of the block directories of streams.
func blocksOf(at stores, streams string) string {
	return filepath.Join(at.streams, "jetstream", "[$]G", "streams", streams, "msgs")
}

// truncate removes the tail of a file.
func truncate(random *rand.Rand) func([]byte) []byte {
	return func(raw []byte) []byte { return raw[:random.IntN(len(raw)+1)] }
}

// flipBits flips three bits of a file.
func flipBits(random *rand.Rand) func([]byte) []byte {
	return func(raw []byte) []byte {
		for range 3 {
			if len(raw) > 0 {
				raw[random.IntN(len(raw))] ^= 1 << random.IntN(8)
			}
		}
		return raw
	}
}

// removeAll removes the directories of streams, if there are any.
func removeAll(pattern string) error {
	dirs, err := filepath.Glob(pattern)
	for _, dir := range dirs {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// change rewrites the blocks of streams, if there are any.
func change(pattern string, how func([]byte) []byte) error {
	return rewrite(filepath.Join(pattern, "*.blk"), how)
}

// rewrite changes files, if there are any.
func rewrite(pattern string, how func([]byte) []byte) error {
	files, err := filepath.Glob(pattern)
	for _, file := range files {
		raw, readErr := os.ReadFile(file)
		err = errors.Join(err, readErr, os.WriteFile(file, how(raw), 0o600))
	}
	return err
}

// TestLongDamagedStores kills runs, damages their stores and resumes them, for -chaos.time. No file
// is ever wrong, and the final files equal those of an undisturbed run. The agent is a plug-in, so
// its replies are recorded.
func TestLongDamagedStores(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*chaosSeed, 0))
	plug := serveAgent(t, func(_ context.Context, c *agent.Conversation) (agent.Reply, error) { return answerByTurn(c), nil })
	dir := t.TempDir()
	baseline := filepath.Join(dir, "calm")
	oracle, plugged := append(slices.Clone(chaosFlags), "--agent", "oracle"), append(slices.Clone(chaosFlags), "--agent", plug)
	runs := map[string][]string{baseline + ".oracle": oracle, baseline + ".plugged": plugged}
	for out, flags := range runs {
		toolsandbox(t, append(flags, "--out", out)...)
	}
	all := damages()
	start := time.Now()
	for n := 0; time.Since(start) < *chaosTime; n++ {
		out, kind := filepath.Join(dir, fmt.Sprint("run", n)), []string{"oracle", "plugged"}[n%2]
		flags := append(slices.Clone(runs[baseline+"."+kind]), "--out", out)
		kill := random.IntN(40) // progress lines before the kill; none if there are fewer
		killAt(t, kill, flags...)
		chosen := []damage{all[random.IntN(len(all))], all[random.IntN(len(all))]}
		what := fmt.Sprintf("run %d of seed %d, %s, killed at %d: %s, %s", n, *chaosSeed, kind, kill, chosen[0].name, chosen[1].name)
		for _, damage := range chosen {
			if err := damage.do(random, storesOf(out)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("%s: %v", what, err)
			}
		}
		resume(t, what, baseline+"."+kind, out, append(flags, "--resume")...)
		changeSummary(t, random, out)
		if t.Failed() {
			return
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
}

// changeSummary changes a digit of a run's summary. The commands that read it name it, and give no
// scores.
func changeSummary(t *testing.T, random *rand.Rand, out string) {
	t.Helper()
	file := filepath.Join(out, "result_summary.json")
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) { // killed before the start
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var digits []int
	for i, c := range raw {
		if '0' <= c && c <= '9' {
			digits = append(digits, i)
		}
	}
	at := digits[random.IntN(len(digits))]
	raw[at] = '0' + (raw[at]-'0'+1)%10
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, file+" is damaged: not as the run wrote it", "compare", out, out)
	wantFailure(t, file+" is damaged: not as the run wrote it", "score", out)
}

// TestResumeWithoutResults loses the results and the recorded replies of a finished run. Resuming
// it names its rollouts and asks nobody; resuming it again plays them.
func TestResumeWithoutResults(t *testing.T) {
	t.Parallel()
	var turns atomic.Int32
	plug := serveAgent(t, func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
		turns.Add(1)
		return answerByTurn(c), nil
	})
	dir := t.TempDir()
	baseline, out := filepath.Join(dir, "calm"), filepath.Join(dir, "out")
	flags := []string{"run", "--agent", plug, "turn_off_wifi", "turn_off_bluetooth"}
	toolsandbox(t, append(flags, "--out", baseline)...)
	toolsandbox(t, append(flags, "--out", out)...)
	for _, stream := range []string{"RESULT", "BUS_*", "RECORDING"} {
		err := change(blocksOf(storesOf(out), stream), func(raw []byte) []byte { return bytes.Repeat([]byte{0xa5}, len(raw)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	asked := turns.Load()
	again := slices.Concat(flags, []string{"--out", out, "--resume"})
	wantFailure(t, "damaged: turn_off_wifi: rollout ", again...)
	if got := turns.Load(); got != asked {
		t.Errorf("turns of the first resumption: got %d, want none", got-asked)
	}
	equalRuns(t, baseline, out)
	toolsandbox(t, again...)
	if got := turns.Load(); got == asked {
		t.Error("turns of the second resumption: got none, want some")
	}
	equalRuns(t, baseline, out)
}

// TestResumeKilledWithoutResults is the same for a run that was killed before its first end, which
// has only its trajectories.
func TestResumeKilledWithoutResults(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	plug, turns := rationed(t)
	flags := []string{"run", "--agent", plug, "--parallel", "2", "--out", out}
	turns.set(240) // of 362
	killAt(t, 10, flags...)
	turns.set(unlimited)
	for _, stream := range []string{"RESULT", "BUS_*"} {
		err := change(blocksOf(storesOf(out), stream), func(raw []byte) []byte { return bytes.Repeat([]byte{0xa5}, len(raw)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	again := slices.Concat(flags, []string{"--resume"})
	wantFailure(t, "stream RESULT holds no readable result", again...)
	toolsandbox(t, again...)
}

// answerByTurn is an agent that calls a tool and then sends a text, depending only on the
// conversation.
func answerByTurn(c *agent.Conversation) agent.Reply {
	switch c.Turn {
	case 0:
		return agent.Call("set_wifi_status", map[string]any{"on": false})
	case 1:
		return agent.Call("add_contact", map[string]any{"name": "Ada", "phone_number": "+14155550132"})
	}
	return agent.Say("I have read: " + c.Last().Text)
}

// killAt runs the command line and kills it at a progress line, unless the run ends before.
func killAt(t *testing.T, progress int, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if progress--; progress == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // an error if it was killed
}

// resume resumes a run until it exits with 0. After each resumption the existing files equal those
// of the undisturbed run.
func resume(t *testing.T, what, baseline, out string, args ...string) {
	t.Helper()
	var printed bytes.Buffer
	for range maxResumptions {
		printed.Reset()
		ctx, cancel := context.WithTimeout(t.Context(), resumeTimeout)
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "toolsandbox"), args...)
		cmd.Stderr = &printed
		err := cmd.Run()
		late := ctx.Err() != nil
		cancel()
		wrong := wrongFiles(t, baseline, out)
		if len(wrong) > 0 {
			t.Errorf("%s: got %v and wrong files %v\n%s", what, err, wrong, printed.String())
			return
		}
		var exit *exec.ExitError
		switch {
		case err == nil:
			equalRuns(t, baseline, out)
			return
		case !errors.As(err, &exit) || exit.ExitCode() != 1 || late:
			t.Errorf("%s: got %v, want exit code 0 or 1\n%s", what, err, printed.String())
			return
		}
	}
	t.Errorf("%s: not whole after %d resumptions\n%s", what, maxResumptions, printed.String())
}

// wrongFiles returns the trajectory files that differ from the undisturbed run. Missing files are
// not wrong.
func wrongFiles(t *testing.T, baseline, out string) (wrong []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(out, "trajectories"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") { // the prefix is that of partly written files
			return err
		}
		name, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if want, err := os.ReadFile(filepath.Join(baseline, name)); err != nil || !bytes.Equal(want, got) {
			wrong = append(wrong, name)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return wrong
}
