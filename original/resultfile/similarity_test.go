package resultfile

import "testing"

// TestSimilarityOf checks how the original writes computed similarities.
func TestSimilarityOf(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 1: "1.0", 0.0001: "0.0001", 0.00001: "1e-05", 1e15: "1000000000000000.0", 1e16: "1e+16", -2.5: "-2.5"} {
		if got := similarityOf(f); string(got) != want {
			t.Errorf("similarityOf(%v) = %s, want %s", f, got, want)
		}
	}
}
