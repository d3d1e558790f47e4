// Package process starts and ends processes of the product: flags and environment, logging,
// signals, ordered shutdown, and exit codes.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/filelimit"
	"github.com/toolsandbox/toolsandbox/internal/health"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// Exit codes.
const (
	ExitOK        = 0
	ExitFailure   = 1
	ExitUsage     = 2
	ExitCancelled = 3
)

// stopTimeout bounds the end of a service after its grace time. By then all contexts have ended.
const stopTimeout = 2 * time.Second

// ErrUsage marks an error in the command line: exit code 2.
var ErrUsage = errors.New("usage")

// ErrCancelled means that somebody cancelled the sweep of a command: exit code 3.
var ErrCancelled = errors.New("the sweep was cancelled")

// UsageErrorf returns an error that wraps ErrUsage and prints as the given text.
func UsageErrorf(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

type usageError struct{ err error }

func (e *usageError) Error() string   { return e.err.Error() }
func (e *usageError) Unwrap() []error { return []error{ErrUsage, e.err} }

// Run is the body of a service's process. It blocks until ctx is done or a fatal error occurs.
type Run func(ctx context.Context, m *rpc.Node) error

// Process is one service in its own process.
type Process struct {
	service rpc.Service
	body    Run
	logging LogConfig
	network rpc.Config
	probes  health.Config
	export  telemetry.Config
}

// NewProcess adds a service's flags to a command. configure adds the flags of this service and
// returns its body, which runs after the flags are parsed.
func NewProcess(service rpc.Service, configure func(*pflag.FlagSet) Run, flags *pflag.FlagSet) *Process {
	p := &Process{service: service, logging: DefaultLog(), network: rpc.DefaultConfig(), export: telemetry.DefaultConfig()}
	p.logging.RegisterFlags(flags)
	p.network.RegisterFlags(flags)
	p.probes.RegisterFlags(flags)
	p.export.RegisterFlags(flags)
	p.body = configure(flags)
	p.network.Service = service
	return p
}

// Run runs the service until ctx is done or a fatal error occurs. When ctx is done, the service
// finishes what is in flight within the grace time (rpc.Node.Drain), and Run returns at most
// stopTimeout and the limit of telemetry.Finish later, whatever hangs. Call it once, after the
// flags are set.
func (p *Process) Run(ctx context.Context) (err error) {
	if err := errors.Join(p.logging.Validate(), p.network.Validate(), p.probes.Validate(), p.export.Validate()); err != nil {
		return UsageErrorf("%w", err)
	}
	logger := p.logging.New(os.Stderr)
	probes, err := health.Start(ctx, p.probes, logger.With("service", string(p.service)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, probes.Close()) }()
	traces, err := telemetry.Start(ctx, p.export, string(p.service))
	if err != nil {
		return err
	}
	defer traces.Finish(ctx, logger)
	ended := make(chan error, 1)
	go func() { ended <- p.connect(ctx, rpc.Options{Logger: logger, Telemetry: traces}, probes) }()
	return p.await(ctx, ended, logger)
}

// connect connects to the installation and runs the body. A process that is stopped while it waits
// for the installation has nothing to finish.
func (p *Process) connect(ctx context.Context, options rpc.Options, probes *health.Server) (err error) {
	m, err := rpc.Connect(ctx, p.network, options)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	unmeasure, err := measure(m)
	defer func() { err = errors.Join(err, unmeasure()) }()
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { probes.Follow(serving, m.Ready) })
	defer following.Wait()
	defer stop()
	return p.body(ctx, m)
}

// await waits until the service has ended. A service that hangs is left behind, to end with the
// process.
func (p *Process) await(ctx context.Context, ended <-chan error, logger *slog.Logger) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace := p.network.Grace
	logger.Info("stopping: finishing what is in flight", "grace", grace)
	select {
	case err := <-ended:
		return err
	case <-time.After(grace):
	}
	logger.Warn("cancelling what is in flight: the grace time is over", "grace", grace)
	select {
	case err := <-ended:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("%s did not stop within %s and the %s of --grace, and ends without waiting", p.service, stopTimeout, grace)
	}
}

// SignalContext returns a context that is done after SIGINT, SIGTERM or SIGHUP, which a terminal
// sends when it closes. A second signal kills the process. SIGHUP stays ignored under nohup.
func SignalContext(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, cancel) // restore the default handlers: the second signal kills
	return ctx, cancel
}

// ReportError prints an error on one line with the program's name and returns its exit code. It
// names the limit of open files if that is the cause.
func ReportError(w io.Writer, program string, err error) int {
	if err == nil {
		return ExitOK
	}
	err, _ = filelimit.WithLimit(err)
	text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", "; "), program+": ")
	_, _ = fmt.Fprintf(w, "%s: %s\n", program, text)
	switch {
	case errors.Is(err, ErrUsage):
		return ExitUsage
	case errors.Is(err, ErrCancelled):
		return ExitCancelled
	}
	return ExitFailure
}

// LogConfig configures logging.
type LogConfig struct {
	// Format is text or json.
	Format string
	// Level is debug, info, warn or error.
	Level string
}

// DefaultLog returns text at level info.
func DefaultLog() LogConfig { return LogConfig{Format: "text", Level: "info"} }

// TextLog returns a logger that writes text from a level on to w.
func TextLog(w io.Writer, level string) *slog.Logger {
	return LogConfig{Format: "text", Level: level}.New(w)
}

// RegisterFlags adds the logging flags.
func (l *LogConfig) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&l.Format, "log-format", l.Format, "`format` of the log: text or json")
	fs.StringVar(&l.Level, "log-level", l.Level, "lowest logged `level`: debug, info, warn or error")
}

// Validate names the first field that is out of range.
func (l LogConfig) Validate() error {
	if l.Format != "text" && l.Format != "json" {
		return fmt.Errorf("--log-format: %q given, expected text or json", l.Format)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		return fmt.Errorf("--log-level: %q given, expected debug, info, warn or error", l.Level)
	}
	return nil
}

// New returns a logger that writes to w. The configuration must be valid.
func (l LogConfig) New(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // Validate has checked it
	options := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
