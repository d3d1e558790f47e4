package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// maxAgentLines is the maximum number of lines of an agent, without blank lines, imports and
// boilerplate.
const maxAgentLines = 15

// TestReadmeTable compares the README's table with the output of its first command.
func TestReadmeTable(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(readme), "```text\n category")
	table, _, _ = strings.Cut(table, "```")
	var printed strings.Builder
	for line := range strings.Lines(toolsandbox(t, "run", "--agent", "oracle", "--out", filepath.Join(t.TempDir(), "out"))) {
		printed.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if !found || !strings.Contains(printed.String(), " category"+table) {
		t.Errorf("README.md: the table is not part of\n%s", printed.String())
	}
}

// TestLongReadmeAgents runs the README's agents of each language with the real services.
func TestLongReadmeAgents(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		file    string
		command func(t *testing.T, file string) *exec.Cmd
		answer  string
	}{
		"go":     {"main.go", goAgent, "I have read: "},
		"python": {"main.py", pythonAgent, "I have read: None"},
	}
	for language, test := range tests {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			source := block(t, string(readme), language)
			if lines := agentLines(source); lines > maxAgentLines {
				t.Errorf("the agent has %d lines, want at most %d", lines, maxAgentLines)
			}
			address := porttest.Address(t)
			file := filepath.Join(t.TempDir(), test.file)
			if err := os.WriteFile(file, []byte(strings.Replace(source, "localhost:9000", address, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			runAgent(t, test.command(t, file), address)
			out := filepath.Join(t.TempDir(), "out")
			toolsandbox(t, "run", "--agent", "grpc://"+address, "--out", out, "turn_off_wifi")
			conversation, err := os.ReadFile(filepath.Join(out, "trajectories", "turn_off_wifi", "conversation.json"))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(conversation, []byte(test.answer)) {
				t.Errorf("conversation: got\n%s\nwant %q in it", conversation, test.answer)
			}
		})
	}
}

