package e2e_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// command is one line of a shell block in a document.
type command struct {
	document string
	line     string
}

// TestLongDocumentedCommands runs every command that a document shows in a `sh` block. Commands of
// one document share a directory and run in their order.
func TestLongDocumentedCommands(t *testing.T) {
	commands := documented(t)
	directories := make(map[string]string)
	for _, c := range commands {
		if directories[c.document] == "" {
			directories[c.document] = workplace(t)
		}
		runDocumented(t, c, directories[c.document])
	}
	if len(commands) < 10 {
		t.Errorf("documented commands: got %d, want at least 10", len(commands))
	}
}

// workplace returns an empty directory in which the repository's own folders can be named as from
// its root.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"e2e", "scenarios"} {
		target, err := filepath.Abs(filepath.Join("..", folder))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runDocumented(t *testing.T, c command, dir string) {
	t.Helper()
	line := strings.Replace(c.line, "go run ./cmd/toolsandbox ", "toolsandbox ", 1)
	var cmd *exec.Cmd
	switch program, rest, _ := strings.Cut(line, " "); program {
	case "toolsandbox":
		cmd = exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	case "make": // that the target exists; running the tests from a test would not end
		cmd = exec.CommandContext(t.Context(), "sh", "-c", "make -n "+rest)
		cmd.Dir = ".."
	case "kubectl": // there is no cluster here; make check validates what it would apply
		path := line[strings.LastIndexByte(line, ' ')+1:]
		if _, err := os.Stat(filepath.Join("..", path)); err != nil {
			t.Errorf("%s: %q: %v", c.document, c.line, err)
		}
		return
	default:
		t.Errorf("%s: %q: no way to run this", c.document, c.line)
		return
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %q: %v\n%s", c.document, c.line, err, out)
	}
}

// documented returns the commands of all documents, by document, in their order.
func documented(t *testing.T) []command {
	t.Helper()
	var commands []command
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".bin", "testdata", "data", "out", "node_modules"}, entry.Name()) {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "```"):
				inside = line == "```sh"
			case inside && line != "" && !strings.HasPrefix(line, "#"):
				commands = append(commands, command{document: strings.TrimPrefix(path, "../"), line: line})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return commands
}
