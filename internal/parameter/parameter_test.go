package parameter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/python"
)

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := Read(`{"type": "object", "properties": {
		"b": {"type": "string", "description": "Name."}, "a": {"type": ["string", "null"]}, "any": true
	}, "required": ["a", "hidden", "hidden"]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Parameter{
		{Name: "b", Type: "string", Description: "Name.", Declared: true},
		{Name: "a", Required: true, Declared: true},
		{Name: "any", Declared: true},
		{Name: "hidden", Required: true},
	}
	for i := range got {
		if got[i].Declared == got[i].Schema.IsNone() {
			t.Errorf("schema of %s: %s, declared %t", got[i].Name, python.JSON(got[i].Schema), got[i].Declared)
		}
		got[i].Schema = python.None()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	for _, invalid := range []string{"", "[]", `{"properties": `} {
		if got, err := Read(invalid); err == nil || len(got) > 0 {
			t.Errorf("Read(%q) = %v, %v, want an error", invalid, got, err)
		}
	}
}
