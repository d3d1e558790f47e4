package lenient

import (
	"encoding/json"
	"errors"
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
	if err := Unmarshal(list(maxValues-2), &into, nil); err != nil {
		t.Errorf("Unmarshal(%d elements): got %v, want none", maxValues-2, err)
	}
	if err := Unmarshal(list(maxValues), &into, nil); err == nil || !strings.Contains(err.Error(), "values, expected at most 65536") {
		t.Errorf("Unmarshal(%d elements): got %v, want too many values", maxValues, err)
	}
}

// TestUnmarshalNumbers quotes numbers that JSON does not know, and nothing else.
func TestUnmarshalNumbers(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":NaN,"b":[Infinity,-Infinity],"c":"NaN, \"NaN"}`: `{"a":"NaN","b":["Infinity","-Infinity"],"c":"NaN, \"NaN"}`,
		`[nan,-inf]`: `["nan","-inf"]`, `[NaNs]`: "", `[NaN`: "", `{"a":"NaN"}`: `{"a":"NaN"}`,
	} {
		var got json.RawMessage
		if err := Unmarshal([]byte(body), &got, nil); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("Unmarshal(%s): got %s and %v, want %q", body, got, err, want)
		}
	}
}

// TestUnmarshalIncomplete tells a body that breaks off from one that is no JSON.
func TestUnmarshalIncomplete(t *testing.T) {
	var into json.RawMessage
	for body, want := range map[string]bool{"": true, " ": true, `{"a":[1`: true, `{"a":"x`: true, "OK": false, `{"a":x}`: false, `{} {}`: false, "{}\x00": false, `{"a":1}}`: false} {
		if err := Unmarshal([]byte(body), &into, nil); errors.Is(err, ErrIncomplete) != want || err == nil {
			t.Errorf("Unmarshal(%q): got %v, want ErrIncomplete: %t", body, err, want)
		}
	}
}
