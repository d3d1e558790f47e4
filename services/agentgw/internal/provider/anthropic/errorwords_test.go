package anthropic

import "testing"

// TestErrorWords tells an account without credit from other mistakes of the same type.
func TestErrorWords(t *testing.T) {
	for _, test := range []struct {
		kind, message string
		status        int
		noCredit      bool
	}{
		{"invalid_request_error", "Your credit balance is too low to access the Anthropic API.", 400, true},
		{"invalid_request_error", "max_tokens: expected a positive number", 400, false},
		{"billing_error", "m", 402, true},
		{"overloaded_error", "Overloaded", 529, false},
		{"odd_error", "m", 0, false},
	} {
		words := Spec().Errors
		if status, noCredit := words.Status("", test.kind), words.IsNoCredit("", test.kind, test.message); status != test.status || noCredit != test.noCredit {
			t.Errorf("%s, %s: got %d and %v, want %d and %v", test.kind, test.message, status, noCredit, test.status, test.noCredit)
		}
	}
}
