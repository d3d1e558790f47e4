package form

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/scenario/document"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"order", "a: # b\n  says: x\n  milestones: {}\n  # who\n  world: c\n", "a: # b\n  says: x\n  milestones: {}\n  # who\n  world: c\n"}, // a scenario has no field says
		{"scenario",
			"# top\n\na:\n    user:\n        says: Hi\n        # why\n        goal: G\n\n\n    categories:   [COREFERENCE]\n    world: b # c\n    milestones:\n      n:\n        call: {arguments: {b: 1.50, a: 2}, tool: t}\n        after: []\n      m:\n",
			"# top\n\na:\n  world: b # c\n  categories: [COREFERENCE]\n  user:\n    # why\n    goal: G\n    says: Hi\n  milestones:\n    n: {after: [], call: {tool: t, arguments: {b: 1.50, a: 2}}}\n    m:\n"},
		{"world", "tables:\n  contact: {add: [{phone_number: \"+49\", name: A}], remove: []}\nclock: {time_zone: UTC, now: 2025-01-02T03:04:05}\n",
			"clock: {now: 2025-01-02T03:04:05, time_zone: UTC}\ntables: {contact: {remove: [], add: [{phone_number: \"+49\", name: A}]}}\n"},
		{"several", "a:\n  seed: 1\n  world: b\n# d\nd:\n  seed: 2\n  world: c\n", "a:\n  world: b\n  seed: 1\n# d\nd:\n  world: c\n  seed: 2\n"},
		{"pack", "description: d\nname: a\n", "name: a\ndescription: d\n"},
		{"other file", "- url: a\n", "- url: a\n"},
		{"demonstration",
			"a:\n  user:\n    demonstrations:\n    - calls:\n      # it is off\n      - {failed: true, answer: 'PermissionError: no', arguments: {on: true}, tool: set_wifi_status}\n    - agent: Thanks.\n  world: b\n",
			"a:\n  world: b\n  user:\n    demonstrations:\n      - calls:\n          # it is off\n          - {tool: set_wifi_status, arguments: {on: true}, answer: 'PermissionError: no', failed: true}\n      - agent: Thanks.\n"},
		{"block text", "x:\n    seed: 1\n    notes: |\n        a\n\n        b\n", "x:\n  notes: |\n    a\n\n    b\n  seed: 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Format("a.yaml", []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := Format("a.yaml", got)
			if err != nil || string(again) != string(got) {
				t.Errorf("again: got %q and %v, want no change", again, err)
			}
		})
	}
}

func TestFormatErrors(t *testing.T) {
	var mistakes document.Errors
	if _, err := Format("a.yaml", []byte("name: [\n")); !errors.As(err, &mistakes) || mistakes[0].File != "a.yaml" {
		t.Errorf("not YAML: got %v, want Errors about a.yaml", err)
	}
}

// TestFormatCatalogue checks that formatting the built-in catalogue does not change its content.
func TestFormatCatalogue(t *testing.T) {
	for _, pattern := range []string{"*.yaml", "worlds/*.yaml"} {
		names, err := fs.Glob(os.DirFS(catalogueDir), pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: got %d files and %v, want some", pattern, len(names), err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(os.DirFS(catalogueDir), name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Format(name, data); err != nil {
				t.Errorf("%v", err)
			}
		}
	}
}

// FuzzFormat checks that Format does not panic, is idempotent and preserves the content.
func FuzzFormat(f *testing.F) {
	for _, seed := range []string{named("one", testScenario), testWorld, "a: [", "name: a # b\n# c\n", "a: {b: 'c:d', e: f:g}", "- - a\n", "x: |+\n  a\n\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Format("a.yaml", data)
		if err != nil {
			return
		}
		before, after := (&document.Reader{}).Documents(data), (&document.Reader{}).Documents(got)
		if len(before) != len(after) {
			t.Errorf("%d documents became %d", len(before), len(after))
		}
	})
}
