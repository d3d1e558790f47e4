package pack

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// TestScenarioSections checks that a file is split before each scenario, and other files are not
// split.
func TestScenarioSections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"two", "a:\n  b: c\nd: {e: f}\n", []string{"a:\n  b: c\n", "d: {e: f}\n"}},
		{"comments and empty lines", "# x\n\na:\n  b: c\n# y\n\nd:\n", []string{"# x\n\na:\n  b: c\n# y\n\n", "d:\n"}},
		{"block text", "a:\n  b: |\n    d: e\n\n    f\nd:\n", []string{"a:\n  b: |\n    d: e\n\n    f\n", "d:\n"}},
		{"begin of a document", "---\na: {}\nb: {}\n", []string{"---\na: {}\n", "b: {}\n"}},
		{"quoted names", "\"a\":\n  b: c\n\"d e\": {}\n", []string{"\"a\":\n  b: c\n", "\"d e\": {}\n"}},
		{"braces", "{\na: {},\nb: {}\n}\n", []string{"{\na: {},\nb: {}\n}\n"}},
		{"text that goes on in the first column", "a: \"b\nc\"\nd: {}\n", []string{"a: \"b\nc\"\nd: {}\n"}},
		{"CRLF", "a: {}\r\nb: {}\r\n", []string{"a: {}\r\nb: {}\r\n"}},
	} {
		var got []string
		for _, part := range scenarioSections(&document.Reader{}, []byte(c.text)) {
			got = append(got, part.Text)
			before, _, _ := strings.Cut(c.text, part.Text)
			if want := strings.Count(before, "\n"); part.Before != want {
				t.Errorf("%s: %q stands behind %d lines, want %d", c.name, part.Text, part.Before, want)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: sections (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestScenarioFileErrors checks mistakes of a whole file with their positions.
func TestScenarioFileErrors(t *testing.T) {
	t.Parallel()
	fields := strings.ReplaceAll(indented(testScenario), "\n", "\r\n")
	for _, c := range []struct{ name, text, want string }{
		{"two documents", named("one", testScenario) + "---\n" + named("two", testScenario),
			"a.yaml:17:1: document: a file of scenarios is one mapping from names to scenarios; leave --- out"},
		{"two documents with CRLF", "one:\r\n" + fields + "---\r\ntwo:\r\n" + fields,
			"a.yaml:18:1: document: a file of scenarios is one mapping from names to scenarios; leave --- out"},
		{"no name", "user:\n  goal: Wifi off.\n", "a.yaml:1:1: user: is a field of a scenario, and stands under the name of one, indented by two spaces"},
		{"no fields", "one:\n", "a.yaml:1:6: one: is nothing, expected a mapping"},
		{"name twice", named("one", testScenario) + named("one", testScenario),
			`a.yaml:17:1: one: another scenario is called "one" too, at a.yaml:1:1; names must be unique`},
		{"name twice with CRLF", "one:\r\n" + fields + "one:\r\n" + fields, "a.yaml:17:1: one: is written twice; keep one"},
		{"bad name", named("o/e", testScenario),
			`a.yaml:1:1: o/e: is "o/e", expected up to 200 letters, digits, dots, dashes and underscores that start with a letter or digit`},
		{"name of a variant", named("one", testScenario) + named("one_confirmation", testScenario),
			"a.yaml:17:1: one_confirmation: ends in _confirmation, as the names of variants do, by which scores cluster: take another name, or list its augmentations"},
		{"name of a trial", named("one", testScenario) + named("one_trial_0", testScenario),
			"a.yaml:17:1: one_trial_0: ends in _trial_0, as the names of trials do, by which their scenarios are found: take another name"},
		{"tab", "one:\n\tworld: base\n", "a.yaml:2:1: document: not readable as YAML: the line is indented with a tab; write spaces, two for each level"},
		{"anchor", "one: &a\n  world: base\ntwo: *a\n", "a.yaml:1:6: one: anchors and aliases are not read; write the value out"},
	} {
		fsys := fstest.MapFS{"a.yaml": {Data: []byte(c.text)}, "worlds/base.yaml": {Data: []byte(testWorld)}}
		_, err := readPack(fsys, testOptions())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	crlf := fstest.MapFS{"a.yaml": {Data: []byte("one:\r\n" + fields + "two:\r\n" + fields)}, "worlds/base.yaml": {Data: []byte(testWorld)}}
	if loaded, err := readPack(crlf, testOptions()); err != nil || len(loaded) != 2 {
		t.Errorf("CRLF: got %d scenarios, %v, want 2", len(loaded), err)
	}
}
