package httpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	const key = "sk-AB/CD+EFGHIJ=="
	tests := map[string]struct{ text, secret, want string }{
		"as it is":              {"bad key sk-AB/CD+EFGHIJ==, twice sk-AB/CD+EFGHIJ==", key, "bad key [key], twice [key]"},
		"JSON":                  {`{"detail":"bad key sk-AB\/CD+EFGHIJ\u003d\u003d"}`, key, `{"detail":"bad key [key]"}`},
		"JSON, slashes":         {`"sk-AB\/CD+EFGHIJ=="`, key, `"[key]"`},
		"URL, a query":          {"?key=sk-AB%2FCD%2BEFGHIJ%3D%3D&x=1", key, "?key=[key]&x=1"},
		"URL, a path":           {"/sk-AB%2FCD+EFGHIJ==/x", key, "/[key]/x"},
		"base64":                {"Basic c2stQUIvQ0QrRUZHSElKPT0=", key, "Basic [key]"},
		"base64, unpadded":      {"Basic c2stQUIvQ0QrRUZHSElKPT0.", key, "Basic [key]."},
		"base64, the shortest":  {"eCA3NjU0MzIxMCB5", "76543210", "eC[key]B5"},
		"base64 of slashes":     {`"Pz8\/Pz8\/Pz8\/"`, "?????????", `"[key]"`},
		"hex":                   {"x736b2d41422f43442b45464748494a3d3d0a", key, "x[key]0a"},
		"hex, capitals":         {"736B2D41422F43442B45464748494A3D3D", key, "[key]"},
		"one after another":     {key + key + "x" + key, key, "[key][key]x[key]"},
		"not there":             {"sk-AB", key, "sk-AB"},
		"a placeholder":         {"please use the tool", "please", "please use the tool"},
		"no key":                {"text", "", "text"},
		"only its start":        {"sk-AB/CD+EFGHIJ=", key, "sk-AB/CD+EFGHIJ="},
		"only its base64 start": {"c2stQUIvQ0QrRUZHSElKP=", key, "c2stQUIvQ0QrRUZHSElKP="},
		"only its hex start":    {"736b2d41422f43442b45464748494a3d", key, "736b2d41422f43442b45464748494a3d"},
		"longer than a window":  {strings.Repeat("ab", 99) + "c" + strings.Repeat("ab", 100) + "c", strings.Repeat("ab", 100) + "c", strings.Repeat("ab", 99) + "c[key]"},
	}
	for name, test := range tests {
		text := []byte(test.text)
		if got := Redact(text, test.secret); string(got) != test.want || string(text) != test.text {
			t.Errorf("%s: got %q of %q, want %q", name, got, text, test.want)
		}
	}
}

// TestRedactEncoded encodes keys as part of longer texts, as headers and tokens do. The rest
// decodes to no part of the key.
func TestRedactEncoded(t *testing.T) {
	type encoding interface{ EncodeToString(raw []byte) string }
	encodings := map[string]encoding{
		"standard": base64.StdEncoding, "standard, unpadded": base64.RawStdEncoding, "URL": base64.URLEncoding, "URL, unpadded": base64.RawURLEncoding,
	}
	for _, key := range []string{"sk-12345", "sk-123456", "sk-1234567", "sk-proj-" + strings.Repeat("A?b~c>-_", 20)} {
		for name, encoding := range encodings {
			for _, before := range []string{"", ":", "Bearer ", "user:", "api-key:"} {
				for _, after := range []string{"", "}", `"}`, `","x":1}`} {
					encoded := encoding.EncodeToString([]byte(before + key + after))
					tail := encoded[(8*(len(before)+len(key))+5)/6:] // what has no bits of the key
					if after == "" {
						tail = ""
					}
					want := `{"echo":"` + encoded[:8*len(before)/6] + redacted + tail + `"}`
					if got := string(Redact([]byte(`{"echo":"`+encoded+`"}`), key)); got != want {
						t.Errorf("%s of %q: got %s, want %s", name, before+key+after, got, want)
					}
				}
			}
		}
	}
}

// FuzzRedact compares the redacted ranges with the actual positions of the key.
func FuzzRedact(f *testing.F) {
	f.Add("Bearer ", "sk-AB/CD+EFGHIJ==", ", is bad")
	f.Add("aaaaaaaaaaaaa", "aaaaaaaab", "aaaaaaaaaaaaaaaaaaaa")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < minSecret {
			return
		}
		for _, middle := range []string{
			"", secret, secret[1:], secret + secret, hex.EncodeToString([]byte(before + secret + after)), fmt.Sprintf("%X", secret),
			base64.StdEncoding.EncodeToString([]byte(before + secret + after)), base64.RawURLEncoding.EncodeToString([]byte(before + secret + after)),
		} {
			text := []byte(before + middle + after)
			there := false
			for _, form := range encodings(secret) {
				there = there || bytes.Contains(text, []byte(form.text))
			}
			if got := Redact(text, secret); bytes.Equal(got, text) == there || there && !bytes.Contains(got, []byte(redacted)) {
				t.Errorf("%q in %q: got %q, want it found: %t", secret, text, got, there)
			}
		}
	})
}
