package e2e_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// terminalUser is a person at the terminal of a run.
type terminalUser struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stdout *bufio.Reader
	seen   strings.Builder
}

// startTerminal starts a run in which a person plays a role.
func startTerminal(t *testing.T, args ...string) *terminalUser {
	t.Helper()
	p := &terminalUser{cmd: exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(stdout)
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// readUntil reads until a text appears.
func (p *terminalUser) readUntil(t *testing.T, want string) {
	t.Helper()
	start := p.seen.Len()
	for !strings.Contains(p.seen.String()[start:], want) {
		b, err := p.stdout.ReadByte()
		if err != nil {
			t.Fatalf("got %v after\n%s\nwant %q", err, p.seen.String(), want)
		}
		p.seen.WriteByte(b)
	}
}

// sawText reads until a text appears, unless it has appeared before.
func (p *terminalUser) sawText(t *testing.T, want string) {
	t.Helper()
	if !strings.Contains(p.seen.String(), want) {
		p.readUntil(t, want)
	}
}

// enter writes lines.
func (p *terminalUser) enter(t *testing.T, lines ...string) {
	t.Helper()
	if _, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Fatalf("enter %q: %v after\n%s", lines, err, p.seen.String())
	}
}

// finish reads to the end and returns the run's error and all output.
func (p *terminalUser) finish(t *testing.T) (code int, output string) {
	t.Helper()
	if _, err := io.Copy(&p.seen, p.stdout); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode(), p.seen.String()
}

// TestPersonResumes interrupts a run of a person in each possible way and resumes it. The person
// completes the rest.
func TestPersonResumes(t *testing.T) {
	t.Parallel()
	stops := map[string]func(t *testing.T, p *terminalUser){
		"interrupt": func(t *testing.T, p *terminalUser) {
			t.Helper()
			if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		},
		"kill": func(t *testing.T, p *terminalUser) {
			t.Helper()
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		},
		"end of input": func(t *testing.T, p *terminalUser) {
			t.Helper()
			if err := p.in.Close(); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			flags := []string{"run", "--agent", "cli", "--user", "cli", "--parallel", "1", "--out", out, "turn_off_wifi", "which_mateo"}
			p := startTerminal(t, flags...)
			p.readUntil(t, "Turn the wifi off")
			p.readUntil(t, "> ")
			p.enter(t, "call set_wifi", "off", "", "Wifi is now off.")
			p.readUntil(t, "you are the user")
			p.readUntil(t, "> ")
			p.enter(t, "end")
			p.readUntil(t, "Remove Mateo")
			p.readUntil(t, "> ")
			p.sawText(t, "1/2 rollouts") // scored while the next one starts
			stop(t, p)
			if code, output := p.finish(t); code == 0 || name != "kill" && !strings.Contains(output, "interrupted with 1 of 2 rollouts done: continue with --out") {
				t.Fatalf("stopped: got code %d and\n%s\nwant another and how to go on", code, output)
			}
			p = startTerminal(t, append(flags, "--resume")...)
			p.readUntil(t, "Remove Mateo")
			p.readUntil(t, "> ")
			p.enter(t, "I found nobody.")
			p.readUntil(t, "you are the user")
			p.readUntil(t, "> ")
			p.enter(t, "end")
			code, output := p.finish(t)
			if code != 0 || strings.Contains(output, "Turn the wifi off") || !strings.Contains(strings.ReplaceAll(output, " ", ""), "turn_off_wifi1.000") {
				t.Errorf("resumed: got code %d and\n%s\nwant 0, and turn_off_wifi with its score from before", code, output)
			}
		})
	}
}
