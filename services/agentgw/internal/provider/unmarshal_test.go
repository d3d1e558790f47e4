package provider

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	tests := map[string]int{
		``: 1, `1`: 1, `"a,b{[\","`: 1, `[]`: 2, `[1,2]`: 3, `{"a":{"b\\":[1,"\\",3]}}`: 6, `"\`: 1,
	}
	for body, want := range tests {
		if got := values([]byte(body)); got != want {
			t.Errorf("values(%q): got %d, want %d", body, got, want)
		}
	}
}

// TestUnmarshal rejects bodies that would take a thousand times their size in memory.
func TestUnmarshal(t *testing.T) {
	list := func(n int) []byte { return []byte("[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]") }
	var into json.RawMessage
	if err := Unmarshal(list(maxValues-2), &into); err != nil {
		t.Errorf("Unmarshal(%d elements): got %v, want none", maxValues-2, err)
	}
	if err := Unmarshal(list(maxValues), &into); err == nil || !strings.Contains(err.Error(), "values, expected at most 65536") {
		t.Errorf("Unmarshal(%d elements): got %v, want too many values", maxValues, err)
	}
}
