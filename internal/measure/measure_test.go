package measure

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// compiled returns the function f of a Python source.
func compiled(t *testing.T, source string, kind Kind) *Function {
	t.Helper()
	set, err := Compile([]*evaluationv1.MeasureModule{{Name: "mine", Source: source}})
	if err != nil {
		t.Fatal(err)
	}
	f := set.Find("f", kind)
	if f == nil {
		t.Fatalf("there is no f that is %v", kind)
	}
	return f
}

// functionSource returns the source of a function f whose body is one line.
func functionSource(hint, body string) string {
	return "from typing import Any, Dict, List, Optional\nimport json\n\n\ndef f(wanted: " + hint + ", found: " + hint + ") -> float:\n" +
		"    \"\"\"Compares.\"\"\"\n    " + body + "\n"
}

func TestCompare(t *testing.T) {
	number, text := python.Float, python.Str
	for _, c := range []struct {
		name, source  string
		wanted, found python.Value
		want          float64
		wrong         string
	}{
		{"python", functionSource("float", "return max(0.0, 1 - abs(wanted - found) / 10)"), number(5), number(10), 0.5, ""},
		{"int", functionSource("float", "return 1"), number(5), number(10), 1, ""},
		{"truth value", functionSource("str", "return wanted.lower() == found.lower()"), text("A"), text("a"), 1, ""},
		{"too large", functionSource("float", "return 1.2"), number(5), number(1), 0, "measures/mine.py:5: f(wanted=5.0, found=1.0): gives 1.2, expected a number from 0 to 1"},
		{"a little too large", functionSource("float", "return 1.0000001"), number(5), number(1), 0, "gives 1.0000001, expected a number from 0 to 1"},
		{"a little negative", functionSource("float", "return -1e-300"), number(5), number(1), 0, "gives -1e-300"},
		{"negative zero", functionSource("float", "return -0.0"), number(5), number(1), 0, ""},
		{"list", functionSource("float", "return [1.0]"), number(5), number(1), 0, "gives [1.0]"},
		{"memory of a list", functionSource("float", "return len([0] * 10 ** 9)"), number(5), number(1), 0, "MemoryError"},
		{"endless power", functionSource("float", "return 10 ** 10 ** 10 > 0"), number(5), number(1), 0, "Error"},
		{"recursive data", "def f(wanted: float, found: float) -> float:\n    \"\"\"Compares.\"\"\"\n    x = []\n    x.append(x)\n    return x == x and x == [x]\n", number(5), number(1), 1, ""},
		{"negative", functionSource("float", "return -0.5"), number(5), number(1), 0, "gives -0.5"},
		{"not a number", functionSource("float", "return float('nan')"), number(5), number(1), 0, "gives nan"},
		{"infinite", functionSource("float", "return float('inf')"), number(5), number(1), 0, "gives inf"},
		{"overflow", functionSource("float", "return found * 10 - found * 10"), number(1), number(1e308), 0, "gives nan"},
		{"large int", functionSource("float", "return 10 ** 400"), number(1), number(1), 0, "gives 1000"},
		{"text", functionSource("float", "return '1'"), number(5), number(1), 0, "gives '1', expected a number"},
		{"nothing", functionSource("float", "pass"), number(5), number(1), 0, "gives None"},
		{"function", functionSource("float", "return f"), number(5), number(1), 0, "TypeError: Object of type function is not JSON serializable"},
		{"division", functionSource("float", "return wanted / found"), number(5), number(0), 0, "(wanted=5.0, found=0.0): ZeroDivisionError: "},
		{"loop", functionSource("float", "while True: pass"), number(5), number(0), 0, "TimeoutError: more than 200000 steps"},
		{"recursion", functionSource("float", "return f(wanted, found)"), number(5), number(0), 0, "RecursionError"},
		{"memory", functionSource("str", "return len(found * 100000)"), text("a"), text(strings.Repeat("a", 1000)), 0, "MemoryError"},
		{"surrogate", functionSource("str", "raise ValueError('\\ud800' + found)"), text("a"), text("\xed\xa0\x80"), 0, `found='\ud800'): ValueError: �`},
		{"lines", functionSource("str", "raise ValueError(found)"), text("a"), text("x\ny"), 0, `found='x\ny'): ValueError: x y`},
		{"no clock", functionSource("float", "return json.dumps({'a': 1.0}) == '{\"a\": 1.0}'"), number(1), number(1), 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, steps, err := compiled(t, c.source, Cells).Compare(c.wanted, c.found)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || strings.ContainsAny(err.Error(), "\n") {
					t.Errorf("got %v and %v, want an error with %q", got, err, c.wrong)
				}
				return
			}
			if err != nil || got != c.want || math.Signbit(got) || steps <= 0 {
				t.Errorf("got %v after %d steps and %v, want %v", got, steps, err, c.want)
			}
		})
	}
}

