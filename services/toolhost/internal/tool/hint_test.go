package tool

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// enumHead is the top of a file with enumerations.
const enumHead = `
import typing
from enum import Enum, IntEnum, auto
from typing import Dict, List, Literal, Optional, Union


class Color(str, Enum):
    """Colours of paint."""

    RED = "red"
    GREEN = "green"


class Size(Enum):
    SMALL = 1
    LARGE = 2


class Level(IntEnum):
    LOW = auto()
    HIGH = auto()


`

// hintFile returns a file whose tool act has a parameter and returns an expression.
func hintFile(param, result string) string {
	return enumHead + "def act(" + param + ") -> Any:\n    \"\"\"Acts.\n\n    Args:\n        x: What.\n    \"\"\"\n    return " + result + "\n"
}

// TestHintTypes checks the schema, the checks and the values of parameters with choices, unions and
// containers.
func TestHintTypes(t *testing.T) {
	for _, test := range []struct {
		param, schema string
		calls         map[string]string // the answer by the argument, empty for none
	}{
		{`x: Literal["a", "b"]`, `"type": "string", "enum": ["a", "b"]`, map[string]string{
			`"b"`:  "'b'",
			`"c"`:  "ValueError: Parameter 'x' is 'c', but expected one of 'a', 'b'.",
			`5`:    "TypeError: Parameter 'x' is of type '<class 'int'>', but expected 'typing.Literal['a', 'b']'.",
			`null`: "TypeError: Parameter 'x' is of type '<class 'NoneType'>', but expected 'typing.Literal['a', 'b']'.",
		}},
		{`x: typing.Literal[1, 2, -3] = 2`, `"type": "integer", "enum": [1, 2, -3]`, map[string]string{
			"": "2", `-3`: "-3", `1.0`: "TypeError: Parameter 'x' is of type '<class 'float'>', but expected 'typing.Literal[1, 2, -3]'.",
			`true`: "ValueError: Parameter 'x' is True, but expected one of 1, 2, -3.", `4`: "ValueError: Parameter 'x' is 4, but expected one of 1, 2, -3.",
		}},
		{`x: Literal["a", 1, None] = None`, `"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}]`, map[string]string{
			"": "None", `"a"`: "'a'", `1`: "1", `"b"`: "ValueError: Parameter 'x' is 'b', but expected one of 'a'.",
			`[]`: "TypeError: Parameter 'x' is of type '<class 'list'>', but expected 'typing.Optional[typing.Literal['a', 1, None]]'.",
		}},
		{`x: Optional[Literal["a"]] = None`, `"type": "string", "enum": ["a"]`, map[string]string{"": "None", `null`: "None", `"a"`: "'a'"}},
		{`x: Color`, `"type": "string", "enum": ["red", "green"]`, map[string]string{
			`"red"`: "'red'", `"blue"`: "ValueError: Parameter 'x' is 'blue', but expected one of 'red', 'green'.",
			`"RED"`: "ValueError: Parameter 'x' is 'RED', but expected one of 'red', 'green'.",
			`1`:     "TypeError: Parameter 'x' is of type '<class 'int'>', but expected '<enum 'Color'>'.",
		}},
		{`x: Color = Color.GREEN`, `"type": "string", "enum": ["red", "green"]`, map[string]string{"": "'green'"}},
		{`x: Size`, `"type": "integer", "enum": [1, 2]`, map[string]string{`2`: "2", `3`: "ValueError: Parameter 'x' is 3, but expected one of 1, 2."}},
		{`x: Optional[Level] = None`, `"type": "integer", "enum": [1, 2]`, map[string]string{"": "None", `2`: "2",
			`"2"`: "TypeError: Parameter 'x' is of type '<class 'str'>', but expected 'typing.Optional[Level]'."}},
		{`x: List[Color]`, `"type": "array", "items": {"type": "string", "enum": ["red", "green"]}`, map[string]string{
			`["red", "green"]`: "['red', 'green']", `["red", "blue"]`: "ValueError: Parameter 'x[1]' is 'blue', but expected one of 'red', 'green'.",
			`[1]`: "TypeError: Parameter 'x[0]' is of type '<class 'int'>', but expected '<enum 'Color'>'."}},
		{`x: dict[str, Literal["on", "off"]]`, `"type": "object", "additionalProperties": {"type": "string", "enum": ["on", "off"]}`, map[string]string{
			`{"a": "on"}`: "{'a': 'on'}", `{"a": "x"}`: "ValueError: Parameter 'x['a']' is 'x', but expected one of 'on', 'off'."}},
		{`x: list[list[int]]`, `"type": "array", "items": {"type": "array", "items": {"type": "integer"}}`, map[string]string{
			`[[1], []]`: "[[1], []]", `5`: "TypeError: Parameter 'x' is of type '<class 'int'>', but expected 'typing.List[typing.List[int]]'."}},
		{`x: List[Optional[str]]`, `"type": "array", "items": {"type": "string"}`, map[string]string{`[null]`: "[None]"}},
		{`x: typing.Dict[str, typing.Any]`, `"type": "object"`, map[string]string{`{"a": [1]}`: "{'a': [1]}"}},
		{`x: str | int | None = None`, `"anyOf": [{"type": "string"}, {"type": "integer"}]`, map[string]string{
			"": "None", `5`: "5", `"a"`: "'a'", `1.5`: "TypeError: Parameter 'x' is of type '<class 'float'>', but expected 'typing.Union[str, int, NoneType]'."}},
		{`x: Union[float, List[float]]`, `"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}]`, map[string]string{`[1]`: "[1]", `2`: "2"}},
		{`x: Union[Color, NotGiven] = NOT_GIVEN`, `"type": "string", "enum": ["red", "green"]`, map[string]string{`"red"`: "'red'"}},
	} {
		catalogue := extendWith(t, hintFile(test.param, "x"))
		schema := catalogue.Find("act").WithoutAugmentations().GetParametersJson()
		if want := `"x": {` + test.schema + `, "description": "What."}`; !strings.Contains(schema, want) {
			t.Errorf("%s: got the schema %s, want %s in it", test.param, schema, want)
		}
		for argument, want := range test.calls {
			arguments := `{"x": ` + argument + `}`
			if argument == "" {
				arguments = "{}"
			}
			if got := call(t, catalogue, noteWorld(t), "act", arguments); got != want {
				t.Errorf("%s with %s: got %s, want %s", test.param, argument, got, want)
			}
		}
	}
}

