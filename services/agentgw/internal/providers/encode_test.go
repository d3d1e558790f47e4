package providers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
)

// TestEncodeTools checks for every provider and server that cached tools give the same request as
// new ones.
func TestEncodeTools(t *testing.T) {
	dialects, err := dialect.Load("")
	if err != nil {
		t.Fatal(err)
	}
	text := &turn.ToolText{}
	for range 2 {
		for _, spec := range providers.All(dialects) {
			name, codec := spec.Name, spec.Codec
			for _, server := range []struct{ own, compat bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
				query := providertest.Query(nil)
				query.Tools[0].ParametersJson = `{"type": "object", "properties": {"a": {}}, "required": ["a", "<b>"]}`
				query.Official, query.Compat = server.own, server.compat
				want, err := codec.Encode(query)
				if err != nil {
					t.Fatal(err)
				}
				query.ToolText = text
				got, err := codec.Encode(query)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want.Body), string(got.Body)); diff != "" {
					t.Errorf("%s, own address %t, compatible mode %t (-want +got):\n%s", name, server.own, server.compat, diff)
				}
			}
		}
	}
}