// TestInputs calls measures that change their inputs or keep state. Neither has an effect on later
// calls.
func TestInputs(t *testing.T) {
	f := compiled(t, `from typing import Dict, List

SEEN = []


def f(wanted: List[Dict], found: List[Dict]) -> bool:
    """Compares."""
    SEEN.append(1)
    found.append({"a": 2.0})
    wanted[0]["a"] = 7.0
    return len(SEEN) == 1 and len(found) == 2
`, Rows)
	rows := func() python.Value {
		return python.List(python.DictOf(python.Item{Key: "a", Value: python.Float(1)}))
	}
	wanted, found := rows(), rows()
	for range 3 {
		if got, _, err := f.Compare(wanted, found); err != nil || got != 1 {
			t.Fatalf("got %v and %v, want 1", got, err)
		}
	}
	for _, input := range []python.Value{wanted, found} {
		if diff := cmp.Diff(python.Repr(rows()), python.Repr(input)); diff != "" {
			t.Errorf("input after calls (-want +got):\n%s", diff)
		}
	}
}

func TestRows(t *testing.T) {
	rows := func(values ...float64) python.Value {
		var list []python.Value
		for _, v := range values {
			list = append(list, python.DictOf(python.Item{Key: "price", Value: python.Float(v)}))
		}
		return python.List(list...)
	}
	f := compiled(t, functionSource("List[Dict[str, Any]]", "return all(any(r['price'] == w['price'] for r in found) for w in wanted)"), Rows)
	for _, c := range []struct {
		found python.Value
		want  float64
	}{{rows(1, 2, 3), 1}, {rows(1), 0}, {rows(), 0}} {
		if got, _, err := f.Compare(rows(2, 1), c.found); err != nil || got != c.want {
			t.Errorf("got %v and %v, want %v", got, err, c.want)
		}
	}
}

func TestNull(t *testing.T) {
	for _, c := range []struct {
		hint          string
		wanted, found python.Value
		calls, equal  bool
	}{
		{"float", python.None(), python.None(), false, true},
		{"float", python.Float(1), python.None(), false, false},
		{"float", python.None(), python.Float(1), false, false},
		{"float", python.Float(1), python.Float(1), true, false},
		{"Optional[float]", python.None(), python.None(), true, false},
		{"float | None", python.Float(1), python.None(), true, false},
		{"Any", python.None(), python.Float(1), true, false},
	} {
		calls, equal := compiled(t, functionSource(c.hint, "return 1.0"), Cells).Calls(c.wanted, c.found)
		if calls != c.calls || equal != c.equal {
			t.Errorf("%s of %s and %s: got %v, %v, want %v, %v", c.hint, python.Repr(c.wanted), python.Repr(c.found), calls, equal, c.calls, c.equal)
		}
	}
}

