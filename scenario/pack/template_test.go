package pack

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// TestTemplate loads the template of new scenarios.
func TestTemplate(t *testing.T) {
	text, world, err := scenario.Template("feed_the_cat")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := readPack(fstest.MapFS{"a.yaml": {Data: text}, "worlds/" + scenario.TemplateWorld + ".yaml": {Data: world}}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := loaded[0].Scenario.GetSetup().GetName(); got != "feed_the_cat" {
		t.Errorf("name: got %q, want feed_the_cat", got)
	}
	for _, data := range [][]byte{text, world} {
		formatted, err := form.Format("a.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(formatted), string(data)); diff != "" {
			t.Errorf("not canonical (-canonical +template):\n%s", diff)
		}
	}
	for _, name := range []string{"a/b", "feed_the_cat_all_tools"} {
		if _, _, err := scenario.Template(name); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
