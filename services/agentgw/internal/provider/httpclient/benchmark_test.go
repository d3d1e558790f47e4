package httpclient

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkRedact searches for an absent key, in a conversation and in base64.
func BenchmarkRedact(b *testing.B) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) []byte {
		text := make([]byte, n)
		for i := range text {
			text[i] = letters[r.IntN(len(letters))]
		}
		return text
	}
	const size = 8 << 20
	prose := make([]byte, 0, size)
	for len(prose) < size {
		prose = append(prose, `{"role":"user","content":"Please send a message to Fredrik: how is the new album coming along?\n"},`...)
	}
	for name, secret := range map[string]string{"short key": "sk-" + string(word(48)), "long key": "sk-proj-" + string(word(156))} {
		for kind, text := range map[string][]byte{"text": prose, "base64": word(size)} {
			b.Run(name+", "+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					Redact(text, secret)
				}
			})
		}
	}
}
