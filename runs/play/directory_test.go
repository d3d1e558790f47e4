package play

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/standalone"
)

// TestDirectoryInUse opens a directory twice, as two runs do that got the same --out.
func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	first, err := openDirectory(path, false)
	if err != nil {
		t.Fatal(err)
	}
	want := "output directory " + path + " is in use by another process: wait until it ends"
	if _, err := openDirectory(path, false); !errors.Is(err, standalone.ErrInUse) || !strings.Contains(err.Error(), want) {
		t.Errorf("opened twice: got %v, want %q", err, want)
	}
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	second, err := openDirectory(path, false)
	if err != nil {
		t.Fatalf("after the first: got %v, want no error", err)
	}
	if err := second.release(); err != nil {
		t.Error(err)
	}
}
