package analysis

import (
	"io"
	"testing"
)

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		r, err := Load("/tmp/viewer/p10k", false, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		_ = r.Rollouts()
	}
}
