package attach_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
)

// noRelay is the relay of a single replica.
type noRelay struct{}

func (noRelay) Request(context.Context, string, []byte) ([]byte, error) { return nil, bus.ErrNotFound }

func (noRelay) Serve(string, int, func(context.Context, []byte) []byte) (func(context.Context) error, error) {
	return func(context.Context) error { return nil }, nil
}

// TestNotice asks missing agents for turns. The log names each agent once a minute, and not for
// short turns.
func TestNotice(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		registry := attach.New(noRelay{}, 1<<20, attach.InitialBackoff, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Duration("at", a.Value.Time().Sub(start).Round(time.Second))
			}
			return a
		}})))
		var turns sync.WaitGroup
		ask := func(name string, limit time.Duration) {
			turns.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				if _, _, err := registry.Act(ctx, attach.Address{Name: name}, &agentv1.ActRequest{ConversationId: "c"}); !errors.Is(err, attach.ErrNotAttached) {
					t.Errorf("Act of %s: got %v, want %v", name, err, attach.ErrNotAttached)
				}
			})
		}
		for range 10 {
			ask("mine", 90*time.Second)
		}
		ask("short", 2*time.Second)
		turns.Wait()
		ask("other", 10*time.Second)
		turns.Wait()
	})
	want := []string{
		`at=3s level=WARN msg="waiting for agent" agent=mine reason="nobody is attached under this name; this turn is given up in 1m27s"`,
		`at=1m3s level=WARN msg="waiting for agent" agent=mine reason="nobody is attached under this name; this turn is given up in 27s"`,
		`at=1m33s level=WARN msg="waiting for agent" agent=other reason="nobody is attached under this name; this turn is given up in 7s"`,
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(log.String()), "\n")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