// TestEnumArguments checks that arguments and defaults of an enumeration are its members in a tool,
// and results their values.
func TestEnumArguments(t *testing.T) {
	for _, test := range []struct{ param, result, argument, want string }{
		{"x: Color", "[repr(x), str(x), x.name, x.value, x is Color.RED, x == 'red', x.upper()]", `"red"`, `["<Color.RED: 'red'>", 'Color.RED', 'RED', 'red', True, True, 'RED']`},
		{"x: Color = Color.GREEN", "repr(x)", "", `"<Color.GREEN: 'green'>"`},
		{"x: Size", "[x.name, isinstance(x, Size), isinstance(x, int)]", "2", "['LARGE', True, False]"},
		{"x: Level", "[x.name, x + 1, f'{x}', max(Level)]", "2", "['HIGH', 3, '2', 2]"},
		{"x: Optional[List[Color]] = None", "[c.name for c in x]", `["green"]`, "['GREEN']"},
		{"x: Dict[str, Size]", "{k: v.name for k, v in x.items()}", `{"a": 1}`, "{'a': 'SMALL'}"},
		{"x: Union[None, Color, Size]", "x.name", `1`, "'SMALL'"},
		{"x: typing.Optional[Color]", "x.name", `"red"`, "'RED'"},
		{"x: Color", "{'c': x, 's': [Size.SMALL, Level.LOW]}", `"red"`, "{'c': 'red', 's': [1, 1]}"},
		{"x: Color", "world.rows('note', title=x)", `"red"`, "[]"},
		{"x: str", "repr(x)", `"red"`, `"'red'"`},
	} {
		arguments := `{"x": ` + test.argument + `}`
		if test.argument == "" {
			arguments = "{}"
		}
		if got := call(t, extendWith(t, hintFile(test.param, test.result)), noteWorld(t), "act", arguments); got != test.want {
			t.Errorf("%s, %s: got %s, want %s", test.param, test.result, got, test.want)
		}
	}
}

