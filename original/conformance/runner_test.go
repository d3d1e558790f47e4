package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeFile writes a file to a temporary directory and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDetectKind(t *testing.T) {
	for _, test := range []struct{ file, line, want string }{
		{"x.jsonl", `{"world": "", "setup_calls": [], "tool": "", "arguments": ""}`, "call"},
		{"parallel.jsonl", `{"world": "", "setup_calls": [], "calls": []}`, "parallel calls"},
		{"parallel.jsonl", `{"scenario": "", "variant": "", "agent": [], "user": [], "result": {}}`, "trajectory"},
		{"raw_source.jsonl", `{"world": "", "setup_calls": [], "source": ""}`, "source"},
		{"random.jsonl", `{"messages": [], "tables": {}, "milestones": {}, "minefields": {}, "result": {}}`, "evaluation"},
		{"unit_conversion.jsonl", `{"world": "", "setup_calls": [], "tool": "", "arguments": ""}`, "call"},
		{"unit_conversion.jsonl", `{"arguments": "", "content": "", "exception": null}`, "unit_conversion"},
		{"repr.jsonl", "\n" + `{"json": "", "repr": "''"}`, "repr"},
		{"stem.jsonl", `{"token": "", "stem": ""}`, "stem"},
		{"dict_literal.jsonl", `{"arguments": "{}"}`, "literal"},
		{"other.jsonl", `{"json": "", "repr": "''"}`, ""},
		{"repr.jsonl", `{"token": "", "stem": ""}`, ""},
		{"repr.jsonl", "[]", ""},
		{"repr.jsonl", "null", ""},
		{"repr.jsonl", "", ""},
	} {
		path := writeFile(t, test.file, test.line+"\n")
		got, err := detectKind(path)
		if got.name != test.want || errors.Is(err, ErrKind) != (test.want == "") || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("detectKind %s with %s: got %q and %v, want %q", test.file, test.line, got.name, err, test.want)
		}
	}
}

func TestFile(t *testing.T) {
	const cases = 1000
	var lines strings.Builder
	for i := range cases {
		want := fmt.Sprint(i)
		if i >= 500 && i%2 == 0 {
			want = "no"
		}
		fmt.Fprintf(&lines, "{\"json\": %d, \"repr\": %q}\n\n", i, want)
	}
	path := writeFile(t, "repr.jsonl", lines.String()+"{\n")
	got, err := New(Services{}, Config{Parallel: 8, MaxDifferences: 2}).File(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	want := &Report{Path: path, Kind: "repr", Cases: cases + 1, Differ: 251, Differences: []Difference{
		{Line: 1001, Field: "repr", Want: "no", Got: "500"},
		{Line: 1005, Field: "repr", Want: "no", Got: "502"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if got.Passed() != 750 {
		t.Errorf("passed: got %d, want 750", got.Passed())
	}
}

func TestFileCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := writeFile(t, "repr.jsonl", strings.Repeat("{\"json\": 1, \"repr\": \"1\"}\n", 100))
	if report, err := New(Services{}, Config{Parallel: 2}).File(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("File after a cancel = %v, %v, want context.Canceled", report, err)
	}
}

func TestFileNotRun(t *testing.T) {
	for _, test := range []struct {
		file, line, want string
		scoreOnly        bool
	}{
		{"stem.jsonl", `{"token": "", "stem": ""}`, "tested in internal/ported/rouge", false},
		{"repr.jsonl", `{"json": 1, "repr": "2"}`, "nothing to score", true},
	} {
		report, err := New(Services{}, Config{Parallel: 1, ScoreOnly: test.scoreOnly}).File(t.Context(), writeFile(t, test.file, test.line))
		if err != nil || report.NotRun != test.want || report.Differ != 0 {
			t.Errorf("%s: got %+v and %v, want not run: %s", test.file, report, err, test.want)
		}
	}
	for file, line := range map[string]string{
		"calls.jsonl":  `{"world": "", "setup_calls": [], "tool": "", "arguments": ""}`,
		"follow.jsonl": `{"scenario": "", "variant": "", "agent": [], "user": [], "result": {}}`,
	} {
		path := writeFile(t, file, line)
		report, err := New(Services{}, Config{Parallel: 1}).File(t.Context(), path)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s without what it refers to: got %+v and %v, want an error that names it", file, report, err)
		}
	}
}

func TestLiterals(t *testing.T) {
	path := writeFile(t, "dict_literal.jsonl", `{"arguments": "{\"a\": null}", "literal": "{'a': None}", "content": "call_1_parameters = {'a': None}\ncall_1_response = search_contacts(**call_1_parameters)\nprint(repr(call_1_response))"}
{"arguments": "{", "exception_type": "JSONDecodeError", "exception": "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"}
{"arguments": "{", "literal": "{}", "content": ""}
`)
	report, err := New(Services{}, Config{Parallel: 1, MaxDifferences: 5}).File(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if report.Cases != 3 || report.Differ != 1 || report.Differences[0].Line != 3 {
		t.Errorf("report: got %+v, want only line 3 to differ", report)
	}
}

func TestFiles(t *testing.T) {
	path := writeFile(t, "vectors/calls/a.jsonl", "")
	root := filepath.Dir(filepath.Dir(path))
	for _, name := range []string{"b.jsonl", "README.md"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	got, err := Files([]string{root, filepath.Join(root, "README.md"), link})
	want := []string{
		filepath.Join(root, "b.jsonl"), filepath.Join(root, "calls", "a.jsonl"), filepath.Join(root, "README.md"),
		filepath.Join(link, "b.jsonl"), filepath.Join(link, "calls", "a.jsonl"),
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("files: error %v (-want +got):\n%s", err, diff)
	}
	for _, path := range []string{filepath.Join(root, "gone"), t.TempDir()} {
		if files, err := Files([]string{path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("Files(%s) = %v, %v, want an error that names it", path, files, err)
		}
	}
}

func TestFindWorlds(t *testing.T) {
	vectors := filepath.Dir(writeFile(t, "scenarios.json", ""))
	tools := filepath.Join(vectors, "tools", "calls")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	worlds := filepath.Join(vectors, "tools", "worlds.json")
	if err := os.WriteFile(worlds, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	apart := filepath.Join(t.TempDir(), "a.jsonl")
	for _, test := range []struct{ path, scenarios, want string }{
		{filepath.Join(tools, "a.jsonl"), "", worlds},
		{apart, filepath.Join(vectors, "scenarios.json"), worlds},
		{apart, "", ""},
	} {
		if got, err := findWorlds(test.path, test.scenarios); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("findWorlds(%s, %s) = %q, %v, want %q", test.path, test.scenarios, got, err, test.want)
		}
	}
}

func TestWriteText(t *testing.T) {
	long := strings.Repeat("é", 300)
	report := &Report{
		Path: "a.jsonl", Cases: 9, Differ: 4, NotCompared: 1,
		Missing: []MissingTool{{Tool: "f", Cases: 2}},
		Differences: []Difference{
			{Line: 3, Field: "content", Want: "a\nb", Got: "null"},
			{Line: 5, Field: "content", Want: long + "x" + long, Got: long + "y"},
		},
	}
	before, after := strings.Repeat("é", 30), strings.Repeat("é", 69)
	want := "a.jsonl: 9 cases, 4 differ, 1 not compared; tool f is missing (2)\n" +
		"  line 3, content\n    want a\\nb\n    got  null\n" +
		"  line 5, content\n    want …" + before + "x" + after + "…\n    got  …" + before + "y\n"
	var got strings.Builder
	if err := report.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}
