package toolserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// stopLimit is how long a program may take to end once its input has ended, before it is killed.
	stopLimit = 2 * time.Second
	// maxComplaint is how much of what a program writes to its standard error is kept.
	maxComplaint = 512
)

// program is a server that was started here. Writing to it is its input; closing it ends it.
type program struct {
	io.Writer

	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout io.ReadCloser
	stderr tail
	// secrets are what nobody may read who reads what the program says.
	secrets secrets
	once    sync.Once
	ended   error
}

// start starts a server.
func start(target Target) (*program, error) {
	environment, own, err := target.environment()
	if err != nil {
		return nil, fmt.Errorf("%w: start %s: %w", ErrBroken, target.Command[0], err)
	}
	// No context: its end must give the program time to end by itself.
	cmd := exec.Command(target.Command[0], target.Command[1:]...) //nolint:noctx // close ends it
	cmd.Dir, cmd.WaitDelay = target.Dir, stopLimit
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it starts ends with it
	cmd.Env = environment
	p := &program{name: target.Command[0], cmd: cmd, secrets: own}
	cmd.Stderr = &p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	if p.stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	p.Writer, p.stdin = stdin, stdin
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: start %s: %w: install it", ErrBroken, p.name, err)
	}
	return p, nil
}

// Close ends the program: its input ends, and after a while it is killed, with everything that it
// started. It may be called more than once. How the program ended is no error.
func (p *program) Close() error {
	p.once.Do(func() {
		if err := p.stdin.Close(); !errors.Is(err, os.ErrClosed) {
			p.ended = err
		}
		kill := time.AfterFunc(stopLimit, p.kill)
		var exit *exec.ExitError
		if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
			p.ended = errors.Join(p.ended, err)
		}
		kill.Stop()
		p.kill()
	})
	return p.ended
}

// abort ends the program at once, so that nothing waits until it reads or writes. Close is still to
// be called.
func (p *program) abort() {
	if p != nil {
		_ = p.stdin.Close() // Close may have closed it
		p.kill()
	}
}

// kill ends all processes of the program. They have ended if that fails.
func (p *program) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// because adds the last thing that a program complained about to an error, and removes secrets.
func (p *program) because(err error) error {
	if p == nil {
		return err
	}
	text := err.Error()
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		text = fmt.Sprintf("what it writes to its standard output is no JSON-RPC: %v", wrong)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, syscall.EPIPE) {
		text = "it ended, or closed its standard input or output, without an answer"
	}
	if said := p.stderr.last(); said != "" {
		text += fmt.Sprintf(": %s says: %s", p.name, said)
	}
	return errors.New(p.secrets.redact(text))
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if extra := len(t.end) - maxComplaint; extra > 0 {
		t.end = bytes.Clone(t.end[extra:])
	}
	return len(p), nil
}

// last returns the last line that says something.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.end), "\uFFFD"))
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
