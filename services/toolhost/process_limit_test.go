package toolhost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

const (
	// envProcess is the environment variable that makes the test binary a tool host. Its arguments are
	// the tool host's flags.
	envProcess = "TOOLHOST_TEST_PROCESS"
	// envFileSize is the environment variable for the limit of this tool host's files in bytes.
	envFileSize = "TOOLHOST_TEST_FILE_SIZE"
)

// runProcess is "toolsandbox serve toolhost" with an optional limit for files.
func runProcess() int {
	if text := os.Getenv(envFileSize); text != "" {
		size, err := strconv.ParseUint(text, 10, 64)
		if err == nil {
			signal.Ignore(syscall.SIGXFSZ) // the write fails, as on a full disk
			err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size})
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "limit file size to %s: %v\n", text, err)
			return process.ExitUsage
		}
	}
	ctx, stop := process.SignalContext(context.Background())
	defer stop()
	flags := pflag.NewFlagSet("toolhost", pflag.ContinueOnError)
	server := process.NewProcess(rpc.ToolHost, func(flags *pflag.FlagSet) process.Run {
		cfg := DefaultConfig()
		cfg.RegisterFlags(flags)
		return func(ctx context.Context, m *rpc.Node) error { return Run(ctx, cfg, m, m.Bus().ToolHost()) }
	}, flags)
	err := flags.Parse(os.Args[1:])
	if err == nil {
		err = process.SetFromEnvironment(flags, os.LookupEnv)
	}
	if err == nil {
		err = server.Run(ctx)
	}
	return process.ReportError(os.Stderr, "toolhost", err)
}

// child is a tool host in a child process.
type child struct {
	client toolhostv1.ToolHostServiceClient
	conn   *grpc.ClientConn
	cmd    *exec.Cmd
	read   chan struct{} // closed when standard error ended
	lines  []string      // of standard error; complete after read
}

// addressPattern matches the address in the log of a tool host.
var addressPattern = regexp.MustCompile(`msg=serving .*address=(\S+)`)

// startProcess starts a tool host on a directory and waits until it serves. fileSize is the limit
// of its files, 0 for none. start starts the command.
func startProcess(tb testing.TB, natsURL, dir string, fileSize int, start func(*exec.Cmd) error) *child {
	tb.Helper()
	p := &child{read: make(chan struct{})}
	ctx := context.WithoutCancel(tb.Context()) // a cleanup may stop it after the end of the test's context
	p.cmd = exec.CommandContext(ctx, os.Args[0], "--toolhost-dir", dir, "--nats-url", natsURL, "--listen", "127.0.0.1:0")
	p.cmd.Env = append(os.Environ(), envProcess+"=1")
	if fileSize > 0 {
		p.cmd.Env = append(p.cmd.Env, fmt.Sprintf("%s=%d", envFileSize, fileSize))
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := start(p.cmd); err != nil {
		tb.Fatalf("start process: %v", err)
	}
	tb.Cleanup(func() {
		if p.cmd.ProcessState == nil { // the test failed before it waited for the end
			_ = p.cmd.Process.Kill()
			<-p.read
			_ = p.cmd.Wait()
		}
	})
	address := make(chan string, 1)
	go p.follow(stderr, address)
	select {
	case target := <-address:
		if p.conn, err = grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
			tb.Fatalf("connect: %v", err)
		}
		p.client = toolhostv1.NewToolHostServiceClient(p.conn)
	case <-p.read:
		tb.Fatalf("process: ended with %v before it served:\n%s", p.cmd.Wait(), strings.Join(p.lines, "\n"))
	}
	return p
}

// follow collects the output of the process and sends its address.
func (p *child) follow(stderr io.Reader, address chan<- string) {
	defer close(p.read)
	for scan := bufio.NewScanner(stderr); scan.Scan(); {
		p.lines = append(p.lines, scan.Text())
		if found := addressPattern.FindStringSubmatch(scan.Text()); found != nil {
			address <- found[1]
		}
	}
}

// wait waits for the end of the process. It returns the exit code, -1 after a signal, and the lines
// of standard error.
func (p *child) wait(tb testing.TB) (code int, lines []string) {
	tb.Helper()
	<-p.read
	err := p.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		tb.Fatalf("wait for process: %v", err)
	}
	if err := p.conn.Close(); err != nil {
		tb.Errorf("close connection: %v", err)
	}
	return p.cmd.ProcessState.ExitCode(), p.lines
}

// stop sends a request to terminate, as an operator does.
func (p *child) stop(tb testing.TB) {
	tb.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		tb.Fatalf("stop process: %v", err)
	}
	if code, lines := p.wait(tb); code != process.ExitOK {
		tb.Errorf("stopped process: got exit code %d, want 0:\n%s", code, strings.Join(lines, "\n"))
	}
}

// runService runs the service. stop ends it. ended waits for its end and returns the result of Run.
func runService(tb testing.TB, cfg Config, streams string) (client toolhostv1.ToolHostServiceClient, stop func(), ended func() error) {
	tb.Helper()
	m, err := rpc.Open(tb.Context(), rpc.DefaultConfig(), streams, rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatalf("open node: %v", err)
	}
	ctx, stop := context.WithCancel(tb.Context())
	result := make(chan error, 1)
	go func() { result <- Run(ctx, cfg, m, m.Bus().ToolHost()) }()
	return toolhostv1.NewToolHostServiceClient(m.ToolHost("")), stop, func() error {
		err := <-result
		stop()
		if err := m.Close(); err != nil {
			tb.Errorf("close node: %v", err)
		}
		return err
	}
}
