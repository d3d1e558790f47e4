package measure

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/expression"
	"github.com/toolsandbox/toolsandbox/python"
)

// parsed returns a JSON value.
func parsed(tb testing.TB, text string) python.Value {
	tb.Helper()
	value, err := python.ParseJSON(text)
	if err != nil {
		tb.Fatal(err)
	}
	return value
}

// extracted formats alternatives.
func extracted(alternatives [][]NamedValue) string {
	var texts []string
	for _, values := range alternatives {
		var parts []string
		for _, v := range values {
			parts = append(parts, v.Name+"="+python.Repr(v.Value))
		}
		texts = append(texts, "["+strings.Join(parts, " ")+"]")
	}
	return strings.Join(texts, " ")
}

func TestExtractorExpression(t *testing.T) {
	const people = `[{"name": "Ann", "age": 41, "tall": true}, {"name": "Al", "age": 7.5, "tall": null}]`
	for _, test := range []struct{ name, text, result, want, problem string }{
		{"number", `[{"a": result}]`, "1152921504606846976", "[a=1152921504606846976]", ""},
		{"large number", `[{"a": result}]`, "123456789012345678901", "[a=123456789012345678901]", ""},
		{"several", `[{"name": p["name"], "age": p["age"]} for p in result]`, people, "[name='Ann' age=41] [name='Al' age=7.5]", ""},
		{"filtered", `[{"name": p["name"]} for p in result if p["age"] < 10]`, people, "[name='Al']", ""},
		{"choice", `[{"x": 1}] if "x" in result else [{"x": 2}] + [{"x": 3}]`, "{}", "[x=2] [x=3]", ""},
		{"choice inside", `[{"x": 1} if len(result) > 1 else {"x": 2}]`, people, "[x=1]", ""},
		{"order of names", `[{"b": 1, "a": 2}, {"a": 3, "b": 4}]`, "null", "[b=1 a=2] [a=3 b=4]", ""},
		{"any", `[{"x": True}] if any(p["name"] == "Al" for p in result) else []`, people, "[x=True]", ""},
		{"none", `[{"x": 1} for n in []]`, "null", "", ""},
		{"tool and arguments", `[{"x": tool_name + arguments["name"]}]`, "null", "[x='toolgiven']", ""},
		{"keys in order", `[{"x": "".join(result)}]`, `{"b": 1, "a": 2}`, "[x='ba']", ""},
		{"lines", "[\n  {\"x\": p}\n  for p in result\n]\n", "[1, 2]", "[x=1] [x=2]", ""},
		{"missing", `[{"x": result["x"]}]`, "{}", "", "extractor(tool_name='tool', arguments={'name': 'given'}, result={}): KeyError: 'x'"},
		{"null", `[{"x": result}]`, "null", "", "'x' is None, expected a number, a text or a truth value"},
		{"one of them null", `[{"x": p["tall"]} for p in result]`, people, "", "'x' is None, expected a number, a text or a truth value"},
		{"list", `[{"x": result}]`, "[1]", "", "'x' is [1], expected a number, a text or a truth value"},
		{"text for a number", `[{"x": float(result)}]`, `"five"`, "", "ValueError: could not convert string to float: 'five'"},
		{"decimals", `[{"x": f"{result:.0f}"}, {"x": f"{result:.2f}"}]`, "2.5", "[x='2'] [x='2.50']", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := CompileExpression(test.text)
			if err != nil {
				t.Fatal(err)
			}
			got, steps, err := f.Extract("tool", parsed(t, `{"name": "given"}`), parsed(t, test.result))
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if diff := cmp.Diff(test.want, extracted(got)); diff != "" || !strings.HasSuffix(problem, test.problem) || (problem == "") != (test.problem == "") {
				t.Errorf("%s: problem %q, want %q; alternatives (-want +got):\n%s", test.text, problem, test.problem, diff)
			}
			if steps <= 0 {
				t.Errorf("steps: got %d, want some", steps)
			}
		})
	}
}

