package standalone

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
)

// With connects to an installation, starts its local services, and calls do with the connections.
// If a service ends by itself, With cancels do's context and returns the service's error.
func With(ctx context.Context, cfg Config, parts rpc.Options, do func(context.Context, *rpc.Node) error) (err error) {
	running, err := Start(ctx, cfg, parts)
	if err != nil {
		return err
	}
	defer func() { err = Join(err, running.Close()) }()
	ctx, release := running.Watched(ctx, func() {})
	defer release()
	return Cause(ctx, do(ctx, running.Node()))
}

// Watched returns a context that ends with the error of a service that ends by itself. Then it
// calls failed. Call release in the end.
func (i *Installation) Watched(ctx context.Context, failed func()) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case err := <-i.Failed():
			cancel(err)
			failed()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watch.Wait()
	}
}

// Join joins an error with that of closing, unless they are the same: a service's failure is both.
func Join(err, closed error) error {
	if closed == nil || err != nil && errors.Is(closed, err) {
		return err
	}
	return errors.Join(err, closed)
}

// WithTemporary is Temporary without telemetry. level is the lowest logged level.
func WithTemporary(ctx context.Context, cfg Config, level string, stderr io.Writer, do func(context.Context, *rpc.Node) error) error {
	return Temporary(ctx, cfg, rpc.Options{Logger: process.TextLog(stderr, level)}, do)
}

// Temporary is With for an installation with temporary data.
func Temporary(ctx context.Context, cfg Config, options rpc.Options, do func(context.Context, *rpc.Node) error) (err error) {
	dir, err := os.MkdirTemp("", "toolsandbox-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg.Dir = dir
	return With(ctx, cfg, options, do)
}

// Cause returns the cause of ctx's end if that was a failed service, else err.
func Cause(ctx context.Context, err error) error {
	if reason := context.Cause(ctx); err != nil && reason != nil && !errors.Is(reason, context.Canceled) {
		return reason
	}
	return err
}
