package bus_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestLoad sums up what two processes do for a sweep. Without any it is nothing.
func TestLoad(t *testing.T) {
	b := natstest.Start(t)
	check := func(sweepID string, want *busv1.Load) {
		t.Helper()
		if got, err := b.Load(t.Context(), sweepID, bus.LoadWait); err != nil || !proto.Equal(got, want) {
			t.Errorf("load of %s: got %v, %v, want %v", sweepID, got, err, want)
		}
	}
	check("s", &busv1.Load{})
	for _, id := range []string{"a", "b"} {
		stop, err := b.ServeLoad(func(sweepID string) *busv1.Load {
			switch sweepID {
			case "":
				return &busv1.Load{Running: 10}
			case "s":
			default:
				return &busv1.Load{}
			}
			return &busv1.Load{Running: 1, Ahead: 2, Scoring: 3, Providers: map[string]*busv1.ProviderLoad{"one": {Asked: 4, Limited: 5}, id: {Asked: 1}}}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}()
	}
	check("s", &busv1.Load{Running: 2, Ahead: 4, Scoring: 6, Providers: map[string]*busv1.ProviderLoad{"one": {Asked: 8, Limited: 10}, "a": {Asked: 1}, "b": {Asked: 1}}})
	check("other", &busv1.Load{})
	check("", &busv1.Load{Running: 20})
}
