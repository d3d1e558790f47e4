package tool

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// TestBackends checks that a catalogue has one implementation of each tool, preferably of the
// preferred backend.
func TestBackends(t *testing.T) {
	const doc = "\n    \"\"\"Acts.\"\"\"\n    return "
	plain := "def act() -> str:" + doc + "'default'\n\n\n@backend('FAST')\ndef look() -> str:" + doc + "'fast only'\n"
	fast := "@backend('FAST')\ndef act() -> str:" + doc + "'fast'\n\n\n@backend('FAST')\ndef get_wifi_status() -> str:" + doc + "'mine'\n"
	modules := []*setupv1.ToolModule{{Name: "quick", Source: fast}, {Name: "usual", Source: plain}}
	for _, test := range []struct {
		backend, act, wifi string
	}{{"", "'default'", "None"}, {"FAST", "'fast'", "'mine'"}, {"OTHER", "'default'", "None"}} {
		catalogue, err := Builtin().Extend(Pack{Modules: modules, Backend: test.backend, Schema: noteSchema(t)})
		if err != nil {
			t.Fatal(err)
		}
		w := noteWorld(t)
		w.Load(world.Setting, session.Decode([]*worldv1.Row{worldtest.Row(world.Setting, nil)}))
		got := []string{call(t, catalogue, w, "act", "{}"), call(t, catalogue, w, "look", "{}"), call(t, catalogue, w, "get_wifi_status", "{}")}
		if diff := cmp.Diff([]string{test.act, "'fast only'", test.wifi}, got); diff != "" {
			t.Errorf("backend %q: answers (-want +got):\n%s", test.backend, diff)
		}
		if n, want := len(catalogue.All()), len(Builtin().All())+2; n != want {
			t.Errorf("backend %q: got %d tools, want %d", test.backend, n, want)
		}
	}
	modules[0].Source += "\n\n@backend('FAST')\ndef look() -> str:" + doc + "'again'\n"
	if _, err := Builtin().Extend(Pack{Modules: modules, Schema: noteSchema(t)}); err == nil || !strings.Contains(err.Error(), "give it a @backend of its own") {
		t.Errorf("two implementations of one backend: got %v, want a mistake", err)
	}
}