// TestEnumResults checks results whose hint is an enumeration or a Literal.
func TestEnumResults(t *testing.T) {
	source := enumHead + `def paint() -> Color:
    """Acts."""
    return Color.RED


def wrong() -> Literal["a", "b"]:
    """Acts."""
    return str(world.now())
`
	catalogue, w := extendWith(t, source), noteWorld(t)
	if got := call(t, catalogue, w, "paint", "{}"); got != "'red'" {
		t.Errorf("paint: got %s, want its value", got)
	}
	faults, err := catalogue.Try(t.Context(), *w)
	if err != nil {
		t.Fatal(err)
	}
	want := `tools/desk.py:29:1: wrong: it returns '1700000000.0', but the hint says Literal['a', 'b'], when called as wrong()`
	if diff := cmp.Diff(want, faults.Error()); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// TestHintMistakes checks enumerations, hints and defaults that no tool can have.
func TestHintMistakes(t *testing.T) {
	const unknown = "the type of x is none that a model can give; write str, bool, int, float, Literal[…], an Enum of this file, List[…] or Dict[str, …], perhaps in Optional[…] or Union[…, NotGiven]"
	const doc = "  '''Acts.\n\n  Args:\n    x: X.\n  '''\n"
	const enum = "from enum import Enum\n"
	for _, test := range []struct {
		source string
		want   []string
	}{
		{"def act(x: Literal[1.5]) -> None:\n" + doc, []string{"1:12: act: " + unknown}},
		{"def act(x: Dict[int, str]) -> None:\n" + doc, []string{"1:12: act: " + unknown}},
		{"def act(x: Any) -> None:\n" + doc, []string{"1:12: act: " + unknown}},
		{"def act(x: Literal['a'] = 'b') -> None:\n" + doc, []string{"1:27: act: the default of x does not fit its type, or is no constant; write one that does, or Optional[…] and None"}},
		{enum + "class C(Enum):\n  A = 1\ndef act(x: C = C.B) -> None:\n" + doc, []string{`4:16: act: C has no member B; did you mean "A"?`}},
		{enum + "class C(str, Enum):\n  RED = 'r'\ndef act(x: str) -> str:\n" + doc + "  return C.REED.upper() + C.upper(x)\n", []string{`10:10: act: C has no member REED; did you mean "RED"?`}},
		{"class C:\n  A = 1\ndef act(x: str) -> None:\n" + doc, []string{
			"1:1: C: a class is an enumeration here; write class C(str, Enum) with from enum import Enum, or use a dict"}},
		{enum + "class C(Enum):\n  A = []\n  A = 1\n  A = 2\n  def f(self):\n    pass\ndef act(x: str) -> None:\n" + doc, []string{
			`3:3: C: an enumeration holds its members alone, NAME = "value" with a text, a number or auto(), each name once; move it into a function`,
			`5:3: C: an enumeration holds its members alone, NAME = "value" with a text, a number or auto(), each name once; move it into a function`,
			`6:3: C: an enumeration holds its members alone, NAME = "value" with a text, a number or auto(), each name once; move it into a function`}},
		{enum + "class C(Enum):\n  pass\ndef act(x: str) -> None:\n" + doc, []string{`2:1: C: the enumeration has no members; add NAME = "value"`}},
		{"class C(str, Enum):\n  A = 'a'\ndef act(x: str) -> None:\n" + doc, []string{`1:14: file: name "Enum" is not defined`}},
		{"def act(x: str) -> None:\n" + doc + "  class C:\n    A = 1\n", []string{"7:3: act: a class stands at the top of a file; move it there"}},
	} {
		wantMistakes(t, test.source, test.want)
	}
}

// TestEnumTrace checks that a trace has the value of a member.
func TestEnumTrace(t *testing.T) {
	declared := extendWith(t, hintFile("x: Color = Color.GREEN", "x")).Find("act")
	args, err := declared.Bind(nil, &python.Dict{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := python.Repr(args.Trace()), "{'x': 'green'}"; got != want {
		t.Errorf("trace: got %s, want %s", got, want)
	}
}

// TestToolFilesPage loads the file on docs/tool-files.md and calls its tools.
func TestToolFilesPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "tool-files.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page: got no block of Python, want one")
	}
	catalogue, w := extendWith(t, string(block[1])), noteWorld(t)
	for _, test := range []struct{ tool, arguments, want string }{
		{"list_colors", "{}", "['red', 'green']"},
		{"mix_paint", `{"color": "green"}`, "'matt green at 22:43'"},
		{"mix_paint", `{"color": "blue"}`, "ValueError: Parameter 'color' is 'blue', but expected one of 'red', 'green'."},
	} {
		if got := call(t, catalogue, w, test.tool, test.arguments); got != test.want {
			t.Errorf("%s with %s: got %s, want %s", test.tool, test.arguments, got, test.want)
		}
	}
}

