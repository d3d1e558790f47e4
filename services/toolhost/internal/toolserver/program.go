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
	// stopTimeout is the time for a program to exit after its input is closed, before it is killed.
	stopTimeout = 2 * time.Second
	// maxStderr is the kept length of a program's standard error in bytes.
	maxStderr = 512
)

// program is a started server. Write writes to its standard input.
type program struct {
	io.Writer

	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout io.ReadCloser
	stderr tail
	// secrets are redacted from errors.
	secrets  secrets
	once     sync.Once
	closeErr error
}

// startProgram starts a server. The caller closes it.
func startProgram(target Target) (*program, error) {
	environment, own, err := target.environment()
	if err != nil {
		return nil, fmt.Errorf("%w: start %s: %w", ErrProtocol, target.Command[0], err)
	}
	// The program gets time to exit, so ctx does not kill it.
	cmd := exec.Command(target.Command[0], target.Command[1:]...) //nolint:noctx // Close stops it
	cmd.Dir, cmd.WaitDelay = target.Dir, stopTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // kill includes child processes
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
		return nil, fmt.Errorf("%w: start %s: %w: install it", ErrProtocol, p.name, err)
	}
	return p, nil
}

// Close closes the program's input and kills its process group after stopTimeout. It may be called
// more than once. The exit status is not an error.
func (p *program) Close() error {
	p.once.Do(func() {
		if err := p.stdin.Close(); !errors.Is(err, os.ErrClosed) {
			p.closeErr = err
		}
		kill := time.AfterFunc(stopTimeout, p.kill)
		var exit *exec.ExitError
		if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
			p.closeErr = errors.Join(p.closeErr, err)
		}
		kill.Stop()
		p.kill()
	})
	return p.closeErr
}

// abort kills the program at once, so that reads and writes return. The caller still calls Close.
func (p *program) abort() {
	if p != nil {
		_ = p.stdin.Close() // it may be closed already
		p.kill()
	}
}

// kill kills the program's process group. An error means that it has exited.
func (p *program) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// explain adds the last line of the program's standard error to an error and redacts secrets. It
// closes a program that has ended, because its last line may arrive after the end of its output.
func (p *program) explain(err error) error {
	if p == nil {
		return err
	}
	text := err.Error()
	if syntaxErr, ok := errors.AsType[*json.SyntaxError](err); ok {
		text = fmt.Sprintf("what it writes to its standard output is no JSON-RPC: %v", syntaxErr)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, syscall.EPIPE) {
		text = "it ended, or closed its standard input or output, without an answer"
		_ = p.Close() // the caller reports that the program has ended
	}
	if line := p.stderr.lastLine(); line != "" {
		text += fmt.Sprintf(": %s says: %s", p.name, line)
	}
	return errors.New(p.secrets.redact(text))
}

// tail is a writer that keeps the last maxStderr bytes.
type tail struct {
	mu     sync.Mutex
	buffer []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buffer = append(t.buffer, p...)
	if extra := len(t.buffer) - maxStderr; extra > 0 {
		t.buffer = bytes.Clone(t.buffer[extra:])
	}
	return len(p), nil
}

// lastLine returns the last line that is not blank.
func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.buffer), "\uFFFD"))
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
