package model

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestKeepsIDs sends a turn back in the provider's own form only if its answers go by the ids in there.
func TestKeepsIDs(t *testing.T) {
	id := func(s string) *string { return &s }
	for name, test := range map[string]struct {
		stated, played *string
		want           bool
	}{
		"the same":     {id("a"), id("a"), true},
		"another":      {id("a\nb"), id("call_4"), false},
		"none stated":  {nil, id("call_4"), true},
		"not answered": {id("a"), nil, true},
	} {
		messages := []*worldv1.Message{{ToolCallId: id("x")}, {ToolCallId: test.played}}
		if got := keepsIDs(messages, []provider.Call{{ID: id("x")}, {ID: test.stated}}); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
