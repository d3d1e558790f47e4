package usercheck

import "testing"

// TestPhrases compiles every block of phrases.txt. The program compiles one when it needs it.
func TestPhrases(t *testing.T) {
	for name := range blocks {
		phrase(name)()
	}
	if len(blocks) < 40 {
		t.Errorf("got %d blocks, want those of phrases.txt", len(blocks))
	}
}
