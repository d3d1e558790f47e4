package launch

import (
	"runtime/debug"
	"testing"
)

func TestHeap(t *testing.T) {
	before := debug.SetGCPercent(50)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	Heap(func(name string) (string, bool) { return "50", name == "GOGC" })
	if got := debug.SetGCPercent(50); got != 50 {
		t.Errorf("with GOGC set: got %d, want 50", got)
	}
	Heap(func(string) (string, bool) { return "", false })
	if got := debug.SetGCPercent(50); got != heapGrowth {
		t.Errorf("without GOGC: got %d, want %d", got, heapGrowth)
	}
}