func TestExtractorExpressionErrors(t *testing.T) {
	const unnamed = `the names cannot be told here; write alternatives out as [{"name": value}], also with for, if and else`
	const undefined = ` is not defined; the expression knows tool_name, arguments, result, and what Python has built in`
	for _, test := range []struct{ name, text, want string }{
		{"empty", " ", "the expression is empty"},
		{"syntax", `[{"a": 1 +}]`, "column 11 of the expression: Python cannot read this: invalid syntax"},
		{"unfinished", `[{"a": 1}`, "column 10 of the expression: Python cannot read this: the source ends too early"},
		{"second line", "[{\n  \"a\": nine}]", `line 2, column 8 of the expression: name "nine"` + undefined},
		{"unknown name", `[{"a": now}]`, `column 8 of the expression: name "now"` + undefined},
		{"no list", `{"a": 1}`, "column 1 of the expression: " + unnamed},
		{"no value", `1`, "column 1 of the expression: " + unnamed},
		{"generator", `({"a": n} for n in [1])`, "column 1 of the expression: " + unnamed},
		{"no alternative", `[]`, `the expression gives no alternative, expected some like [{"name": value}]`},
		{"no values", `[{}]`, "column 2 of the expression: an alternative without values says nothing"},
		{"other names", `[{"a": 1}, {"b": 1}]`, "column 12 of the expression: gives b, but another alternative gives a; all must have the same names"},
		{"name not written out", `[{tool_name: 1}]`, "column 3 of the expression: a name must be a text that is written out"},
		{"names not written out", `[{**result}]`, "column 2 of the expression: a name must be a text that is written out"},
		{"name twice", `[{"a": 1, "a": 2}]`, `column 11 of the expression: "a" is given twice`},
		{"list for a value", `[{"a": [1]}]`, `column 8 of the expression: "a" is a list, expected a number, a text or a truth value`},
		{"nothing for a value", `[{"a": None}]`, `column 8 of the expression: "a" is None, expected a number, a text or a truth value`},
		{"function for a value", `[{"a": lambda: 1}]`, `column 8 of the expression: "a" is a function, expected a number, a text or a truth value`},
		{"names from data", `result`, "column 1 of the expression: " + unnamed},
		{"names from a loop", `[a for a in result]`, `column 2 of the expression: the names cannot be told here; write the alternative out as {"name": value}`},
		{"long", `[{"a": "` + strings.Repeat("x", 2000) + `"}]`, "the expression has 2011 bytes, at most 2000 are allowed"},
		{"endless comprehension", `[{"a": 1} for a in range(10**9) for b in range(10**9) if a < 0]`, "TimeoutError: more than 200000 steps are needed"},
		{"huge text", `[{"a": "x" * 10**9}]`, "MemoryError: more than 8388608 bytes are needed"},
		{"huge int", `[{"a": 10**10**10}]`, "MemoryError: the number is too large"},
		{"recursion", `[{"a": (lambda f: f(f))(lambda f: f(f))}]`, "RecursionError: maximum recursion depth exceeded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := CompileExpression(test.text)
			var mistake *expression.Error
			if !errors.As(err, &mistake) || mistake.Error() != test.want {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

// TestHostileExtractors evaluates extractors that exceed a limit for large results only.
func TestHostileExtractors(t *testing.T) {
	items := make([]python.Value, 100_000)
	for i := range items {
		items[i] = python.DictOf(python.Item{Key: "a", Value: python.Int(int64(i))}, python.Item{Key: "text", Value: python.Str(strings.Repeat("x", 40))})
	}
	long := python.List(items...)
	for _, test := range []struct {
		name, text string
		result     python.Value
		want       string
	}{
		{"long list", `[{"a": a["a"]} for a in result]`, long, "MemoryError: more than 8388608 bytes are needed"},
		{"loops in loops", `[{"a": sum(1 for b in result for c in result)}]`, python.List(items[:1000]...), "TimeoutError: more than 200000 steps are needed"},
		{"repeated comparison", `[{"a": a == result} for a in result for b in result]`, python.List(python.List(items[:10_000]...), python.List(items[:10_000]...)), "MemoryError: more than 8388608 bytes are needed"},
		{"growing text", `[{"a": len(result * len(result))}]`, python.Str(strings.Repeat("x", 100_000)), "MemoryError: more than 8388608 bytes are needed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := CompileExpression(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got, _, err := f.Extract("t", python.DictOf(), test.result); err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %d alternatives, %.300v, want %s", len(got), err, test.want)
			}
		})
	}
	f, err := CompileExpression(`[{"a": a["a"]} for a in result]`)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := f.Extract("t", python.DictOf(), python.List(items[:200]...)); err != nil || len(got) != maxAlternatives {
		t.Errorf("200 items: got %d alternatives, %v, want the first %d", len(got), err, maxAlternatives)
	}
}

func TestBuiltIns(t *testing.T) {
	names := BuiltInNames()
	if len(names) != 10 {
		t.Errorf("got %d built-in extractors, want 10: %v", len(names), names)
	}
	for _, known := range builtInSources() {
		if _, err := CompileExpression(known.text); err != nil {
			t.Errorf("%s: %v", known.name, err)
		}
		if f := BuiltIn(known.name); f == nil || f.Name != known.name || len(f.Names) == 0 {
			t.Errorf("BuiltIn(%s): got %v, want an extractor with names", known.name, f)
		}
	}
	if f := BuiltIn("other_extractor"); f != nil {
		t.Errorf("BuiltIn(other_extractor): got %v, want none", f)
	}
}

func TestTemplate(t *testing.T) {
	for _, test := range []struct {
		text    string
		want    Template
		problem error
	}{
		{"plain", Template{Literals: []string{"plain"}}, nil},
		{"{a}, {{{b}}}", Template{Literals: []string{"", ", {", "}"}, Names: []string{"a", "b"}}, nil},
		{"{a", Template{}, errUnpaired},
		{"a}", Template{}, errUnpaired},
		{"{}", Template{}, errNoName},
	} {
		got, err := ParseTemplate(test.text)
		if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.problem) {
			t.Errorf("ParseTemplate(%q): got %v, want %v; template (-want +got):\n%s", test.text, err, test.problem, diff)
		}
	}
	if got, ok := (Template{Names: []string{"a", "b"}}).FirstUnknown([]string{"a"}); got != "b" || !ok {
		t.Errorf("Unknown: got %q, %v, want b", got, ok)
	}
}

