package e2e_test

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// command is a line of a shell block in a document, or a file that a block with the first line "#
// file: PATH" shows.
type command struct {
	document      string
	line          string
	file, content string
}

const fileMark = "# file: "

// smaller has arguments for documented commands that play all of a catalogue or many rollouts. With
// them they play a few: other tests play the catalogues.
var smaller = map[string]string{
	"go run ./e2e/cmd/slowmodel --delay 1s .bin/toolsandbox bench --agent openai:slow --model-delay 1s --rollouts 200 --parallel 200 report_all_switches": "--rollouts 16",
	"toolsandbox bench --pack library --rollouts 64":                                                     "--rollouts 8",
	"go run ./e2e/cmd/slowmodel -delay 1ms -calls 2 toolsandbox run --config prompts.yaml --out prompts": "turn_off_wifi which_mateo add_plumber",
	"go run ./e2e/cmd/slowmodel -delay 1ms -calls 2 toolsandbox run --config agents.yaml --out agents":   "turn_off_wifi which_mateo add_plumber",
	"toolsandbox run --agent random --results parquet --out out":                                         "turn_off_wifi which_mateo add_plumber",
	"toolsandbox run --agent random --until-width 0.2 --trials 4 --out measured":                         "--until-width 0.9 'turn_off_*'",
	"toolsandbox run --agent unhelpful --against random --until-decided --trials 4 --out told":           "'turn_off_*'",
	"toolsandbox run --pack euroeval --agent oracle --out records":                                       "simple_de_1 simple_de_2 irrelevance_de_1",
}

// TestLongDocumentedCommands runs every command of a `sh` block in a document, with the arguments
// of smaller. The commands of one document share a directory and run in order.
func TestLongDocumentedCommands(t *testing.T) {
	t.Parallel()
	commands := documented(t)
	for line := range smaller {
		if !slices.ContainsFunc(commands, func(c command) bool { return c.line == line }) {
			t.Errorf("smaller: no document has the command %q", line)
		}
	}
	if len(commands) < 10 {
		t.Errorf("documented commands: got %d, want at least 10", len(commands))
	}
	for document, commands := range byDocument(commands) {
		t.Run(document, func(t *testing.T) {
			t.Parallel()
			dir := newWorkDir(t)
			for _, c := range commands {
				runDocumented(t, c, dir)
			}
		})
	}
}

func byDocument(commands []command) map[string][]command {
	documents := make(map[string][]command)
	for _, c := range commands {
		documents[c.document] = append(documents[c.document], c)
	}
	return documents
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
	if arguments, ok := smaller[c.line]; ok {
		line += " " + arguments
	}
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

var pictureLine = regexp.MustCompile(`(?m)^<text .*?>(.*)</text>$`)

// TestReadmePicture compares the README's picture with the output of the commands beside it.
func TestReadmePicture(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(filepath.Join("..", "docs", "images", "explain.svg"))
	if err != nil {
		t.Fatal(err)
	}
	var drawn []string
	for _, match := range pictureLine.FindAllSubmatch(picture, -1) {
		drawn = append(drawn, html.UnescapeString(string(match[1])))
	}
	out := filepath.Join(t.TempDir(), "wifi")
	toolsandbox(t, "run", "--agent", "random:7", "--out", out, "wifi_while_saving_battery")
	printed := []string{"$ toolsandbox explain wifi wifi_while_saving_battery"}
	for line := range strings.Lines(toolsandbox(t, "explain", out, "wifi_while_saving_battery")) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			printed = append(printed, line)
		}
	}
	if diff := cmp.Diff(printed, drawn); diff != "" {
		t.Errorf("docs/images/explain.svg: run `make picture` (-printed +drawn):\n%s", diff)
	}
	for _, line := range []string{"run --agent random:7 --out wifi wifi_while_saving_battery\n", "explain wifi wifi_while_saving_battery\n", "(docs/images/explain.svg)"} {
		if !strings.Contains(string(readme), line) {
			t.Errorf("README.md: no %q beside the picture", line)
		}
	}
}

