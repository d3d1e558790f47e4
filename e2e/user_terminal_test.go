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

// person is somebody at the terminal of a run.
type person struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stdout *bufio.Reader
	seen   strings.Builder
}

// sit starts a run that a person plays.
func sit(t *testing.T, args ...string) *person {
	t.Helper()
	p := &person{cmd: exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)}
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

// await reads until a text was shown.
func (p *person) await(t *testing.T, want string) {
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

// saw reads until a text was shown, now or before.
func (p *person) saw(t *testing.T, want string) {
	t.Helper()
	if !strings.Contains(p.seen.String(), want) {
		p.await(t, want)
	}
}

// enter writes lines.
func (p *person) enter(t *testing.T, lines ...string) {
	t.Helper()
	if _, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Fatalf("enter %q: %v after\n%s", lines, err, p.seen.String())
	}
}

// leave reads to the end and returns how the run ended and everything that was shown.
func (p *person) leave(t *testing.T) (code int, shown string) {
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

// TestPersonResumes interrupts a run that a person plays, in each way in which one can, and goes on
// with it: the person answers what is left.
func TestPersonResumes(t *testing.T) {
	stops := map[string]func(t *testing.T, p *person){
		"interrupt": func(t *testing.T, p *person) {
			t.Helper()
			if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		},
		"kill": func(t *testing.T, p *person) {
			t.Helper()
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		},
		"end of input": func(t *testing.T, p *person) {
			t.Helper()
			if err := p.in.Close(); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			flags := []string{"run", "--agent", "cli", "--user", "cli", "--parallel", "1", "--out", out, "turn_off_wifi", "which_mateo"}
			p := sit(t, flags...)
			p.await(t, "Turn the wifi off")
			p.await(t, "> ")
			p.enter(t, "call set_wifi", "off", "", "Wifi is now off.")
			p.await(t, "you are the user")
			p.await(t, "> ")
			p.enter(t, "end")
			p.await(t, "Remove Mateo")
			p.await(t, "> ")
			p.saw(t, "1/2 rollouts") // it is scored while the next one begins
			stop(t, p)
			if code, shown := p.leave(t); code == 0 || name != "kill" && !strings.Contains(shown, "interrupted with 1 of 2 rollouts done: continue with --out") {
				t.Fatalf("stopped: got code %d and\n%s\nwant another and how to go on", code, shown)
			}
			p = sit(t, append(flags, "--resume")...)
			p.await(t, "Remove Mateo")
			p.await(t, "> ")
			p.enter(t, "I found nobody.")
			p.await(t, "you are the user")
			p.await(t, "> ")
			p.enter(t, "end")
			code, shown := p.leave(t)
			if code != 0 || strings.Contains(shown, "Turn the wifi off") || !strings.Contains(strings.ReplaceAll(shown, " ", ""), "turn_off_wifi1.000") {
				t.Errorf("resumed: got code %d and\n%s\nwant 0, and turn_off_wifi with its score from before", code, shown)
			}
		})
	}
}
