package scenarios

import (
	"io/fs"
	"os"
	"testing"
)

// TestFS checks that every file of the catalogue is embedded as it stands.
func TestFS(t *testing.T) {
	for _, pattern := range []string{"*.yaml", "worlds/*.yaml"} {
		want, err := fs.Glob(os.DirFS("."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fs.Glob(FS, pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || len(got) == 0 {
			t.Errorf("%s: got %v, want %v", pattern, got, want)
		}
		for _, name := range got {
			embedded, err := FS.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if onDisk, err := os.ReadFile(name); err != nil || string(embedded) != string(onDisk) {
				t.Errorf("%s: embedded content differs from the file's (%v)", name, err)
			}
		}
	}
}