// TestLongPageAgents runs the agents of docs/agents.md: one writes code, one has its own loop.
func TestLongPageAgents(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range []string{"An agent that writes code", "Frameworks that own their loop"} {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			_, text, _ := strings.Cut(string(page), "\n## "+section+"\n")
			source := block(t, text, "python")
			if lines := agentLines(source); lines > maxAgentLines {
				t.Errorf("the agent has %d lines, want at most %d", lines, maxAgentLines)
			}
			address := porttest.Address(t)
			file := filepath.Join(t.TempDir(), "main.py")
			if err := os.WriteFile(file, []byte(strings.Replace(source, "localhost:9000", address, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			runAgent(t, pythonAgent(t, file), address)
			out := filepath.Join(t.TempDir(), "out")
			printed := toolsandbox(t, "run", "--agent", "grpc://"+address, "--out", out, "turn_off_wifi")
			if !strings.Contains(strings.ReplaceAll(printed, "  ", ""), "2/2") {
				t.Errorf("table: got\n%s\nwant both milestones of turn_off_wifi reached", printed)
			}
			conversation, err := os.ReadFile(filepath.Join(out, "trajectories", "turn_off_wifi", "conversation.json"))
			if err != nil || !bytes.Contains(conversation, []byte("Wifi is off now.")) {
				t.Errorf("conversation: got %v and\n%s\nwant that wifi is off", err, conversation)
			}
		})
	}
}

// TestPageUser runs the user of docs/roles.md with an agent of the other SDK, and replays the run.
func TestPageUser(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "roles.md"))
	if err != nil {
		t.Fatal(err)
	}
	user, agentAddress := porttest.Address(t), porttest.Address(t)
	file := filepath.Join(t.TempDir(), "impatient.py")
	if err := os.WriteFile(file, []byte(strings.Replace(block(t, string(page), "python"), "localhost:9000", user, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	runAgent(t, pythonAgent(t, file), user)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- agent.Serve(ctx, agentAddress, agent.Func(switchWifiOff)) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	out, again := filepath.Join(dir, "out"), filepath.Join(dir, "again")
	printed := toolsandbox(t, "run", "--user", "grpc://"+user, "--agent", "grpc://"+agentAddress, "--out", out, "turn_off_wifi")
	if !strings.Contains(strings.ReplaceAll(printed, "  ", ""), "2/2") {
		t.Errorf("table: got\n%s\nwant both milestones of turn_off_wifi reached", printed)
	}
	conversation, err := os.ReadFile(filepath.Join(out, "trajectories", "turn_off_wifi", "conversation.json"))
	if err != nil || !bytes.Contains(conversation, []byte("Thanks!")) {
		t.Errorf("conversation: got %v and\n%s\nwant a user that thanks", err, conversation)
	}
	toolsandbox(t, "run", "--replay", out, "--out", again)
	replayed, err := os.ReadFile(filepath.Join(again, "trajectories", "turn_off_wifi", "conversation.json"))
	if err != nil || !bytes.Equal(conversation, replayed) {
		t.Errorf("replay: got %v and\n%s\nwant\n%s", err, replayed, conversation)
	}
}

// TestLongAttachedAgents runs agents in each language that attach themselves to a gateway that
// starts later.
func TestLongAttachedAgents(t *testing.T) { //nolint:tparallel // its subtests share an address
	t.Parallel()
	address := porttest.Address(t)
	t.Run("go", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		attached := make(chan error, 1)
		go func() {
			attached <- agent.Attach(ctx, address, "mine", agent.Func(switchWifiOff), grpc.WithTransportCredentials(insecure.NewCredentials()))
		}()
		playAttached(t, address)
		stop()
		if err := <-attached; err != nil {
			t.Error(err)
		}
	})
	t.Run("python", func(t *testing.T) {
		cmd := pythonAgent(t, filepath.Join("..", "sdk", "python", "examples", "attach.py"))
		cmd.Args = append(cmd.Args, address)
		startAgent(t, cmd)
		playAttached(t, address)
	})
}

func playAttached(t *testing.T, address string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	printed := toolsandbox(t, "run", "--agent", "attached:mine", "--attach-listen", address, "--out", out, "turn_off_wifi")
	if !strings.Contains(strings.ReplaceAll(printed, "  ", ""), "2/2") {
		t.Errorf("table: got\n%s\nwant both milestones of turn_off_wifi reached", printed)
	}
}

// block returns the first fenced block of a language.
func block(t *testing.T, document, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(document, "```"+language+"\n")
	source, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("README has no block of %s", language)
	}
	return source
}

// agentLines counts lines of code after the imports.
func agentLines(source string) int {
	lines, imports := 0, false
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "import ("):
			imports = true
		case imports:
			imports = line != ")"
		case line == "", strings.HasPrefix(line, "package "), strings.HasPrefix(line, "import "), strings.HasPrefix(line, "from "):
		default:
			lines++
		}
	}
	return lines
}

func goAgent(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	program := filepath.Join(t.TempDir(), "agent")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, file)
	build.Dir = filepath.Join("..", "sdk", "go")
	if printed, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	return exec.CommandContext(t.Context(), program)
}

func pythonAgent(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	return pythonIn(t, "venv", file)
}

// pythonIn runs a file with the SDK in one of the virtual environments that make installs.
func pythonIn(t *testing.T, environment, file string) *exec.Cmd {
	t.Helper()
	python, err := filepath.Abs(filepath.Join("..", ".bin", environment, "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("%v: `make test-long` installs it", err)
	}
	source, err := filepath.Abs(filepath.Join("..", "sdk", "python", "src"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, file)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+source)
	return cmd
}

// startAgent starts the program and ends it with the test.
func startAgent(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		_ = cmd.Wait() // ended by a signal
		if t.Failed() {
			t.Logf("the agent printed:\n%s", printed.String())
		}
	})
}

// runAgent starts the program and waits until it serves.
func runAgent(t *testing.T, cmd *exec.Cmd, address string) {
	t.Helper()
	startAgent(t, cmd)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if _, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Fatalf("the agent does not serve: %v", err)
	}
}
