//go:build race

package rpc

import (
	"testing"

	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// TestWitness changes an immutable message after it was sent.
func TestWitness(t *testing.T) {
	w, kept, changed := &witness{}, &toolhostv1.ExecuteRequest{Calls: conversation(1)}, &toolhostv1.ExecuteRequest{Calls: conversation(1)}
	w.see(kept)
	w.check()
	w.see(changed)
	changed.Calls[0].Index++
	defer func() {
		if recover() == nil {
			t.Error("change of an immutable message: got no panic, want one")
		}
	}()
	w.check()
}
