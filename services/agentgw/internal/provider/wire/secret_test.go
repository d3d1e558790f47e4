package wire

import "testing"

func TestHide(t *testing.T) {
	const key = "sk-AB/CD+EFGHIJ=="
	tests := map[string]struct{ text, secret, want string }{
		"as it is":       {"bad key sk-AB/CD+EFGHIJ==, twice sk-AB/CD+EFGHIJ==", key, "bad key [key], twice [key]"},
		"JSON":           {`{"detail":"bad key sk-AB\/CD+EFGHIJ\u003d\u003d"}`, key, `{"detail":"bad key [key]"}`},
		"JSON, slashes":  {`"sk-AB\/CD+EFGHIJ=="`, key, `"[key]"`},
		"URL, a query":   {"?key=sk-AB%2FCD%2BEFGHIJ%3D%3D&x=1", key, "?key=[key]&x=1"},
		"URL, a path":    {"/sk-AB%2FCD+EFGHIJ==/x", key, "/[key]/x"},
		"base64":         {"Basic c2stQUIvQ0QrRUZHSElKPT0=", key, "Basic [key]"},
		"not there":      {"sk-AB", key, "sk-AB"},
		"a placeholder":  {"please use the tool", "please", "please use the tool"},
		"no key":         {"text", "", "text"},
		"only its start": {"sk-AB/CD+EFGHIJ=", key, "sk-AB/CD+EFGHIJ="},
	}
	for name, test := range tests {
		text := []byte(test.text)
		if got := Hide(text, test.secret); string(got) != test.want || string(text) != test.text {
			t.Errorf("%s: got %q of %q, want %q", name, got, text, test.want)
		}
	}
}