// TestPythonPageExample checks that the program in python/README.md is part of the tested example.
func TestPythonPageExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "python", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join("..", "python", "interp", "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(page), "```go\n")
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		if !strings.Contains(string(example), strings.TrimSpace(line)+"\n") {
			t.Errorf("python/README.md: the example has no line %q", line)
		}
	}
	if !found {
		t.Error("python/README.md has no block of go")
	}
}

// TestArchitectureTree checks that the tree of docs/architecture.md names every folder of the
// repository, every package that is shared, and every package about scenarios or runs.
func TestArchitectureTree(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tree, _ := strings.Cut(string(page), "## Source tree")
	tree, _, _ = strings.Cut(tree, "\n## ")
	for dir, row := range map[string]string{
		"..": "`%s", filepath.Join("..", "internal"): "`%s`", filepath.Join("..", "scenario"): "`%s`", filepath.Join("..", "runs"): "`%s`",
	} {
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

// pages are the Markdown files of the repository outside testdata, as paths from its root.
func pages(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", ":!*testdata*").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// prose returns a page with its code blocks blanked, so that lines keep their numbers.
func prose(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	lines, code := strings.Split(string(text), "\n"), false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || code {
			lines[i] = ""
		}
		code = code != fence
	}
	return lines
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	quotedPath = regexp.MustCompile("`([A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._/-]*)`")
	packFile   = regexp.MustCompile(`^tools/[^/]+\.(py|json)$`)
	testName   = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w*`)
	scriptName = regexp.MustCompile(`Test(Long)?Scripts/(\w+)`)
	punctuated = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestDocumentLinks checks that each relative link of a page leads to a file and, if it names one,
// to a heading.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for i, line := range prose(t, page) {
			for _, match := range linkTarget.FindAllStringSubmatch(line, -1) {
				path, heading, _ := strings.Cut(match[1], "#")
				if strings.Contains(match[1], "://") {
					continue
				}
				target := page
				if path != "" {
					target = filepath.Join(filepath.Dir(page), path)
				}
				if !exists(target) {
					t.Errorf("%s:%d: %s does not exist", page, i+1, match[1])
				} else if heading != "" && !slices.Contains(headings(t, target), heading) {
					t.Errorf("%s:%d: %s: no such heading", page, i+1, match[1])
				}
			}
		}
	}
}

// exists reports whether the repository has a file or folder of this path.
func exists(path string) bool {
	_, err := os.Stat(filepath.Join("..", path))
	return err == nil
}

// headings are the anchors of a page's headings.
func headings(t *testing.T, page string) (anchors []string) {
	t.Helper()
	for _, line := range prose(t, page) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			anchors = append(anchors, strings.ReplaceAll(punctuated.ReplaceAllString(strings.ToLower(title), ""), " ", "-"))
		}
	}
	return anchors
}

// TestDocumentPaths checks that each path in backticks exists if its first element is a folder of
// the repository or of the page's own folder. A path with a capital stands for others, and a file
// directly in tools/ is one of a pack.
func TestDocumentPaths(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for i, line := range prose(t, page) {
			for _, match := range quotedPath.FindAllStringSubmatch(line, -1) {
				path := match[1]
				first, _, _ := strings.Cut(path, "/")
				folder := exists(first) || exists(filepath.Join(filepath.Dir(page), first))
				other := strings.ContainsFunc(path, unicode.IsUpper) || packFile.MatchString(path)
				if folder && !other && !exists(path) && !exists(filepath.Join(filepath.Dir(page), path)) {
					t.Errorf("%s:%d: %s does not exist", page, i+1, path)
				}
			}
		}
	}
}

// TestNoticePaths checks that each path that NOTICE names exists.
func TestNoticePaths(t *testing.T) {
	t.Parallel()
	notice, err := os.ReadFile(filepath.Join("..", "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq(string(notice)) {
		if first, _, found := strings.Cut(word, "/"); found && first != "" && exists(first) && !exists(word) {
			t.Errorf("NOTICE: %s does not exist", word)
		}
	}
}

// TestDocumentedTests checks that each test that a page names exists.
func TestDocumentedTests(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "git", "-C", "..", "grep", "--untracked", "-hoE", `^func (Test|Benchmark|Fuzz)\w+`, "--", "*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	functions := strings.Fields(string(out))
	for _, page := range pages(t) {
		text := strings.Join(prose(t, page), "\n")
		for _, name := range testName.FindAllString(text, -1) {
			prefix := strings.Contains(text, name+"…") || strings.Contains(text, "begin with "+name)
			if !slices.ContainsFunc(functions, func(f string) bool { return f == name || prefix && strings.HasPrefix(f, name) }) {
				t.Errorf("%s: no test is called %s", page, name)
			}
		}
		for _, match := range scriptName.FindAllStringSubmatch(text, -1) {
			if !exists(filepath.Join("e2e", "testdata", "script", strings.ToLower(match[1]), match[2]+".txtar")) {
				t.Errorf("%s: no script is called %s", page, match[2])
			}
		}
	}
}

var (
	decisionTitle = regexp.MustCompile(`^# (\d+)\. (.+)`)
	decisionState = regexp.MustCompile(`(?m)^\*\*Status:\*\* ((accepted)|(superseded by|merged into) (?:\[\d+\]\([\w.-]+\)|\d+)(?: and (?:\[\d+\]\([\w.-]+\)|\d+))*)$`)
)

// TestDecisions checks that decisions are numbered without holes, that each has a state and at most
// one page, and that the index has a row for each with the same number, title and state.
func TestDecisions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "docs", "decisions")
	index, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "0*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		name := filepath.Base(file)
		if !strings.HasPrefix(name, fmt.Sprintf("%04d-", i+1)) {
			t.Fatalf("docs/decisions: %s follows number %d", name, i)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		title, state := decisionTitle.FindSubmatch(text), decisionState.FindSubmatch(text)
		if title == nil || string(title[1]) != strconv.Itoa(i+1) || state == nil {
			t.Errorf("%s: want a title `# %d. …` and a line `**Status:** accepted`, `superseded by N` or `merged into N`", name, i+1)
			continue
		}
		if row := fmt.Sprintf("| [%d](%s) | %s | %s | ", i+1, name, title[2], state[1]); !strings.Contains(string(index), row) {
			t.Errorf("docs/decisions/README.md: no row begins with\n%s", row)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > 60 {
			t.Errorf("%s: %d lines, want one page (60)", name, lines)
		}
	}
	if got := strings.Count(string(index), "\n| ["); got != len(files) {
		t.Errorf("docs/decisions/README.md: %d rows for %d decisions", got, len(files))
	}
}
