package tool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/packs"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// noteSchema returns a schema with a table of notes.
func noteSchema(tb testing.TB) *world.Schema {
	tb.Helper()
	schema, err := world.NewSchema([]*worldv1.TableSchema{{Name: "NOTE", Columns: []*worldv1.Column{
		{Name: "note_id", Type: worldv1.CellType(world.KindText), Measure: world.DefaultMeasure},
		{Name: "title", Type: worldv1.CellType(world.KindText), Measure: world.DefaultMeasure},
		{Name: "pages", Type: worldv1.CellType(world.KindNumber), Measure: world.DefaultMeasure},
		{Name: "pinned", Type: worldv1.CellType(world.KindBool), Measure: world.DefaultMeasure},
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

// extendWith returns the built-in tools and those of one file.
func extendWith(tb testing.TB, source string) *Catalogue {
	tb.Helper()
	catalogue, err := Builtin().Extend(Pack{Modules: []*setupv1.ToolModule{{Name: "desk", Source: source}}, Schema: noteSchema(tb)})
	if err != nil {
		tb.Fatalf("tools: %v\n%s", err, source)
	}
	return catalogue
}

// noteWorld returns a world with notes.
func noteWorld(tb testing.TB) *session.World {
	tb.Helper()
	w := session.NewWorld(&session.Config{Zone: time.UTC, Schema: noteSchema(tb)}, 1_700_000_000)
	w.Load("NOTE", []session.Row{
		{python.Str("a"), python.Str("Old door code"), python.None(), python.Bool(true)},
		{python.Str("b"), python.Str("Tax papers"), python.Float(12), python.Bool(false)},
		{python.Str("c"), python.Str("Tax papers, copy"), python.Float(11), python.Bool(false)},
	})
	return &w
}

// call calls a tool with JSON arguments and returns the answer or the exception.
func call(tb testing.TB, catalogue *Catalogue, w *session.World, name, arguments string) string {
	tb.Helper()
	parsed, err := python.ParseJSON(arguments)
	if err != nil {
		tb.Fatal(err)
	}
	t := catalogue.Find(name)
	args, err := t.BindMapping(parsed)
	if err == nil {
		err = t.CheckArgs(args)
	}
	if err != nil {
		return err.Error()
	}
	result, err := t.Run(tb.Context(), w, args)
	if err != nil {
		return err.Error()
	}
	return python.Repr(result)
}

// toolSource returns a file with one tool that has the given lines.
func toolSource(lines ...string) string {
	return "def act(x: float = 1.0) -> Any:\n    \"\"\"Acts.\n\n    Args:\n        x: A number.\n    \"\"\"\n    " + strings.Join(lines, "\n    ") + "\n"
}

// TestWorldMethods calls each method with valid and invalid arguments.
func TestWorldMethods(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`return world.rows("note", ["title"], pinned=False, pages__min=12)`, "[{'title': 'Tax papers'}]"},
		{`return world.rows("note", ["note_id"], title__about="tax", pages__max=11)`, "[{'note_id': 'c'}]"},
		{`return world.rows("note", ["note_id"], title__like="tax papers")`, "[{'note_id': 'b'}, {'note_id': 'c'}]"},
		{`return world.rows("note", ["note_id", "note_id"], pages=NOT_GIVEN, note_id="a")`, "[{'note_id': 'a'}]"},
		{`return world.rows("note", note_id="a")`, "[{'note_id': 'a', 'title': 'Old door code', 'pages': None, 'pinned': True}]"},
		{`return world.rows("note", pages=None)`, "[]"},
		{`return world.rows("note", title=5)`, "polars.exceptions.ComputeError: cannot compare string with numeric type (i32)"},
		{`return world.rows("note", title__like=5)`, "TypeError: sentence must be a String"},
		{`return world.rows("note", **{"nothing": 1})`, "polars.exceptions.ColumnNotFoundError: nothing"},
		{`return world.rows(str(x))`, "KeyError: '1.0'"},
		{`return world.rows("NO" + "TE")`, "KeyError: 'NOTE'"},
		{`return world.rows("sand" + "box")`, "KeyError: 'sandbox'"},
		{`return world.rows(["note"])`, "KeyError: ['note']"},
		{`return world.rows("note", "title")`, "TypeError: columns are a list of names, not 'str'"},
		{`return world.value("note", "title")`, "'Old door code'"},
		{`return world.value("note", "title", title__about="tax")`, "'Tax papers'"},
		{`return world.value("note", "pages", note_id="a")`, "None"},
		{`return world.value("note", "title", note_id="z")`, "None"},
		{`return world.value("note", "tit" + "el")`, "polars.exceptions.ColumnNotFoundError: titel"},
		{`return world.value("note", 5)`, "TypeError: Parameter 'column' is of type '<class 'int'>', but expected '<class 'str'>'."},
		{`return world.rows("note", None, None)`, "TypeError: world.rows() too many positional arguments"},
		{`return world.now()`, "1700000000.0"},
		{`return [world.new_id(), world.new_id()]`, "['fb9bcfe3-dbbf-59d1-894c-7d680a04c416', '771506f8-c00b-5c6b-a390-fa2a4c0584fa']"},
		{`return world.now(**{"zone": "UTC"})`, "TypeError: world.now() got an unexpected keyword argument 'zone'"},
		{`world.add("note", {"note_id": "d", "pages": True}); return world.rows("note", note_id="d")`, "[{'note_id': 'd', 'title': None, 'pages': 1.0, 'pinned': None}]"},
		{`world.add("note", {"title": 5})`, "TypeError: column title holds text, not 'int'"},
		{`world.add("note", {"pages": float("nan")})`, "ValueError: column pages holds finite numbers, not nan"},
		{`world.add("note", {"pages": 10 ** 400})`, "TypeError: column pages holds number, not 'int'"},
		{`world.add("note", {"pinned": 1})`, "TypeError: column pinned holds boolean, not 'int'"},
		{`world.add("note", {"title": "\ud800"})`, "UnicodeEncodeError: 'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed"},
		{`world.add("note", [1])`, "TypeError: values are a dict by column, not 'list'"},
		{`world.update("note", {"pages": 3}, note_id="a"); return world.rows("note", ["pages"], note_id="a")`, "[{'pages': 3.0}]"},
		{`world.update("note", {"pages": 3}, note_id="d")`, "polars.exceptions.NoDataError: No db entry matching note_id='d' found"},
		{`world.update("note", {"pages": 3}, pinned=False)`, "polars.exceptions.DuplicateError: More than 1 entry with pinned=False found"},
		{`world.update("note", {"pages": 3}); return world.rows("note", ["pages"])`, "[{'pages': 3.0}, {'pages': 3.0}, {'pages': 3.0}]"},
		{`world.update("note", {"pages": 3}, note_id="a", pinned=True)`, "TypeError: rows are changed and removed by one column; ask with world.rows first"},
		{`world.update("note", {"pages": 3}, **{"pages__min": 1})`, "polars.exceptions.ColumnNotFoundError: pages__min"},
		{`world.remove("note", pinned=False); return len(world.rows("note"))`, "1"},
		{`world.remove("note")`, "TypeError: world.remove() needs a condition such as note_id=…"},
		{`world.remove("note", note_id="d")`, `polars.exceptions.NoDataError: No db entry matching predicate=<Expr ['[([(col("note_id")) == (String…'] at 0x7F0000000000> found`},
		{`check_phone("12")`, "phonenumbers.phonenumberutil.NumberParseException: (0) Missing or invalid default region."},
		{"try:\n        world.remove(\"note\", note_id=\"d\")\n    except NoDataError as e:\n        return str(e)[:8]", "'No db en'"},
		{`return {"a": (1, [2]), 3: None}`, "{'a': [1, [2]], '3': None}"},
		{`return {2}`, "TypeError: Object of type set is not JSON serializable"},
	} {
		if got := call(t, extendWith(t, toolSource(test.line)), noteWorld(t), "act", "{}"); got != test.want {
			t.Errorf("%s: got %s, want %s", test.line, got, test.want)
		}
	}
}

// TestHostileTools checks that calls that would exhaust time or memory, or return an invalid value,
// end with an exception.
func TestHostileTools(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{toolSource("while True:", "    pass"), "TimeoutError: more than 200000 steps are needed"},
		{toolSource("while True:", "    try:", "        while True: pass", "    except Exception:", "        pass"), "TimeoutError: more than 200000 steps are needed"},
		{toolSource("return 'x' * 10 ** 9"), "MemoryError: more than 8388608 bytes are needed"},
		{toolSource("return [0] * 10 ** 9"), "MemoryError: more than 8388608 bytes are needed"},
		{toolSource("return act(x)"), "RecursionError: maximum recursion depth exceeded"},
		{toolSource("return act"), "TypeError: Object of type function is not JSON serializable"},
		{toolSource("return NOT_GIVEN"), "TypeError: Object of type object is not JSON serializable"},
		{toolSource("return world.rows"), "TypeError: Object of type function is not JSON serializable"},
		{toolSource("a = []", "a.append(a)", "return a"), "RecursionError: maximum recursion depth exceeded"},
		{toolSource("for i in range(1000):", "    world.add('note', {'title': 'x' * 1000})"), "TimeoutError: more than 200000 steps are needed"},
		{toolSource("raise SystemExit(3)"), "SystemExit: 3"},
		{toolSource("world.rows = 5"), "AttributeError: 'module' object has no attribute 'rows'"},
		{toolSource("getattr(check_phone, '__globals__')"), "AttributeError: 'function' object has no attribute '__globals__'"},
		{toolSource("print('x' * 10 ** 6)"), "MemoryError: more than 262144 bytes were printed"},
		{"LOG = []\n" + toolSource("LOG.append(x)", "return len(LOG)"), "1"},
	} {
		catalogue, w := extendWith(t, test.source), noteWorld(t)
		for range 2 { // calls share no state
			if got := call(t, catalogue, w, "act", "{}"); got != test.want {
				t.Errorf("%s: got %s, want %s", test.source, got, test.want)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	loops := extendWith(t, toolSource("while True:", "    pass")).Find("act")
	args, err := loops.Bind(nil, &python.Dict{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loops.Run(ended, noteWorld(t), args); !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose context has ended: got %v, want context.Canceled", err)
	}
}

// TestHints checks types and defaults of hints, and type errors of arguments.
func TestHints(t *testing.T) {
	for _, test := range []struct{ param, argument, want, schema string }{
		{"x: str", `5`, "TypeError: Parameter 'x' is of type '<class 'int'>', but expected '<class 'str'>'.", "string"},
		{"x: int", `1.5`, "TypeError: Parameter 'x' is of type '<class 'float'>', but expected '<class 'int'>'.", "integer"},
		{"x: bool", `null`, "TypeError: Parameter 'x' is of type '<class 'NoneType'>', but expected '<class 'bool'>'.", "boolean"},
		{"x: float", `true`, "True", "number"},
		{"x: Optional[str]", `5`, "TypeError: Parameter 'x' is of type '<class 'int'>', but expected 'typing.Optional[str]'.", "string"},
		{"x: str | None", `null`, "None", "string"},
		{"x: Union[int, float]", `"1"`, "TypeError: Parameter 'x' is of type '<class 'str'>', but expected 'typing.Union[int, float]'.", "number"},
		{"x: Optional[Union[float, int]] = -2", `null`, "None", "number"},
		{"x: Union[float, None, NotGiven] = NOT_GIVEN", `"a"`,
			"TypeError: Parameter 'x' is of type '<class 'str'>', but expected 'typing.Union[float, NoneType, tool_sandbox.common.utils.NotGiven]'.", "number"},
	} {
		catalogue := extendWith(t, "def act("+test.param+") -> str:\n  '''Acts.\n\n  Args:\n    x (any): What\n      it is.\n\n  Returns:\n    x\n  '''\n  return x\n")
		if got := call(t, catalogue, noteWorld(t), "act", `{"x": `+test.argument+`}`); got != test.want {
			t.Errorf("%s with %s: got %s, want %s", test.param, test.argument, got, test.want)
		}
		required := `["x"]`
		if strings.Contains(test.param, "=") {
			required = "[]"
		}
		want := `{"type": "object", "properties": {"x": {"type": "` + test.schema + `", "description": "What it is."}}, "required": ` + required + `}`
		if got := catalogue.Find("act").WithoutAugmentations(); got.GetParametersJson() != want || got.GetDescription() != "Acts." {
			t.Errorf("%s: got %v, want Acts. and %s", test.param, got, want)
		}
	}
}

// TestModuleMistakes checks mistakes that are found without a call.
func TestModuleMistakes(t *testing.T) {
	const doc = "\n  '''Acts.'''\n"
	for _, test := range []struct {
		source string
		want   []string
	}{
		{"def act(:\n  pass", []string{"1:9: file: Python cannot read this: invalid syntax"}},
		{"", []string{"1:1: file: there is no tool: a tool is a function whose name begins with a letter"}},
		{"def _act():\n  pass\n", []string{"1:1: file: there is no tool: a tool is a function whose name begins with a letter"}},
		{"print('x')\ndef act() -> None:" + doc, []string{"1:1: file: only imports, constants, enumerations and functions stand at the top of a file; move it into a function"}},
		{"if True:\n  A = 1\ndef act() -> None:" + doc, []string{"1:1: file: only imports, constants, enumerations and functions stand at the top of a file; move it into a function"}},
		{"import secrets\nfrom tool_sandbox.common import x\ndef act() -> None:" + doc, []string{
			"1:1: file: secrets cannot be imported: tools may import datetime, enum, json, math, re and typing; the world is there as world",
			"2:1: file: remove this import of tool_sandbox.common: decorators, NOT_GIVEN and the exceptions need none, and the world is there as world"}},
		{"import re\nfrom datetime import datetime\nSTART = datetime.fromtimestamp(0)\nPLATE = re.compile('(')\ndef act() -> None:" + doc, []string{
			"4:1: file: this fails before each call of a function of the file: re.error: missing ), unterminated subpattern at position 0"}},
		{"A = [0]\nB = 1 / 0\ndef act() -> None:" + doc, []string{
			"2:1: file: this fails before each call of a function of the file: ZeroDivisionError: division by zero"}},
		{"def act() -> None:" + doc + "def act() -> None:" + doc, []string{
			"3:1: act: there are two functions act; rename one of them"}},
		{"def search_contacts() -> None:" + doc, []string{"1:1: search_contacts: the name is that of a built-in tool; rename the function, or give it a @backend of its own"}},
		{"def len() -> None:" + doc, []string{"1:1: len: len means something in Python or to tools already; rename the function"}},
		{"def wörld() -> None:" + doc, []string{"1:1: wörld: the name has to be up to 60 letters, digits and underscores of ASCII"}},
		{"def act(*rest) -> None:" + doc, []string{"1:1: act: parameters of tools are plain ones: no *, ** or /"}},
		{"def act() -> None:\n  '''\n\n  Args:\n    nothing at all\n    y: No.\n  '''\n", []string{
			"2:3: act: the docstring does not begin with what the tool does; write that first",
			`5:5: act: Args: "nothing at all" is no entry; write name: what it is, and indent lines that go on with one`,
			"6:5: act: Args: there is no parameter y; take the entry out or rename it"}},
		{"def act(x: str) -> None:\n  '''Acts.\n\n  Args:\n    y: Y.\n  '''\n", []string{
			"5:5: act: Args: there is no parameter y; take the entry out or rename it"}},
		{"def act(x: Union[str, NotGiven]) -> None:\n  '''Acts.\n\n  Args:\n    x: X.\n    x: X.\n  '''\n", []string{
			"1:12: act: x may be left out; give it the default NOT_GIVEN", "6:5: act: Args: there are two entries x; take one out"}},
		{"def act(x: str = NOT_GIVEN) -> None:\n  '''Acts.\n\n  Args:\n    x: X.\n  '''\n", []string{
			"1:18: act: x has the default NOT_GIVEN; write its type as Union[…, NotGiven]"}},
		{"def act(x: Union[str, NotGiven] = None) -> None:\n  '''Acts.\n\n  Args:\n    x: X.\n  '''\n", []string{
			"1:35: act: x may be NotGiven; its default is NOT_GIVEN"}},
		{"def act(x: Set[str]) -> None:\n  '''Acts.\n\n  Args:\n    x: X.\n  '''\n", []string{
			"1:12: act: the type of x is none that a model can give; write str, bool, int, float, Literal[…], an Enum of this file, List[…] or Dict[str, …], perhaps in Optional[…] or Union[…, NotGiven]"}},
		{toolSource("w = world", "return f'{wrold}'"), []string{
			"7:9: act: world is no value to keep or pass on; call world.rows, world.value, world.add, world.update, world.remove, world.now, world.new_id, world.random, world.schedule, world.unschedule",
			`8:12: act: name "wrold" is not defined`}},
		{toolSource("world.update('note', {'titel': 1}, paegs=2)", "world.rows('note', ['nothing'], title__lik='x')", "world.rows(pages=1)"), []string{
			`7:27: act: table note has no column titel; did you mean "title"?`,
			`7:46: act: table note has no column paegs; did you mean "pages"?`,
			"8:25: act: table note has no column nothing; expected one of note_id, title, pages, pinned",
			"8:48: act: table note has no column title__lik; expected one of note_id, title, pages, pinned",
			"9:5: act: world.rows needs a table first"}},
	} {
		wantMistakes(t, test.source, test.want)
	}
}

// wantMistakes compiles a file of tools and compares its mistakes, without the file's name.
func wantMistakes(t *testing.T, text string, want []string) {
	t.Helper()
	_, err := Builtin().Extend(Pack{Modules: []*setupv1.ToolModule{{Name: "desk", Source: text}}, Schema: noteSchema(t)})
	mistakes, ok := errors.AsType[source.Mistakes](err)
	if !ok {
		t.Errorf("%s: got %v, want mistakes", text, err)
		return
	}
	var got []string
	for _, line := range strings.Split(mistakes.Error(), "\n") {
		got = append(got, strings.TrimPrefix(line, "tools/desk.py:"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
}

// TestDecoratorMistakes checks unknown decorators, and wrong arguments of known ones.
func TestDecoratorMistakes(t *testing.T) {
	const (
		doc     = "\n  '''Acts.'''\n"
		unknown = `1:2: act: unknown decorator; expected one of @confirm, @unchecked, @user, @backend("NAME"), @confirm("ACTION"), @needs("SERVICE"), @needs_by_default("SERVICE"), @visible_to("ROLE")`
		needs   = `1:2: act: write @needs with one or more of "wifi", "cellular" and "location_service"`
		visible = `1:2: act: write @visible_to("agent"), @visible_to("user") or @visible_to("agent", "user")`
		confirm = `1:2: act: write @confirm("ACTION") with what the user allows, e.g. "send a text message"`
	)
	for _, test := range []struct {
		source string
		want   []string
	}{
		{"@print\ndef act() -> None:" + doc, []string{unknown}},
		{"@backend\ndef act() -> None:" + doc + "@backend('lite')\ndef move() -> None:" + doc, []string{
			`1:2: act: write @backend("NAME") with up to 60 capital letters, digits and underscores`,
			`4:2: move: write @backend("NAME") with up to 60 capital letters, digits and underscores`}},
		{"@cache\n@user\ndef act() -> None:" + doc, []string{`1:2: act: name "cache" is not defined`}},
		{"@user('x')\ndef act() -> None:" + doc, []string{unknown}},
		{"@needs\ndef act() -> None:" + doc, []string{needs}},
		{"@needs('gps')\ndef act() -> None:" + doc, []string{needs}},
		{"@needs_by_default('gps')\ndef act() -> None:" + doc, []string{strings.Replace(needs, "@needs", "@needs_by_default", 1)}},
		{"@needs('wifi', 1)\ndef act() -> None:" + doc, []string{needs}},
		{"@visible_to\ndef act() -> None:" + doc, []string{visible}},
		{"@visible_to('system')\ndef act() -> None:" + doc, []string{visible}},
		{"@visible_to(['agent'])\ndef act() -> None:" + doc, []string{visible}},
		{"@user\n@visible_to('agent')\ndef act() -> None:" + doc, []string{"2:2: act: @visible_to says the same as @user, or otherwise; remove one of them"}},
		{"@confirm(' ')\ndef act() -> None:" + doc, []string{confirm}},
		{"@confirm('pay', 'buy')\ndef act() -> None:" + doc, []string{confirm}},
		{"@confirm('...')\ndef act() -> None:" + doc, []string{confirm}},
		{"@confirm\ndef pay_all() -> None:" + doc + "@confirm('Pay  all.')\ndef act() -> None:" + doc, []string{
			`5:1: act: the user already allows "Pay  all." for pay_all; write @confirm with other words`}},
		{"@confirm('Remove a contact')\ndef act() -> None:" + doc, []string{
			`2:1: act: the user already allows "Remove a contact" for remove_contact; write @confirm with other words`}},
	} {
		wantMistakes(t, test.source, test.want)
	}
}

// TestDecoratorArguments checks what a tool needs, and the words of its consent.
func TestDecoratorArguments(t *testing.T) {
	got := extendWith(t, "@needs('wifi', 'cellular')\n@needs_by_default('location_service')\n@confirm('pay a bill')\ndef act() -> None:\n  '''Acts.'''\n").Find("act")
	if !slices.Equal(got.Needs, []Need{NeedWifi, NeedCellular}) || !slices.Equal(got.DefaultNeeds, []Need{NeedLocationService}) || got.ConsentAction != "pay a bill" {
		t.Errorf("got needs %v and by default %v, and the action %q, want wifi and cellular, location_service, and pay a bill", got.Needs, got.DefaultNeeds, got.ConsentAction)
	}
}

// TestDecoratedTools checks which role has a tool, and whether it is read-only.
func TestDecoratedTools(t *testing.T) {
	const source = `
@user
def look() -> float:
    """Looks."""
    return _now()

def draw() -> str:
    """Draws."""
    return _draw()

def _now():
    return world.now()

def _draw():
    return [_draw, world.new_id()][1]
`
	catalogue := extendWith(t, source)
	if look := catalogue.Find("look"); !look.User || !look.ReadOnly {
		t.Errorf("look: got user %t and read only %t, want both", look.User, look.ReadOnly)
	}
	if draw := catalogue.Find("draw"); draw.User || draw.ReadOnly {
		t.Errorf("draw: got user %t and read only %t, want neither", draw.User, draw.ReadOnly)
	}
	selection, err := catalogue.Select(&setupv1.ToolSelection{Allow: []string{"draw", "end_conversation"}, Augmentations: []setupv1.Augmentation{
		setupv1.Augmentation_AUGMENTATION_THREE_DISTRACTION_TOOLS, setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(selection.User) != 2 || selection.User[1].GetName() != "look" {
		t.Errorf("the user's tools: got %v, want end_conversation and look, which distracts", selection.User)
	}
	if !slices.ContainsFunc(selection.Agent, func(shown *worldv1.Tool) bool {
		return shown.GetName() == "desk_0" && shown.GetExecutionName() == "draw"
	}) {
		t.Errorf("the agent's tools: got %v, want desk_0 for draw", selection.Agent)
	}
	if Builtin().Find("draw") != nil {
		t.Error("the built-in tools: got draw among them")
	}
}

// TestVisibleTo checks which roles see and call a tool, in whatever order they are written.
func TestVisibleTo(t *testing.T) {
	for _, test := range []struct {
		decorator   string
		agent, user bool
	}{
		{"", true, false},
		{"@user\n", false, true},
		{"@visible_to('user')\n", false, true},
		{"@visible_to('agent')\n", true, false},
		{"@visible_to('agent', 'user')\n", true, true},
		{"@confirm\n@visible_to('user', 'agent')\n", true, true},
	} {
		catalogue := extendWith(t, test.decorator+"def look() -> float:\n    \"\"\"Looks.\"\"\"\n    return world.now()\n")
		selection, err := catalogue.Select(&setupv1.ToolSelection{Allow: []string{"look", "end_conversation"}, Augmentations: []setupv1.Augmentation{
			setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED,
		}})
		if err != nil {
			t.Fatal(err)
		}
		named := func(tools []*worldv1.Tool, name string) bool {
			return slices.ContainsFunc(tools, func(shown *worldv1.Tool) bool { return shown.GetName() == name && shown.GetExecutionName() == "look" })
		}
		look := catalogue.Find("look")
		got := []bool{
			named(selection.Agent, "desk_0"), selection.Callable("look", worldv1.Role_ROLE_AGENT), slices.Contains(look.VisibleTo(), worldv1.Role_ROLE_AGENT),
			named(selection.User, "look"), selection.Callable("look", worldv1.Role_ROLE_USER), slices.Contains(look.VisibleTo(), worldv1.Role_ROLE_USER),
		}
		if want := []bool{test.agent, test.agent, test.agent, test.user, test.user, test.user}; !slices.Equal(got, want) {
			t.Errorf("%q: got %v for the agent's and the user's, want %v", test.decorator, got, want)
		}
	}
}

// BenchmarkModuleCall calls an empty tool, and tools that read a cell, search, add a row and change
// a cell.
func BenchmarkModuleCall(b *testing.B) {
	own := extendWith(b, toolSource("return ''"))
	w := session.NewWorld(&session.Config{Zone: time.UTC}, 0)
	setting := session.Decode([]*worldv1.Row{worldtest.Setting(1, 2)})
	contacts := session.Decode([]*worldv1.Row{
		worldtest.Contact("id0", "Ann Example", "+14155550100", false), worldtest.Contact("id1", "Bob Example", "+14155550101", false),
	})
	for _, test := range []struct {
		name string
		tool *Tool
		args []python.Item
	}{
		{"empty", own.Find("act"), nil},
		{"get_wifi_status", Builtin().Find("get_wifi_status"), nil},
		{"search_contacts", Builtin().Find("search_contacts"), []python.Item{{Key: "name", Value: python.Str("Ann Example")}}},
		{"add_reminder", Builtin().Find("add_reminder"), []python.Item{
			{Key: "content", Value: python.Str("Buy milk")}, {Key: "reminder_timestamp", Value: python.Float(1716400000)},
		}},
		{"set_low_battery_mode_status", Builtin().Find("set_low_battery_mode_status"), []python.Item{{Key: "on", Value: python.Bool(true)}}},
	} {
		arguments := python.DictOf(test.args...)
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.Load(world.Setting, setting)
				w.Load(world.Contact, contacts)
				w.Load(world.Reminder, nil)
				args, err := test.tool.BindMapping(arguments)
				if err == nil {
					_, err = test.tool.Run(b.Context(), &w, args)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkModuleCompile compiles the files of the pack phone.
func BenchmarkModuleCompile(b *testing.B) {
	for b.Loop() {
		builtinTools()
	}
}

// FuzzModule compiles any source and calls the resulting tools.
func FuzzModule(f *testing.F) {
	for _, source := range packs.PhoneTools() {
		f.Add(source)
	}
	f.Add(toolSource("return world.rows('note', ['title'], pages__min=x)"))
	f.Add(originalFile(f, "before.py"))
	f.Add(hintFile("x: Optional[List[Color]] = None", "[re.sub('a*', str(x), f'{c!r:>5}') for c in Color]"))
	f.Add("import datetime, math, re\nP = re.compile('(a|b)*')\ndef act() -> Any:\n  '''A.'''\n  return [str(datetime.datetime.now()), math.comb(5, 2), P.findall('ab')]\n")
	f.Add("@user\ndef act(x: str | None = -1, *y) -> f'{world}':\n  '''A.\n  Args:\n  x\n x: y\n  '''\n  return [world.add('note', {**x}) for x in x]\n")
	f.Fuzz(func(t *testing.T, text string) {
		catalogue, err := Builtin().Extend(Pack{Modules: []*setupv1.ToolModule{{Name: "desk", Source: text}}, Schema: noteSchema(t)})
		var mistakes source.Mistakes
		switch {
		case errors.As(err, &mistakes):
			for _, m := range mistakes {
				if m.Line < 1 || m.Line > 1+strings.Count(text, "\n") || m.Column < 1 || strings.Contains(m.Reason, "\n") {
					t.Errorf("mistake %+v of %q: want a place in it and one line", m, text)
				}
			}
			return
		case err != nil:
			t.Fatal(err)
		}
		for _, declared := range catalogue.All()[len(Builtin().All()):] {
			args, err := declared.Bind(nil, &python.Dict{})
			if err == nil {
				_, _ = declared.Run(t.Context(), noteWorld(t), args) // it ends
			}
		}
	})
}
