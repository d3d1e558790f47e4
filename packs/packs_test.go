package packs

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
)

// TestOpen checks that the files of every built-in pack are embedded as they are in its directory.
func TestOpen(t *testing.T) {
	for _, name := range Names() {
		embedded, err := Open(name)
		if err != nil {
			t.Errorf("Open(%q): got %v, want its files", name, err)
			continue
		}
		got, want := contents(t, embedded), contents(t, os.DirFS(name))
		for path, text := range want {
			if got[path] != text {
				t.Errorf("%s/%s: the embedded file differs from the one in the directory", name, path)
			}
		}
		if len(got) != len(want) || len(got) == 0 {
			t.Errorf("%s: got %d embedded files, want %d", name, len(got), len(want))
		}
	}
	for _, name := range []string{"unknown", "", ".", "phone/worlds"} {
		if _, err := Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q): got %v, want fs.ErrNotExist", name, err)
		}
	}
	if !slices.IsSorted(Names()) {
		t.Errorf("Names: got %v, want them sorted", Names())
	}
}

func contents(t *testing.T, files fs.FS) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		texts[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
