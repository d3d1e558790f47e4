package timezone_test

import (
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/timezone"
)

// TestLoad loads zones twice. The second time gives the same answer.
func TestLoad(t *testing.T) {
	for name, offset := range map[string]int{"": 0, "UTC": 0, "Asia/Tokyo": 9 * 3600, "Local": -1, "Nowhere/Land": -1, "../etc": -1} {
		for range 2 {
			zone, err := timezone.Load(name)
			if err != nil {
				if offset != -1 {
					t.Errorf("%q: %v", name, err)
				}
				continue
			}
			if _, got := time.Unix(0, 0).In(zone).Zone(); got != offset {
				t.Errorf("%q: got offset %d, want %d", name, got, offset)
			}
		}
	}
}