// FuzzExtractor compiles any text and evaluates valid extractors.
func FuzzExtractor(f *testing.F) {
	for _, known := range builtInSources() {
		f.Add(known.text, 1.5)
	}
	f.Add(`[{"name": p["name"]} for p in result if p["age"] < 10]`, 0.0)
	f.Add(`[{"a": arguments["b"] + 1}] + [{"a": "x"} if "c" in result else {"a": True}]`, 0.0)
	f.Fuzz(func(t *testing.T, text string, number float64) {
		extractor, err := CompileExpression(text)
		var mistake *expression.Error
		if err != nil {
			if !errors.As(err, &mistake) || mistake.Problem == "" || mistake.Line < 0 || mistake.Column < 0 {
				t.Fatalf("CompileExpression(%q): got %#v, want an *Error with a problem", text, err)
			}
			return
		}
		if len(extractor.Names) == 0 {
			t.Fatalf("%q gives no names", text)
		}
		value := python.Float(number)
		person := python.DictOf(python.Item{Key: "name", Value: python.Str("y")}, python.Item{Key: "age", Value: value})
		weather := python.DictOf(python.Item{Key: "c", Value: value}, python.Item{Key: "days", Value: value})
		for _, result := range []python.Value{python.None(), value, python.List(value, python.Str("x"), person), weather} {
			sets, _, err := extractor.Extract("t", python.DictOf(python.Item{Key: "b", Value: value}), result)
			if err != nil && len(sets) > 0 {
				t.Errorf("%q: got %v beside %v", text, sets, err)
			}
			for _, set := range sets {
				if len(set) != len(extractor.Names) {
					t.Errorf("%q: got %d values for %v", text, len(set), extractor.Names)
				}
			}
		}
	})
}

// BenchmarkExtract extracts one value, and four alternatives, from a call.
func BenchmarkExtract(b *testing.B) {
	for _, name := range []string{"result_to_timestamp0_extractor", "result_to_temperature_extractor"} {
		extractor := BuiltIn(name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := extractor.Extract("t", python.DictOf(), python.Float(12.5)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