// TestModules calls tools that import modules, in each form, in the session's time and zone.
func TestModules(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ head, body, want string }{
		{"import math", "return math.floor(2.5) + round(math.pi)", "5"},
		{"from math import sqrt as root", "return root(2)", "1.4142135623730951"},
		{"import re", "return re.sub(r'\\d+', '#', 'a1b22')", "'a#b#'"},
		{"import re\nPLATE = re.compile(r'[A-Z]{2}-\\d+')", "return [bool(PLATE.match(x)) for x in ('AB-12', 'x')]", "[True, False]"},
		{"from datetime import timedelta\nDAY = 24 * 60 * 60\nWEEK = timedelta(days=7)", "return [DAY, WEEK.days]", "[86400, 7]"},
		{"import datetime", "return str(datetime.datetime.now())", "'2023-11-14 23:13:20'"},
		{"from datetime import date as day", "return day.today().isoformat()", "'2023-11-14'"},
		{"from datetime import datetime, timezone", "return [datetime.now().timestamp() == world.now(), datetime.now(timezone.utc).hour]", "[True, 22]"},
		{"from datetime import datetime", "return datetime.fromtimestamp(0).isoformat()", "'1970-01-01T01:00:00'"},
		{"import json", "return json.loads('[1]')", "[1]"},
		{"", "import math, json\n    from datetime import timedelta\n    return str(timedelta(hours=math.ceil(1.5)))", "'2:00:00'"},
		{"import datetime", "return datetime.datetime.now()", "TypeError: Object of type datetime is not JSON serializable"},
		{"import re", "return re.match('(a+)+$', 'a' * 50 + 'b')", "TimeoutError: more than 200000 steps are needed"},
		{"import math", "return math.factorial(10 ** 6)", "MemoryError: the number is too large"},
		{"import re", "return re.compile('(')", "re.error: missing ), unterminated subpattern at position 0"},
	} {
		catalogue := extendWith(t, test.head+"\ndef act() -> Any:\n    '''Acts.'''\n    "+test.body+"\n")
		w := session.NewWorld(&session.Config{Zone: zone, Schema: noteSchema(t)}, 1_700_000_000)
		if got := call(t, catalogue, &w, "act", "{}"); got != test.want {
			t.Errorf("%s, %s: got %s, want %s", test.head, test.body, got, test.want)
		}
		if !catalogue.Find("act").ReadOnly {
			t.Errorf("%s: it changes the world, want read-only", test.body)
		}
	}
}
