package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
)

const contacts = world.Contact

func rows(names ...string) []Row {
	list := make([]Row, len(names))
	for i, name := range names {
		list[i] = Row{python.Str(name)}
	}
	return list
}

// shown returns the names in the table, with a star where the current execution wrote it.
func shown(w *World) string {
	text := ""
	for _, row := range w.Rows(contacts) {
		name, _ := row[0].AsStr()
		text += name
	}
	if w.Written(contacts) {
		text += "*"
	}
	return text
}

func TestRemoveLastRows(t *testing.T) {
	load := func(names ...string) func(*World) { return func(w *World) { w.Load(contacts, rows(names...)) } }
	write := func(names ...string) func(*World) { return func(w *World) { w.Write(contacts, rows(names...)) } }
	empty, settle, touch := func(w *World) { w.clearTable(contacts) }, (*World).EndExecution, func(w *World) { w.repeatVersion(contacts) }
	tests := []struct {
		name  string
		steps []func(*World)
		want  string
	}{
		{"rows from the beginning", []func(*World){load("ab"), write("a"), empty}, "*"},
		{"rows from later on", []func(*World){load(), load("a", "b"), write("a"), empty}, "ab"},
		{"nothing written before", []func(*World){load(), load("a"), empty}, "a"},
		{"rows of an earlier execution", []func(*World){load(), load("a", "b"), write("a"), settle, empty}, "a"},
		{"no version", []func(*World){write("a"), empty}, ""},
		{"a second time", []func(*World){load("a"), empty, settle, write("b"), settle, empty}, "b"},
		{"a second time in one execution", []func(*World){load("a"), empty, write("b"), empty}, "a"},
		{"versions that were not loaded", []func(*World){load("a"), func(w *World) { w.AddHistory(contacts, true, true) }, empty}, "a"},
		{"after a removal that found nothing", []func(*World){load(), load("a", "b"), touch, write("a"), empty}, "ab"},
	}
	for _, test := range tests {
		w := NewWorld(&Config{}, 0)
		for _, step := range test.steps {
			step(&w)
		}
		if diff := cmp.Diff(test.want, shown(&w)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
