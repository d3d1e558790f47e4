package host

import (
	"testing"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

func TestVirtualClock(t *testing.T) {
	s := &compiledSetup{lastIndex: 4, clock: &setupv1.Clock{Now: 1000, Step: 2.5}}
	for index, want := range map[int32]float64{0: 1000, 4: 1000, 5: 1000, 6: 1002.5, 15: 1025} {
		if got := s.now(index); got != want {
			t.Errorf("now(%d): got %v, want %v", index, got, want)
		}
	}
}
