package catalogue

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

// TestOriginalNames compares the list of names with the original's catalogue.
func TestOriginalNames(t *testing.T) {
	raw, err := os.ReadFile(vectortest.Dir(t, "scenarios.json"))
	if err != nil {
		t.Fatal(err)
	}
	var catalogue struct {
		Scenarios []struct {
			Name     string
			Variants map[string]any
		}
	}
	if err := json.Unmarshal(raw, &catalogue); err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, scenario := range catalogue.Scenarios {
		for suffix := range scenario.Variants {
			names[scenario.Name+suffix] = true
			if name := scenario.Name + suffix; !isOriginal(name) {
				t.Errorf("isOriginal(%s): got false, want true", name)
			}
		}
	}
	for _, name := range originalTests() {
		if !names[name] {
			t.Errorf("test scenarios: got %s, which the original does not have", name)
		}
	}
	if got := strings.Count(originalNames, "\n"); got != len(catalogue.Scenarios) {
		t.Errorf("names: got %d, want %d", got, len(catalogue.Scenarios))
	}
}
