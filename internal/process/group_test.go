package process_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// patience bounds every wait for something that must happen.
const patience = time.Minute

type key struct{}

func TestGroupStopsInReverseOrder(t *testing.T) {
	var mu sync.Mutex
	var stopped []string
	component := func(name string) process.Component {
		return process.Component{Name: name, Run: func(ctx context.Context) error {
			if ctx.Value(key{}) != "value" {
				t.Errorf("value in the context of %s: got %v, want value", name, ctx.Value(key{}))
			}
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			stopped = append(stopped, name)
			return nil
		}}
	}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	group := process.Start(ctx, component("bus"), component("host"), component("worker"))
	cancel() // is not theirs
	select {
	case err := <-group.Failed():
		t.Errorf("Failed: got %v, want nothing", err)
	default:
	}
	if err := group.Stop(patience); err != nil {
		t.Errorf("Stop: got %v, want nil", err)
	}
	if diff := cmp.Diff([]string{"worker", "host", "bus"}, stopped); diff != "" {
		t.Errorf("order of ends (-want +got):\n%s", diff)
	}
}

func TestGroupReportsComponents(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name   string
		run    func(context.Context) error
		failed string // what Failed delivers
		stop   error  // what Stop returns
	}{
		{"fails by itself", func(context.Context) error { return broken }, "broken", broken},
		{"ends by itself", func(context.Context) error { return nil }, "host ended unexpectedly", nil},
		{"fails while it stops", func(ctx context.Context) error { <-ctx.Done(); return broken }, "", broken},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			calm := func(ctx context.Context) error { <-ctx.Done(); return nil }
			group := process.Start(t.Context(), process.Component{Name: "bus", Run: calm}, process.Component{Name: "host", Run: test.run}, process.Component{Name: "worker", Run: calm})
			if test.failed != "" {
				if err := <-group.Failed(); err.Error() != test.failed {
					t.Errorf("Failed: got %v, want %s", err, test.failed)
				}
			}
			if err := group.Stop(patience); !errors.Is(err, test.stop) || test.stop == nil && err != nil {
				t.Errorf("Stop: got %v, want %v", err, test.stop)
			}
		})
	}
}

func TestGroupNamesWhatHangs(t *testing.T) {
	release := make(chan struct{})
	var group sync.WaitGroup
	group.Add(3)
	component := func(name string, wait func(context.Context)) process.Component {
		return process.Component{Name: name, Run: func(ctx context.Context) error { defer group.Done(); wait(ctx); return fmt.Errorf("%s ended", name) }}
	}
	calm := func(ctx context.Context) { <-ctx.Done() }
	running := process.Start(t.Context(), component("bus", calm), component("host", func(context.Context) { <-release }), component("worker", calm))
	err := running.Stop(50 * time.Millisecond)
	want := "worker ended\nhost did not stop within 50ms"
	if err == nil || err.Error() != want {
		t.Errorf("Stop: got %v, want %s", err, want)
	}
	if err != nil && strings.Contains(err.Error(), "bus") {
		t.Errorf("Stop: got %v, want nothing about what waits for the one that hangs", err)
	}
	close(release)
	group.Wait() // the bus was told to stop, too
}
