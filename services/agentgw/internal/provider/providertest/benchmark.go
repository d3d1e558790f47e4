package providertest

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// Encode benchmarks the encoding of Query: with cached tools, which is the usual case, and with new
// ones.
func Encode(b *testing.B, codec provider.Codec, native func(call string) string) {
	b.Helper()
	for name, text := range map[string]*turn.ToolText{"KnownTools": {}, "NewTools": nil} {
		b.Run(name, func(b *testing.B) {
			query := Query(native)
			query.ToolText = text
			b.ReportAllocs()
			for b.Loop() {
				got, err := codec.Encode(query)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(got.Body)))
			}
		})
	}
}
