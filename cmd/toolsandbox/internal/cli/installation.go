package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/standalone"
	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/mesh"
)

// within connects to an installation, starts what of it has to run here, and calls do with the
// connections. A service that ends by itself ends do's context and is the error.
func within(ctx context.Context, cfg standalone.Config, parts mesh.Parts, do func(context.Context, *mesh.Mesh) error) (err error) {
	running, err := standalone.Start(ctx, cfg, parts)
	if err != nil {
		return err
	}
	defer func() { err = tellOnce(err, running.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case err := <-running.Failed():
			cancel(err)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	return cause(ctx, do(ctx, running.Mesh()))
}

// tellOnce joins what went wrong with what closing said, unless that is the same: a service's
// failure is both.
func tellOnce(err, closed error) error {
	if closed == nil || err != nil && errors.Is(closed, err) {
		return err
	}
	return errors.Join(err, closed)
}

// temporarily is within for an installation whose data lasts no longer than the call. level is the
// least that is logged.
func temporarily(ctx context.Context, cfg standalone.Config, level string, stderr io.Writer, do func(context.Context, *mesh.Mesh) error) (err error) {
	dir, err := os.MkdirTemp("", "toolsandbox-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg.Dir = dir
	log := launch.DefaultLog()
	log.Level = level
	return within(ctx, cfg, mesh.Parts{Logger: log.New(stderr)}, do)
}
