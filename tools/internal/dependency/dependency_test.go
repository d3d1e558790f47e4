package dependency_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/tools/internal/dependency"
)

func TestModules(t *testing.T) {
	got, err := dependency.Modules([]byte("go 1.26.0\n\nuse (\n\t./b\n\t./a/c // comment\n)\n"))
	if err != nil {
		t.Fatalf("Modules: %v", err)
	}
	if diff := cmp.Diff([]string{"./b", "./a/c"}, got); diff != "" {
		t.Errorf("Modules (-want +got):\n%s", diff)
	}
	if _, err := dependency.Modules([]byte("use (")); err == nil {
		t.Error("Modules of a broken file: got no error, want one")
	}
}

func TestDirect(t *testing.T) {
	const goMod = `module house.example/room

go 1.26.0

tool far.example/tool/cmd/tool

require house.example/other v0.0.0

require (
	far.example/b v1.0.0
	far.example/a/v2 v2.0.0
	far.example v1.0.0 // indirect
	far.example/tool v1.0.0 // indirect
	far.example/tool/extra v1.0.0 // indirect
)
`
	got, err := dependency.Direct([]byte(goMod), "house.example")
	if err != nil {
		t.Fatalf("Direct: %v", err)
	}
	if diff := cmp.Diff([]string{"far.example/a/v2", "far.example/b", "far.example/tool"}, got); diff != "" {
		t.Errorf("Direct (-want +got):\n%s", diff)
	}
	if _, err := dependency.Direct([]byte("require ("), "house.example"); err == nil {
		t.Error("Direct of a broken file: got no error, want one")
	}
}

func TestDocumented(t *testing.T) {
	for _, test := range []struct {
		name, markdown string
		want           map[string]bool
		fails          bool
	}{
		{name: "none", markdown: "# Title\n\n- plain item\n", want: map[string]bool{}},
		{
			name:     "two",
			markdown: "- `far.example/a`: it is small\n- `far.example/b`: it is fast\n",
			want:     map[string]bool{"far.example/a": true, "far.example/b": true},
		},
		{name: "no reason", markdown: "- `far.example/a`\n", fails: true},
		{name: "empty reason", markdown: "- `far.example/a`:  \n", fails: true},
		{name: "twice", markdown: "- `far.example/a`: x\n- `far.example/a`: y\n", fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := dependency.Documented([]byte(test.markdown))
			if (err != nil) != test.fails {
				t.Fatalf("Documented: got error %v, want an error: %t", err, test.fails)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Documented (-want +got):\n%s", diff)
			}
		})
	}
}