func TestExtract(t *testing.T) {
	source := func(body string) string {
		return "from typing import Any, Dict, List\n\n\ndef f(tool_name: str, arguments: Dict[str, Any], result: Any) -> List[Dict[str, Any]]:\n" +
			"    \"\"\"Takes.\"\"\"\n    " + body + "\n"
	}
	for _, c := range []struct{ name, body, want, wrong string }{
		{"values", `return [{"a": result["x"], "b": tool_name}, {"a": arguments["y"]}]`, "[a=1 b='t'] [a=True]", ""},
		{"none", `return []`, "", ""},
		{"many", `return [{"a": n} for n in range(100)]`, "64", ""},
		{"raises", `return [{"a": result["z"]}]`, "", "measures/mine.py:4: f(tool_name='t', arguments={'y': True}, result={'x': 1}): KeyError: 'z'"},
		{"no list", `return {"a": 1}`, "", "gives {'a': 1}, expected a list of dicts"},
		{"no dict", `return [1]`, "", "an alternative is 1"},
		{"empty", `return [{}]`, "", "an alternative is {}"},
		{"no value", `return [{"a": None}]`, "", "'a' is None, expected a number"},
		{"loop", `while True: pass`, "", "TimeoutError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := compiled(t, source(c.body), Extractor).Extract("t",
				python.DictOf(python.Item{Key: "y", Value: python.Bool(true)}), python.DictOf(python.Item{Key: "x", Value: python.Int(1)}))
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("got %v, want an error with %q", err, c.wrong)
				}
				return
			}
			if c.want == "64" && len(got) == 64 {
				return
			}
			if text := extracted(got); err != nil || text != c.want {
				t.Errorf("got %s and %v, want %s", text, err, c.want)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	const doc = "\n    \"\"\"Compares.\"\"\"\n    return 1.0\n"
	for _, c := range []struct{ name, source, want string }{
		{"syntax", "def f(wanted: float, found: float) -> float\n", "measures/mine.py:1:44: file: Python cannot read this: "},
		{"no function", "X = 1\n", "measures/mine.py:1:1: file: there is no measure"},
		{"statement", "print(1)\ndef f(wanted: float, found: float) -> float:" + doc, "measures/mine.py:1:1: file: only imports, constants, enumerations and functions"},
		{"constant", "import math\nROOT = math.sqrt(-1)\ndef f(wanted: float, found: float) -> float:" + doc,
			"measures/mine.py:2:1: file: this fails before each call of a function of the file: ValueError: math domain error"},
		{"clock", "from datetime import datetime\nSTART = datetime.now()\ndef f(wanted: float, found: float) -> float:" + doc, "measures/mine.py:2:1: file: only imports"},
		{"local time", "from datetime import datetime\nSTART = datetime.fromtimestamp(0)\ndef f(wanted: float, found: float) -> float:" + doc,
			"measures/mine.py:2:1: file: this fails before each call of a function of the file: RuntimeError: datetime.fromtimestamp() has no clock here"},
		{"import", "import random\ndef f(wanted: float, found: float) -> float:" + doc, "random cannot be imported: measures may import datetime, enum, json, math, re and typing"},
		{"docstring", "def f(wanted: float, found: float) -> float:\n    return 1.0\n", "1:1: f: there is no docstring"},
		{"parameters", "def f(a: float, b: float) -> float:" + doc, "f: takes (a, b), expected (wanted, found) of a measure, or (tool_name, arguments, result)"},
		{"default", "def f(wanted: float, found: float = 1.0) -> float:" + doc, "f: takes (wanted, found), expected"},
		{"star", "def f(wanted: float, *, found: float) -> float:" + doc, "without defaults"},
		{"no hint", "def f(wanted, found: float) -> float:" + doc, "wanted has no type; write wanted: float, str or bool for cells"},
		{"hint", "def f(wanted: int, found: int) -> float:" + doc, "1:15: f: the type of wanted is none of a measure; write wanted: float"},
		{"two types", "def f(wanted: float, found: str) -> float:" + doc, "wanted and found have different types"},
		{"union", "from typing import Union\ndef f(wanted: Union[float, str], found: Union[float, str]) -> float:" + doc, "the type of wanted is none of a measure"},
		{"optional rows", "from typing import List, Optional\ndef f(wanted: Optional[List], found: List) -> float:" + doc, "the type of wanted is none of a measure"},
		{"return", "def f(wanted: float, found: float) -> str:" + doc, "a measure gives a number from 0 to 1; write -> float"},
		{"no return", "def f(wanted: float, found: float):" + doc, "a measure gives a number from 0 to 1; write -> float"},
		{"extractor", "def f(tool_name: str, arguments: dict, result: str) -> str:" + doc, "an extractor gives a list of alternatives"},
		{"name", "def Near(wanted: float, found: float) -> float:" + doc, "Near: the name has to be up to 60 lower-case letters"},
		{"taken", "def max(wanted: float, found: float) -> float:" + doc, "max means something in Python already"},
		{"world", "def f(wanted: float, found: float) -> float:\n    \"\"\"C.\"\"\"\n    return world.now()\n", `3:12: f: name "world" is not defined; measures know their arguments`},
		{"f-string", "def f(wanted: float, found: float) -> float:\n    \"\"\"C.\"\"\"\n    return f'{nothing}'\n", `3:12: f: name "nothing" is not defined`},
		{"decorator", "@user\ndef f(wanted: float, found: float) -> float:" + doc, "measures have no decorators"},
		{"twice", "def f(wanted: float, found: float) -> float:" + doc + "def f(wanted: float, found: float) -> float:" + doc, "there are two functions f"},
		{"size", "def f(wanted: float, found: float) -> float:" + doc + strings.Repeat("#", maxSource), "exceed 131072 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Compile([]*evaluationv1.MeasureModule{{Name: "mine", Source: c.source}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	same := "def f(wanted: float, found: float) -> float:" + doc
	_, err := Compile([]*evaluationv1.MeasureModule{{Name: "a", Source: same}, {Name: "b", Source: same}})
	if want := "measures/b.py:1:1: f: measures/a.py has a function of that name"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

func TestAccepts(t *testing.T) {
	for hint, want := range map[string][]world.Kind{
		"float": {world.KindNumber}, "Optional[str]": {world.KindText}, "bool": {world.KindBool}, "Any": {world.KindText, world.KindNumber, world.KindBool},
	} {
		f := compiled(t, functionSource(hint, "return 1.0"), Cells)
		var got []world.Kind
		for _, kind := range []world.Kind{world.KindText, world.KindNumber, world.KindBool, world.KindTexts} {
			if f.Accepts(kind) {
				got = append(got, kind)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", hint, diff)
		}
	}
}
