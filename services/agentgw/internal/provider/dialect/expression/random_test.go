package expression

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestParseRandomComprehensions compares random programs with the results of Python 3.11, which
// testdata/comprehension.py recorded. Parse may reject a program, but may not return another value.
func TestParseRandomComprehensions(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "comprehension.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cases, values, texts := 0, 0, 0
	for lines := bufio.NewScanner(file); lines.Scan(); cases++ {
		var c struct{ Source, Want string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got := parsed(c.Source, map[string]string{"FN_CALL_DELIMITER": "<<function>>"})
		switch {
		case got != c.Want && got != "":
			t.Errorf("Parse(%q): got %s, want %s", c.Source, got, c.Want)
		case got != c.Want:
			texts++
		case got != "":
			values++
		}
	}
	if cases < 1000 || values < cases/4 || texts > cases/20 {
		t.Errorf("got %d values and %d texts in place of one in %d cases, want at least a quarter and at most a twentieth of 1000 or more", values, texts, cases)
	}
}
