package storage_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// TestBatch writes files that appear together, or not at all.
func TestBatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	broken := errors.New("broken")
	begin := func(dir string) *storage.Batch {
		t.Helper()
		batch, err := storage.NewBatch(dir)
		if err != nil {
			t.Fatal(err)
		}
		return batch
	}
	ended := func(name string, batch *storage.Batch, err, want error) {
		t.Helper()
		if paths, err := batch.End(err); !errors.Is(err, want) || len(paths) > 0 {
			t.Errorf("%s: got %q and %v, want %v", name, paths, err, want)
		}
	}
	batch := begin(filepath.Join(dir, "new"))
	ended("failure", batch, errors.Join(batch.Add("a", text), batch.Add("b/c", func(io.Writer) error { return broken })), broken)
	batch = begin(dir)
	if err := errors.Join(batch.Add("x", text), batch.Add("d/y", text)); err != nil {
		t.Fatal(err)
	}
	other := begin(dir)
	if err := errors.Join(other.Add("a", text), other.Add("d/y", text)); err != nil {
		t.Fatal(err)
	}
	raced := begin(filepath.Join(dir, "d"))
	want := []string{filepath.Join(dir, "x"), filepath.Join(dir, "d", "y")}
	if paths, err := batch.End(nil); err != nil || !slices.Equal(paths, want) {
		t.Errorf("got %q and %v, want %q", paths, err, want)
	}
	ended("a file that came meanwhile", other, nil, fs.ErrExist)
	ended("a directory that came meanwhile", raced, raced.Add("z", text), fs.ErrExist)
	batch = begin(dir)
	ended("a file that exists", batch, batch.Add("x", text), fs.ErrExist)
	if names, err := storage.ReadDir(dir); err != nil || !slices.Equal(names, []string{"d/", "x"}) {
		t.Errorf("left: got %q and %v, want d and x", names, err)
	}
	for _, wrong := range []string{filepath.Join(dir, "x"), filepath.Join(dir, "x", "below"), "s3://bucket/x"} {
		if _, err := storage.NewBatch(wrong); !errors.Is(err, storage.ErrNoDirectory) {
			t.Errorf("%s: got %v, want %v", wrong, err, storage.ErrNoDirectory)
		}
	}
	if err := begin(dir).Add("../x", text); err == nil {
		t.Error("a path outside: got no error")
	}
	if data, err := os.ReadFile(want[1]); err != nil || string(data) != "text" {
		t.Errorf("content: got %q and %v", data, err)
	}
}
