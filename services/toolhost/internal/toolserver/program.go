package toolserver

import (
	"bufio"
	"bytes"
	"cmp"
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
	stdout *messageReader
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
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	p.stdout = newMessageReader(stdout, &p.stderr)
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
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, syscall.EPIPE) {
		text = "it ended, or closed its standard input or output, without an answer"
		_ = p.Close() // the caller reports that the program has ended
	}
	if line := p.stderr.lastLine(); line != "" {
		text += fmt.Sprintf(": %s says: %s", p.name, line)
	}
	return errors.New(p.secrets.redact(text))
}

// messageReader reads the messages of a program, one a line. MCP allows nothing else on the
// standard output, but many programs also log there. Such lines go to log, as if they were written
// to the standard error.
type messageReader struct {
	io.Closer

	lines *bufio.Scanner
	log   io.Writer
	// rest is the unread part of a line.
	rest []byte
}

func newMessageReader(stdout io.ReadCloser, log io.Writer) *messageReader {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxFrame)
	return &messageReader{Closer: stdout, lines: lines, log: log}
}

// errLongLine means that a line is longer than maxFrame.
var errLongLine = fmt.Errorf("it writes a line of more than %d bytes to its standard output", maxFrame)

// Read implements io.Reader.
func (m *messageReader) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if !m.lines.Scan() {
			if errors.Is(m.lines.Err(), bufio.ErrTooLong) {
				return 0, errLongLine
			}
			return 0, cmp.Or(m.lines.Err(), io.EOF)
		}
		line := bytes.TrimSpace(bytes.TrimPrefix(m.lines.Bytes(), []byte("\uFEFF")))
		if isMessage(line) {
			m.rest = append(bytes.Clone(line), '\n')
		} else if _, err := fmt.Fprintf(m.log, "%s\n", line); err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// isMessage reports whether a line is a JSON-RPC message or a list of them, whether valid or not.
func isMessage(line []byte) bool {
	return len(line) > 0 && (line[0] == '{' || line[0] == '[') && bytes.Contains(line, []byte(`"jsonrpc"`))
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
