package process

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// quiet sends what a process writes to its standard error away for the duration of the test.
func quiet(t *testing.T) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = null
	t.Cleanup(func() {
		os.Stderr = before
		if err := null.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestProcess(t *testing.T) {
	quiet(t)
	url, _ := natstest.Listen(t)
	broken := errors.New("broken")
	running := "--nats-url=" + url
	tests := []struct {
		name string
		args []string
		env  map[string]string
		body error
		code int
		text string // of the error; empty for none
	}{
		{"to its end", []string{running, "--extra=5"}, nil, nil, ExitOK, ""},
		{"from the environment", nil, map[string]string{"TOOLSANDBOX_NATS_URL": url, "TOOLSANDBOX_EXTRA": "5"}, nil, ExitOK, ""},
		{"flag over environment", []string{running, "--extra=5"}, map[string]string{"TOOLSANDBOX_EXTRA": "6"}, nil, ExitOK, ""},
		{"body fails", []string{running, "--extra=5"}, nil, broken, ExitFailure, "broken"},
		{"bad variable", nil, map[string]string{"TOOLSANDBOX_EXTRA": "x"}, nil, ExitUsage, "environment variable TOOLSANDBOX_EXTRA: "},
		{"out of range", []string{"--grace=-1s", "--log-format=xml"}, nil, nil, ExitUsage, "--log-format: \"xml\" given, expected text or json; --grace: -1s given, expected 0 or more"},
		{"no NATS", []string{"--nats-url=nats://127.0.0.1:99999"}, nil, nil, ExitFailure, "cannot be reached"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var extra int
			ran := false
			configure := func(flags *pflag.FlagSet) Run {
				flags.IntVar(&extra, "extra", 1, "")
				return func(_ context.Context, m *rpc.Node) error {
					ran = true
					if extra != 5 || !m.Hosts(rpc.Evaluator) || m.Bus() == nil {
						t.Errorf("body: got extra %d, hosts the service %v, want 5, true", extra, m.Hosts(rpc.Evaluator))
					}
					return test.body
				}
			}
			lookup := func(name string) (string, bool) { value, ok := test.env[name]; return value, ok }
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			process := NewProcess(rpc.Evaluator, configure, flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			err := runIn(t, lookup, flags, process)
			var out strings.Builder
			if code := ReportError(&out, "p", err); code != test.code || !strings.Contains(out.String(), test.text) || (err != nil) != (test.text != "") {
				t.Errorf("Run: got %d and %q, want %d and %q", code, out.String(), test.code, test.text)
			}
			if want := test.body != nil || test.code == ExitOK; ran != want {
				t.Errorf("body ran: got %v, want %v", ran, want)
			}
		})
	}
}

// runIn runs a process with the settings of an environment.
func runIn(t *testing.T, lookup func(string) (string, bool), flags *pflag.FlagSet, process *Process) error {
	t.Helper()
	if err := SetFromEnvironment(flags, lookup); err != nil {
		return err
	}
	return process.Run(t.Context())
}

// TestStopWhileWaiting stops a service that waits for NATS: it says so at once and ends without an
// error.
func TestStopWhileWaiting(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	process := NewProcess(rpc.Evaluator, func(*pflag.FlagSet) Run {
		return func(context.Context, *rpc.Node) error { return errors.New("it ran without NATS") }
	}, flags)
	url := "nats://" + porttest.Address(t)
	if err := flags.Parse([]string{"--nats-url=" + url}); err != nil {
		t.Fatal(err)
	}
	log, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = said
	defer func() { os.Stderr = before }()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- process.Run(ctx) }()
	line, err := bufio.NewReader(log).ReadString('\n')
	if want := `msg="waiting for NATS and its streams" address=` + url; err != nil || !strings.Contains(line, want) {
		t.Errorf("log: got %q and %v, want %q", line, err, want)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
	if err := errors.Join(said.Close(), log.Close()); err != nil {
		t.Error(err)
	}
}

// TestHangingService stops a service that drains, and one that hangs. Both end with the grace time.
func TestHangingService(t *testing.T) {
	quiet(t)
	url, _ := natstest.Listen(t)
	hung := make(chan struct{})
	for name, test := range map[string]struct {
		body Run
		want string
	}{
		"drains": {func(ctx context.Context, m *rpc.Node) error {
			work, stop := m.Drain(ctx)
			defer stop()
			<-work.Done()
			return nil
		}, ""},
		"hangs": {func(context.Context, *rpc.Node) error { <-hung; return nil }, "evaluator did not stop within 2s and the 50ms of --grace"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			process := NewProcess(rpc.Evaluator, func(*pflag.FlagSet) Run {
				return func(ctx context.Context, m *rpc.Node) error { stop(); return test.body(ctx, m) }
			}, flags)
			if err := flags.Parse([]string{"--nats-url=" + url, "--grace=50ms"}); err != nil {
				t.Fatal(err)
			}
			if err := process.Run(ctx); (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("Run: got %v, want %q", err, test.want)
			}
		})
	}
	close(hung)
}