// TestRandom checks that random numbers depend only on the seed.
func TestRandom(t *testing.T) {
	catalogue := extendWith(t, "def draw() -> list:\n    \"\"\"Draws.\"\"\"\n    return [world.random() for _ in range(100)]\n")
	draws := func(seed int64) []python.Value {
		w := session.NewWorld(&session.Config{Zone: time.UTC, Schema: noteSchema(t), Seed: seed}, 0)
		args, err := catalogue.Find("draw").Bind(nil, &python.Dict{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := catalogue.Find("draw").Run(t.Context(), &w, args)
		if err != nil {
			t.Fatal(err)
		}
		list, _ := result.AsList()
		return list
	}
	first, again, other := draws(7), draws(7), draws(8)
	sum := 0.0
	for i := range first {
		x, ok := first[i].AsFloat()
		if !ok || x < 0 || x >= 1 {
			t.Fatalf("draw %d: got %s, want a number from 0 to below 1", i, python.Repr(first[i]))
		}
		sum += x
		if !first[i].Equal(again[i]) || first[i].Equal(other[i]) {
			t.Errorf("draw %d: got %s, again %s and with another seed %s", i, python.Repr(first[i]), python.Repr(again[i]), python.Repr(other[i]))
		}
	}
	if mean := sum / float64(len(first)); mean < 0.4 || mean > 0.6 {
		t.Errorf("mean of 100 draws: got %v, want about 0.5", mean)
	}
}

// TestStandalone checks that a catalogue without the built-in tables has only the pack's tools and
// the user's built-in ones.
func TestStandalone(t *testing.T) {
	schema, err := world.NewSchema([]*worldv1.TableSchema{world.StandaloneMarker()})
	if err != nil {
		t.Fatal(err)
	}
	source := "def get_wifi_status() -> bool:\n    \"\"\"Looks.\"\"\"\n    return True\n"
	catalogue, err := Builtin().Extend(Pack{Modules: []*setupv1.ToolModule{{Name: "setting", Source: source}}, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range catalogue.All() {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"end_conversation", "get_wifi_status"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// TestContainers checks lists and dicts as arguments.
func TestContainers(t *testing.T) {
	catalogue := extendWith(t, `
def act(names: List[str], rates: Dict[str, float], rows: Optional[List[Dict[str, Any]]] = None) -> str:
    """Acts.

    Args:
        names: Names.
        rates: Rates.
        rows: Rows.
    """
    return ",".join(names) + str(rates["a"]) + str(rows)
`)
	output := catalogue.Find("act").WithoutAugmentations().GetParametersJson()
	for _, want := range []string{
		`"names": {"type": "array", "items": {"type": "string"}, "description": "Names."}`,
		`"rates": {"type": "object", "additionalProperties": {"type": "number"}`, `"rows": {"type": "array", "items": {"type": "object"}`,
	} {
		if !strings.Contains(output, want) {
			t.Errorf("schema: got %s, want it to have %s", output, want)
		}
	}
	for arguments, want := range map[string]string{
		`{"names": ["x", "y"], "rates": {"a": 1.5}}`:                 "'x,y1.5None'",
		`{"names": ["x"], "rates": {"a": 1}, "rows": [{"b": null}]}`: `"x1[{'b': None}]"`,
		`{"names": "x", "rates": {}}`:                                "TypeError: Parameter 'names' is of type '<class 'str'>', but expected 'typing.List[str]'.",
		`{"names": [], "rates": []}`:                                 "TypeError: Parameter 'rates' is of type '<class 'list'>', but expected 'typing.Dict[str, float]'.",
		`{"names": [], "rates": {}, "rows": 1}`: "TypeError: Parameter 'rows' is of type '<class 'int'>', " +
			"but expected 'typing.Optional[typing.List[typing.Dict[str, typing.Any]]]'.",
	} {
		if got := call(t, catalogue, noteWorld(t), "act", arguments); got != want {
			t.Errorf("%s: got %s, want %s", arguments, got, want)
		}
	}
}

// TestAddedColumn checks that rows of the built-in tools and of a pack's have the default of a
// column that the pack adds, and that built-in tools keep its cells.
func TestAddedColumn(t *testing.T) {
	schema, err := world.NewSchema([]*worldv1.TableSchema{{Name: world.Contact, Columns: []*worldv1.Column{{
		Name: "group", Type: worldv1.CellType(world.KindText), Measure: world.DefaultMeasure, Default: world.Text("friends"),
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	source := `def join(name: str, group: str) -> None:
    """Acts.

    Args:
        name: Who.
        group: What.
    """
    world.update("contact", {"group": group}, name=name)


def meet(name: str) -> None:
    """Acts.

    Args:
        name: Who.
    """
    world.add("contact", {"name": name})


def groups() -> list:
    """Acts."""
    return [row["group"] for row in world.rows("contact")]
`
	catalogue, err := Builtin().Extend(Pack{Modules: []*setupv1.ToolModule{{Name: "groups", Source: source}}, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	w := session.NewWorld(&session.Config{Zone: time.UTC, Schema: schema}, 1_700_000_000)
	ann := call(t, catalogue, &w, "add_contact", `{"name": "Ann", "phone_number": "+14085550000"}`)
	for _, step := range []struct{ tool, arguments string }{
		{"meet", `{"name": "Bob"}`},
		{"join", `{"name": "Ann", "group": "family"}`},
		{"modify_contact", `{"person_id": "` + strings.Trim(ann, "'") + `", "name": "Anna"}`},
	} {
		if got := call(t, catalogue, &w, step.tool, step.arguments); got != "None" {
			t.Errorf("%s: got %s, want None", step.tool, got)
		}
	}
	if got, want := call(t, catalogue, &w, "groups", "{}"), "['friends', 'family']"; got != want {
		t.Errorf("groups: got %s, want %s", got, want)
	}
}
