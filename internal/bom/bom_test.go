package bom

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReadFile removes one mark at the beginning and nothing else.
func TestReadFile(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "\ufeff": "", "\ufeffa\ufeff": "a\ufeff", "\ufeff\ufeffa": "\ufeffa", "\xef\xbba": "\xef\xbba",
	} {
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%q: got %q and %v, want %q", text, got, err, want)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("a missing file: got %v, want that it is missing", err)
	}
}
