package process

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Component is a part of a process that runs until its context is done.
type Component struct {
	// Name identifies it in errors.
	Name string
	// Run blocks until ctx is done, then returns nil. It may fail earlier.
	Run func(ctx context.Context) error
}

// Group runs components that depend on the ones before them.
type Group struct {
	running []*member
	failed  chan error
}

type member struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// Start starts components in order. Their contexts inherit the values of ctx but not its
// cancellation. Stop stops them.
func Start(ctx context.Context, components ...Component) *Group {
	g := &Group{failed: make(chan error, len(components))}
	for _, component := range components {
		componentCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		m := &member{name: component.Name, cancel: cancel, done: make(chan struct{})}
		g.running = append(g.running, m)
		go func() {
			defer close(m.done)
			if m.err = component.Run(componentCtx); m.err != nil {
				g.failed <- m.err
			} else if componentCtx.Err() == nil {
				g.failed <- fmt.Errorf("%s ended unexpectedly", m.name)
			}
		}()
	}
	return g
}

// Failed delivers the error of a component that ended by itself.
func (g *Group) Failed() <-chan error { return g.failed }

// Stop stops the components in reverse order, each after those that depend on it, and returns their
// errors. A component that does not end within the limit is abandoned and named in the error.
func (g *Group) Stop(limit time.Duration) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	var errs []error
	for i := len(g.running) - 1; i >= 0; i-- {
		m := g.running[i]
		m.cancel()
		select {
		case <-m.done:
			errs = append(errs, m.err)
		case <-deadline.C:
			for ; i >= 0; i-- {
				g.running[i].cancel()
			}
			return errors.Join(append(errs, fmt.Errorf("%s did not stop within %s", m.name, limit))...)
		}
	}
	return errors.Join(errs...)
}
