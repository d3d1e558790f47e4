package results

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestUmask writes a new file under a umask that keeps files private.
func TestUmask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	before := syscall.Umask(0o077)
	err := WriteFile(path, []byte("private"))
	syscall.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode(); got != 0o600 {
		t.Errorf("permissions of a new file: got %o, want 600", got)
	}
}
