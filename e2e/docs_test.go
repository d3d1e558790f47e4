package e2e_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// command is a line of a shell block in a document, or a file that a block with the first line "#
// file: PATH" shows.
type command struct {
	document      string
	line          string
	file, content string
}

const fileMark = "# file: "

// TestLongDocumentedCommands runs every command of a `sh` block in a document. The commands of one
// document share a directory and run in order.
func TestLongDocumentedCommands(t *testing.T) {
	commands := documented(t)
	directories := make(map[string]string)
	for _, c := range commands {
		if directories[c.document] == "" {
			directories[c.document] = newWorkDir(t)
		}
		runDocumented(t, c, directories[c.document])
	}
	if len(commands) < 10 {
		t.Errorf("documented commands: got %d, want at least 10", len(commands))
	}
}

// newWorkDir returns an empty directory with links to the repository's folders.
func newWorkDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"e2e", "examples", "packs"} {
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
	if c.file != "" {
		path := filepath.Join(dir, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	line := strings.NewReplacer("go run ./cmd/toolsandbox ", "toolsandbox ", "go run ./e2e/cmd/slowmodel ", "slowmodel ", "go run ./original/cmd/conformance ", "conformance ", " .bin/", " ").Replace(c.line)
	var cmd *exec.Cmd
	switch program, rest, _ := strings.Cut(line, " "); program {
	case "toolsandbox", "slowmodel", "conformance":
		cmd = exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	case "make": // check only that the target exists, because running tests from a test would not end
		cmd = exec.CommandContext(t.Context(), "sh", "-c", "make -n "+rest)
		cmd.Dir = ".."
	case "kubectl": // without a cluster; make check validates the manifests
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
		commands = append(commands, documentedIn(strings.TrimPrefix(path, "../"), string(text))...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return commands
}

// documentedIn returns the commands and the files of one document, in their order.
func documentedIn(document, text string) (commands []command) {
	shell, file := false, false
	for raw := range strings.Lines(text) {
		line := strings.TrimSpace(raw)
		switch {
		case strings.HasPrefix(line, "```"):
			shell, file = line == "```sh", false
		case strings.HasPrefix(raw, fileMark):
			file = true
			commands = append(commands, command{document: document, file: strings.TrimPrefix(line, fileMark)})
		case file:
			commands[len(commands)-1].content += raw
		case shell && line != "" && !strings.HasPrefix(line, "#"):
			commands = append(commands, command{document: document, line: line})
		}
	}
	return commands
}

// TestArchitectureTree checks that the tree of docs/architecture.md names every folder of the
// repository and every package that is shared.
func TestArchitectureTree(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tree, _ := strings.Cut(string(page), "## Source tree")
	tree, _, _ = strings.Cut(tree, "\n## ")
	for dir, row := range map[string]string{"..": "`%s", filepath.Join("..", "internal"): "`%s`"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			hidden := strings.HasPrefix(entry.Name(), ".") || exec.CommandContext(t.Context(), "git", "check-ignore", "--quiet", filepath.Join(dir, entry.Name())).Run() == nil
			if entry.IsDir() && !hidden && !strings.Contains(tree, fmt.Sprintf(row, entry.Name())) {
				t.Errorf("docs/architecture.md: no %s in the source tree", filepath.Join(dir, entry.Name()))
			}
		}
	}
}
