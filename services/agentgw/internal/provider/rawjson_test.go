package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/anthropic"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/cohere"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/google"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/responses"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"
)

// TestEncodeTools checks for every codec and server that cached tools give the same request as new
// ones.
func TestEncodeTools(t *testing.T) {
	text := &turn.ToolText{}
	for range 2 {
		for name, codec := range map[string]provider.Codec{
			"openai": openai.Codec{}, "responses": responses.Codec{}, "anthropic": anthropic.Codec{}, "cohere": cohere.Codec{},
			"google": google.Codec{}, "vertex": google.Codec{Vertex: true},
		} {
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
