package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// variables is an environment.
type variables map[string]string

func (v variables) lookup(name string) (string, bool) {
	value, ok := v[name]
	return value, ok
}

// parse parses a command line and then reads the environment.
func parse(env variables, args ...string) (text string, list []string, number int, err error) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&text, "some-text", "default", "")
	flags.StringSliceVar(&list, "list", []string{"default"}, "")
	flags.IntVar(&number, "number", 1, "")
	if err := flags.Parse(args); err != nil {
		return "", nil, 0, err
	}
	return text, list, number, process.SetFromEnvironment(flags, env.lookup)
}

func TestFlagPrecedence(t *testing.T) {
	all := variables{"TOOLSANDBOX_SOME_TEXT": "env", "TOOLSANDBOX_LIST": "e,f", "TOOLSANDBOX_NUMBER": "7"}
	tests := []struct {
		name string
		env  variables
		args []string
		want string
	}{
		{"defaults", nil, nil, "default [default] 1"},
		{"environment", all, nil, "env [e f] 7"},
		{"flags", nil, []string{"--some-text=flag", "--list=a", "--list=b,c", "--number=3"}, "flag [a b c] 3"},
		{"flags over environment", all, []string{"--some-text=flag", "--list=a", "--number=3"}, "flag [a] 3"},
		{"each by itself", all, []string{"--number=3"}, "env [e f] 3"},
		{"a flag with the default's value", all, []string{"--number=1"}, "env [e f] 1"},
		{"empty is a value", variables{"TOOLSANDBOX_SOME_TEXT": ""}, nil, " [default] 1"},
		{"other variables", variables{"SOME_TEXT": "x", "TOOLSANDBOX_SOME-TEXT": "x", "TOOLSANDBOX_OTHER": "x"}, nil, "default [default] 1"},
		{"a bad value that a flag hides", variables{"TOOLSANDBOX_NUMBER": "x"}, []string{"--number=3"}, "default [default] 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, list, number, err := parse(test.env, test.args...)
			if got := fmt.Sprint(text, " ", list, " ", number); err != nil || got != test.want {
				t.Errorf("settings: got %q, %v, want %q, nil", got, err, test.want)
			}
		})
	}
}

func TestBadEnvironment(t *testing.T) {
	_, _, _, err := parse(variables{"TOOLSANDBOX_NUMBER": "many"})
	if !errors.Is(err, process.ErrUsage) || !strings.Contains(err.Error(), "environment variable TOOLSANDBOX_NUMBER") || !strings.Contains(err.Error(), `"many"`) {
		t.Errorf("Environment: got %v, want %v that names variable and value", err, process.ErrUsage)
	}
}

func TestReportError(t *testing.T) {
	tests := []struct {
		name string
		err  error
		code int
		text string
	}{
		{"none", nil, process.ExitOK, ""},
		{"failure", errors.New("no network"), process.ExitFailure, "test: no network\n"},
		{"usage", process.UsageErrorf("--number: %d given", 7), process.ExitUsage, "test: --number: 7 given\n"},
		{"wrapped usage", fmt.Errorf("start: %w", process.UsageErrorf("bad")), process.ExitUsage, "test: start: bad\n"},
		{"joined", errors.Join(errors.New("a"), errors.New("b\nc")), process.ExitFailure, "test: a; b; c\n"},
		{"joined with usage", errors.Join(errors.New("a"), process.UsageErrorf("b")), process.ExitUsage, "test: a; b\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			if code := process.ReportError(&out, "test", test.err); code != test.code || out.String() != test.text {
				t.Errorf("Report: got %d and %q, want %d and %q", code, out.String(), test.code, test.text)
			}
		})
	}
}

func TestUsageKeepsItsCause(t *testing.T) {
	if err := process.UsageErrorf("read: %w", io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, process.ErrUsage) {
		t.Errorf("Usage: got %v, want both %v and %v", err, io.ErrUnexpectedEOF, process.ErrUsage)
	}
}

func TestSignalContext(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		ctx, stop := process.SignalContext(context.Background())
		if ctx.Err() != nil {
			t.Errorf("context before %v: got %v, want nil", signal, ctx.Err())
		}
		if err := syscall.Kill(syscall.Getpid(), signal); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		stop()
	}
}

// TestHangup sends SIGHUP to a process that nohup started, and to one that it did not.
func TestHangup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	ctx, stop := process.SignalContext(context.Background())
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if !signal.Ignored(syscall.SIGHUP) || ctx.Err() != nil {
		t.Errorf("ignored SIGHUP: got %v, want it to stay ignored", ctx.Err())
	}
	stop()
	signal.Reset(syscall.SIGHUP)
	if signal.Ignored(syscall.SIGHUP) {
		return // nohup started the tests
	}
	ctx, stop = process.SignalContext(context.Background())
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	logger := process.LogConfig{Format: "json", Level: "warn"}.New(&out)
	logger.Info("not this")
	logger.Warn("lost", "rollout", "s.0")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("log %q: %v", out.String(), err)
	}
	delete(got, slog.TimeKey)
	if diff := cmp.Diff(map[string]any{"level": "WARN", "msg": "lost", "rollout": "s.0"}, got); diff != "" {
		t.Errorf("log as JSON (-want +got):\n%s", diff)
	}
	out.Reset()
	process.DefaultLog().New(&out).Info("found", "rollout", "s.0")
	if !strings.HasSuffix(out.String(), " level=INFO msg=found rollout=s.0\n") {
		t.Errorf("log as text: got %q, want level, message and attribute", out.String())
	}
}

func TestLogValidate(t *testing.T) {
	for _, level := range []string{"debug", "info", "warn", "error"} {
		if err := (process.LogConfig{Format: "json", Level: level}).Validate(); err != nil {
			t.Errorf("Validate of level %s: got %v, want nil", level, err)
		}
	}
	for want, log := range map[string]process.LogConfig{
		`--log-format: "xml" given, expected text or json`:               {Format: "xml", Level: "info"},
		`--log-level: "loud" given, expected debug, info, warn or error`: {Format: "text", Level: "loud"},
	} {
		if err := log.Validate(); err == nil || err.Error() != want {
			t.Errorf("Validate of %+v: got %v, want %s", log, err, want)
		}
	}
}
