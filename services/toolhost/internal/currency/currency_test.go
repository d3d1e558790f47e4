package currency

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(vectortest.Dir(t, "tools/currencies.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Three []string `json:"accepted_three_letter"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for a := 'a'; a <= 'z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			for c := 'a'; c <= 'z'; c++ {
				if code := string([]rune{a, b, c}); Valid(code) {
					got = append(got, strings.ToUpper(code))
				}
			}
		}
	}
	if diff := cmp.Diff(want.Three, got); diff != "" {
		t.Errorf("accepted codes (-want +got):\n%s", diff)
	}
	t.Logf("currencies.json: %d codes", len(got))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "US", " USD", "USD\n", "Euro", "$", "日本円"} {
		want := "ValueError: " + code + " is not a known 3 letter ISO 4217 currency code"
		if err := Check(code); err == nil || err.Error() != want {
			t.Errorf("Check(%q) = %v, want %s", code, err, want)
		}
	}
	if err := Check("eUr"); err != nil {
		t.Errorf("Check(eUr) = %v", err)
	}
}
