package toolhost

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// silentBus publishes to nobody. A bubble of synctest cannot wait for a server.
type silentBus struct{ host.Bus }

func (silentBus) PublishSnapshot(context.Context, *busv1.Snapshot) error { return nil }

func (silentBus) ReadLog(context.Context, string) (*bus.Log, error) { return &bus.Log{}, nil }

// TestSlowAgent lets the commits of a session wait for others after a pause of its agent, and only
// then.
func TestSlowAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sessions, err := store.Open(store.Config{Path: filepath.Join(t.TempDir(), "sessions.db")})
		if err != nil {
			t.Fatal(err)
		}
		owner, err := host.New(host.Config{CachedSessions: 1, CacheBytes: 1 << 20, MaxRows: 100, MaxCalls: 1, MaxBytes: 1 << 20},
			sessions, silentBus{}, tool.Builtin(), &service.Client{}, toolserver.NewClient(toolserver.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := owner.Create(t.Context(), "a", host.Creation{Origin: host.SetupRef{Setup: smallSetup("slow")}}); err != nil {
			t.Fatal(err)
		}
		index := int32(3)
		for _, step := range []struct {
			pause time.Duration
			waits bool
		}{{0, false}, {999 * time.Millisecond, false}, {time.Second, true}, {0, false}} {
			<-time.After(step.pause)
			begun := time.Now()
			batch := host.Batch{Index: index, Calls: []*worldv1.Message{addContact(index-1, "Bob")}}
			if _, err := owner.Execute(t.Context(), "a", batch, nil); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(begun) > 0; waited != step.waits {
				t.Errorf("after a pause of %s: waits %t, want %t", step.pause, waited, step.waits)
			}
			index += 2
		}
		if err := sessions.Close(); err != nil {
			t.Error(err)
		}
	})
}
