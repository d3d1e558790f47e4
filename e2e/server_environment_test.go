package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wantNoFileWith fails the test if any file below a directory contains a text.
func wantNoFileWith(t *testing.T, dir, text string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			t.Errorf("%s holds %s", path, text)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("files below %s: got %d and %v, want some", dir, files, err)
	}
}

// TestServerEnvironment gives a key to a server that reveals it in answers, errors and logs. No
// output and no stored file of a run contains the key or an argument of the server's command.
func TestServerEnvironment(t *testing.T) {
	const key, argument = "key-77b1f03a9c", "argument-4d1c9e"
	pack := filepath.Join("testdata", "pack", "environment")
	for _, command := range [][]string{{"pack", "show", pack}, {"run", "--agent", "oracle", "--pack", pack, "--out", filepath.Join(t.TempDir(), "out")}} {
		mustContain(t, command[0]+" without the key", refused(t, command...), "pack.yaml:5:23: needs: the environment variable DESK_KEY is missing; set it")
	}
	t.Setenv("DESK_KEY", key)
	t.Setenv("OTHER_KEY", "of-no-concern")
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), "run", "--agent", "oracle", "--pack", pack, "--out", out, "--log-level", "debug")
	printed, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("run: %v\n%s", err, printed)
	}
	conversation, err := os.ReadFile(filepath.Join(out, "trajectories", "tell_the_key", "conversation.json"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(key))
	mustContain(t, "conversation", string(conversation), hex.EncodeToString(sum[:]), "DESK_KEY", "PATH", "[redacted]", "the key [redacted] does not open this door")
	for _, text := range []string{"OTHER_KEY", key} {
		if strings.Contains(string(conversation), text) {
			t.Errorf("conversation: got\n%s\nwant no %s in it", conversation, text)
		}
	}
	for _, secret := range []string{key, argument} {
		wantNoFileWith(t, out, secret)
		if strings.Contains(string(printed), secret) {
			t.Errorf("the run prints %s:\n%s", secret, printed)
		}
	}
	mustContain(t, "show", toolsandbox(t, "pack", "show", pack), "read_environment")
}
