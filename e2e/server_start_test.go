package e2e_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cartPack is a pack with an MCP server that keeps a cart for each session.
var cartPack = filepath.Join("testdata", "pack", "cart")

// TestServerStartedOnce counts how often commands that load a pack start its program.
func TestServerStartedOnce(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	scenarios, err := os.ReadFile(filepath.Join(cartPack, "cart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pack := writeServedPack(t, map[string]string{
		"pack.yaml": "name: cart\ntools: [{mcp: cart, command: [sh, -c, 'echo started >> ADDRESS; exec mcpserver cart']}]", "cart.yaml": string(scenarios),
	}, starts)
	for _, args := range [][]string{
		{"pack", "validate", pack}, {"pack", "show", pack}, {"pack", "docs", pack}, {"pack", "freeze", pack},
		{"scenario", "list", "--pack", pack}, {"scenario", "list", "--counts", "--pack", pack}, {"scenario", "validate", "--pack", pack},
		{"scenario", "show", "--pack", pack, "cups_and_tea"}, {"scenario", "graph", "--pack", pack, "cups_and_tea"},
	} {
		what := strings.Join(args[:2], " ")
		printed, err := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", what, err, printed)
		}
		if told := strings.Count(string(printed), "pack.yaml:2:9: starts sh to ask cart for its tools"); told != 1 {
			t.Errorf("%s: told %d times that it starts a program, want once:\n%s", what, told, printed)
		}
		started, err := os.ReadFile(starts)
		if string(started) != "started\n" {
			t.Errorf("%s: got %q and %v, want one start", what, started, err)
		}
		if err := os.RemoveAll(starts); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(pack, "tools")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServerInterrupted interrupts commands during the start of a program that never answers and
// ignores requests to terminate. The program and its child must end.
func TestServerInterrupted(t *testing.T) {
	scenarios, err := os.ReadFile(filepath.Join(cartPack, "cart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"show": {"pack", "show"}, "validate": {"scenario", "validate", "--pack"}, "run": {"run", "--agent", "oracle", "--out", filepath.Join(t.TempDir(), "out"), "--pack"},
	} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			pack := writeServedPack(t, map[string]string{"pack.yaml": "name: cart\ntools: [{mcp: cart, command: [mcpserver, stubborn, ADDRESS]}]", "cart.yaml": string(scenarios)}, fifo)
			file, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			writer, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0) // until the program has opened it
			if err != nil {
				t.Fatal(err)
			}
			printed := &bytes.Buffer{}
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append(args, pack)...)
			cmd.Stdout, cmd.Stderr = printed, printed
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := file.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(file)
			if line, err := lines.ReadString('\n'); line != "ready\n" {
				t.Errorf("start: got %q and %v, want ready", line, err)
			}
			if err := writer.Close(); err != nil {
				t.Error(err)
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil || !strings.Contains(printed.String(), "interrupt signal received") {
				t.Errorf("got %v, want an error that says that it was interrupted:\n%s", err, printed)
			}
			if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
				t.Errorf("end of its program: got %q and %v, want the end", rest, err)
			}
		})
	}
}
