// Package launch is the one way in which every binary of the product starts and ends: flags and
// environment, logging, signals, shutdown in reverse order, and the one exit code.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/mesh"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// Exit codes.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

// flushTimeout bounds sending the last telemetry at the end.
const flushTimeout = 2 * time.Second

// ErrUsage marks an error in what the user wrote on the command line: exit code 2.
var ErrUsage = errors.New("usage")

// Usage returns an error that is ErrUsage and prints as the given text.
func Usage(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

type usageError struct{ err error }

func (e *usageError) Error() string   { return e.err.Error() }
func (e *usageError) Unwrap() []error { return []error{ErrUsage, e.err} }

// Run is the body of a service's process: it blocks until ctx is done or something fatal happens.
type Run func(ctx context.Context, m *mesh.Mesh) error

// Main runs one service as a process of its own and returns the exit code. configure adds the
// service's flags and returns its body, which runs after the flags are parsed.
func Main(service mesh.Service, configure func(*pflag.FlagSet) Run) int {
	if err := Heap(os.LookupEnv); err != nil {
		return Report(os.Stderr, string(service), err)
	}
	ctx, stop := Signals(context.Background())
	defer stop()
	return Report(os.Stderr, string(service), serve(ctx, service, configure, os.Args[1:], os.LookupEnv))
}

func serve(ctx context.Context, service mesh.Service, configure func(*pflag.FlagSet) Run, args []string, env func(string) (string, bool)) (err error) {
	flags := pflag.NewFlagSet(string(service), pflag.ContinueOnError)
	logging, network, export := DefaultLog(), mesh.DefaultConfig(), telemetry.DefaultConfig()
	logging.RegisterFlags(flags)
	network.RegisterFlags(flags)
	export.RegisterFlags(flags)
	body := configure(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return FlagError(flags, err)
	case flags.NArg() > 0:
		return Usage("unexpected argument %q: see --help", flags.Arg(0))
	}
	if err := Environment(flags, env); err != nil {
		return err
	}
	if err := errors.Join(logging.Validate(), network.Validate(), export.Validate()); err != nil {
		return Usage("%w", err)
	}
	logger := logging.New(os.Stderr)
	traces, err := telemetry.Start(ctx, export, string(service))
	if err != nil {
		return err
	}
	defer func() {
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if closeErr := traces.Close(flush); closeErr != nil {
			logger.Warn("telemetry was not sent completely", "error", closeErr)
		}
	}()
	network.Service = service
	m, err := mesh.Connect(ctx, network, mesh.Parts{Logger: logger, Telemetry: traces})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return body(ctx, m)
}

// Signals returns a context that is done after an interrupt or a request to terminate. A second
// signal ends the process at once.
func Signals(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, cancel) // give the signals back: the second one kills
	return ctx, cancel
}

// Report prints an error as one line that begins with the program's name and returns the exit code
// that it stands for.
func Report(w io.Writer, program string, err error) int {
	if err == nil {
		return ExitOK
	}
	text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", "; "), program+": ")
	_, _ = fmt.Fprintf(w, "%s: %s\n", program, text)
	if errors.Is(err, ErrUsage) {
		return ExitUsage
	}
	return ExitFailure
}

// Log says how a process logs.
type Log struct {
	// Format is text or json.
	Format string
	// Level is debug, info, warn or error.
	Level string
}

// DefaultLog returns text at level info.
func DefaultLog() Log { return Log{Format: "text", Level: "info"} }

// RegisterFlags adds the logging flags.
func (l *Log) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&l.Format, "log-format", l.Format, "text or json")
	fs.StringVar(&l.Level, "log-level", l.Level, "debug, info, warn or error")
}

// Validate names the first field that is out of range.
func (l Log) Validate() error {
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
func (l Log) New(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // Validate has checked it
	options := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
