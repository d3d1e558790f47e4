package process

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
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
	address := porttest.Address(t)
	nats, err := natsserver.Start(natsserver.Config{Dir: t.TempDir(), Listen: address})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := nats.Close(); err != nil {
			t.Error(err)
		}
	}()
	broken := errors.New("broken")
	running := "--nats-url=nats://" + address
	tests := []struct {
		name string
		args []string
		env  map[string]string
		body error
		code int
		text string // of the error; empty for none
	}{
		{"to its end", []string{running, "--extra=5"}, nil, nil, ExitOK, ""},
		{"from the environment", nil, map[string]string{"TOOLSANDBOX_NATS_URL": "nats://" + address, "TOOLSANDBOX_EXTRA": "5"}, nil, ExitOK, ""},
		{"flag over environment", []string{running, "--extra=5"}, map[string]string{"TOOLSANDBOX_EXTRA": "6"}, nil, ExitOK, ""},
		{"body fails", []string{running, "--extra=5"}, nil, broken, ExitFailure, "broken"},
		{"bad variable", nil, map[string]string{"TOOLSANDBOX_EXTRA": "x"}, nil, ExitUsage, "environment variable TOOLSANDBOX_EXTRA: "},
		{"out of range", []string{"--grace=-1s", "--log-format=xml"}, nil, nil, ExitUsage, "--log-format: \"xml\" given, expected text or json; --grace: -1s given, expected 0 or more"},
		{"no NATS", []string{"--nats-url=nats://" + porttest.Address(t)}, nil, nil, ExitFailure, "cannot be reached"},
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

// TestHangingService stops a service that drains, and one that hangs. Both end with the grace time.
func TestHangingService(t *testing.T) {
	quiet(t)
	address := porttest.Address(t)
	nats, err := natsserver.Start(natsserver.Config{Dir: t.TempDir(), Listen: address})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := nats.Close(); err != nil {
			t.Error(err)
		}
	}()
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
			if err := flags.Parse([]string{"--nats-url=nats://" + address, "--grace=50ms"}); err != nil {
				t.Fatal(err)
			}
			if err := process.Run(ctx); (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("Run: got %v, want %q", err, test.want)
			}
		})
	}
	close(hung)
}
