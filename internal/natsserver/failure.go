package natsserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolsandbox/toolsandbox/internal/filelimit"
)

// ends are parts of the server's log lines after which a stream takes no messages until the server
// is started again: its disk is full or fails, or the streams fill three quarters of the room that
// it had at the start. The server tells the process nothing else.
var ends = []string{"critical write error", "resource limits exceeded", "will be DISABLED"}

// failure reads the log of a server for its end. It implements server.Logger.
type failure struct {
	once    sync.Once
	reached chan struct{}
	line    string // set before reached is closed
}

var _ server.Logger = (*failure)(nil)

// Errorf implements server.Logger.
func (f *failure) Errorf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if slices.ContainsFunc(ends, func(end string) bool { return strings.Contains(line, end) }) {
		f.once.Do(func() {
			f.line = line
			close(f.reached)
		})
	}
}

// Fatalf implements server.Logger.
func (f *failure) Fatalf(string, ...any) {}

// Warnf implements server.Logger.
func (f *failure) Warnf(string, ...any) {}

// Noticef implements server.Logger.
func (f *failure) Noticef(string, ...any) {}

// Debugf implements server.Logger.
func (f *failure) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (f *failure) Tracef(string, ...any) {}

// Run waits until ctx is done. It fails when a stream can no longer be written.
func (s *Server) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.failure.reached:
		if shortage, exhausted := filelimit.WithLimit(errors.New(s.failure.line)); exhausted {
			return fmt.Errorf("NATS cannot write to %s: %w", s.dir, shortage)
		}
		return fmt.Errorf("NATS cannot write to %s: %s: make room on its disk and start again", s.dir, s.failure.line)
	}
}
