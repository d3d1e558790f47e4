package celexpr

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// extract compiles an expression and applies it.
func extract(t *testing.T, text string, trace Trace) ([][]any, error) {
	t.Helper()
	extractor, err := CompileExtractor(text)
	if err != nil {
		t.Fatalf("CompileExtractor(%s): %v", text, err)
	}
	return extractor.Extract(trace)
}

func TestExtract(t *testing.T) {
	type object = map[string]any
	people := []any{
		object{"name": "Ann", "age": int64(41), "tall": true},
		object{"name": "Al", "age": 7.5, "tall": nil},
	}
	for _, test := range []struct {
		name, text string
		result     any
		want       [][]any
		problem    string
	}{
		{"number", `[{"a": trace.result}]`, int64(1) << 60, [][]any{{int64(1) << 60}}, ""},
		{"several", `trace.result.map(p, {"name": p.name, "age": p.age})`, people, [][]any{{"Ann", int64(41)}, {"Al", 7.5}}, ""},
		{"filtered", `trace.result.filter(p, p.age < 10).map(p, {"name": p.name})`, people, [][]any{{"Al"}}, ""},
		{"three arguments", `trace.result.map(p, p.age > 10, {"name": p.name})`, people, [][]any{{"Ann"}}, ""},
		{"choice", `has(trace.result.x) ? [{"x": 1}] : [{"x": 2}] + [{"x": 3}]`, object{}, [][]any{{int64(2)}, {int64(3)}}, ""},
		{"choice inside", `[trace.result.size() > 1 ? {"x": 1} : {"x": 2}]`, people, [][]any{{int64(1)}}, ""},
		{"order of names", `[{"b": 1, "a": 2}, {"a": 3, "b": 4}]`, nil, [][]any{{int64(1), int64(2)}, {int64(4), int64(3)}}, ""},
		{"exists", `trace.result.exists(p, p.name == "Al") ? [{"x": true}] : []`, people, [][]any{{true}}, ""},
		{"none", `[{"x": 1}].filter(x, false)`, nil, nil, ""},
		{"tool and arguments", `[{"x": trace.tool_name + trace.arguments.name}]`, nil, [][]any{{"toolgiven"}}, ""},
		{"missing", `[{"x": trace.result.x}]`, object{}, nil, "no such key: x"},
		{"null", `[{"x": trace.result}]`, nil, nil, `"x" is null_type, expected a number, a text or a truth value`},
		{"one of them null", `trace.result.map(p, {"x": p.tall})`, people, nil, `"x" is null_type, expected a number, a text or a truth value`},
		{"text for a number", `[{"x": float(trace.result)}]`, "5", nil, "no such overload: float(string)"},
		{"float", `[{"x": float(trace.result)}]`, true, [][]any{{1.0}}, ""},
		{"whole", `[{"x": whole(trace.result)}]`, -2.9, [][]any{{int64(-2)}}, ""},
		{"whole of much", `[{"x": whole(trace.result)}]`, 1e19, nil, "whole: 1e+19 is no integer of 64 bits"},
		{"whole of nothing", `[{"x": whole(trace.result)}]`, math.NaN(), nil, "whole: NaN is no integer of 64 bits"},
		{"number as it is", `[{"x": number(trace.result)}]`, 2.5, [][]any{{2.5}}, ""},
		{"decimals", `[{"x": decimals(trace.result, 0)}, {"x": decimals(trace.result, 2)}]`, 2.5, [][]any{{"2"}, {"2.50"}}, ""},
		{"too many decimals", `[{"x": decimals(trace.result, 21)}]`, 1.0, nil, "decimals: 21 is no number of decimals from 0 to 20"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := extract(t, test.text, Trace{Tool: "tool", Arguments: object{"name": "given"}, Result: test.result})
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" || problem != test.problem {
				t.Errorf("%s: problem %q, want %q; alternatives (-want +got):\n%s", test.text, problem, test.problem, diff)
			}
		})
	}
}

func TestExtractorErrors(t *testing.T) {
	const unnamed = `the names cannot be told here; write alternatives out as [{"name": value}], also inside map, filter and ? :`
	for _, test := range []struct{ name, text, want string }{
		{"empty", " ", "the expression is empty"},
		{"syntax", `[{"a": 1 +}]`, "column 11 of the expression: Syntax error: mismatched input '}'"},
		{"unfinished", `[{"a": 1}`, "column 10 of the expression: Syntax error: it ends too early"},
		{"second line", "[{\n  \"a\": nine}]", "line 2, column 8 of the expression: undeclared reference to 'nine'"},
		{"no such field", `[{"a": trace.resutl}]`, "column 8 of the expression: trace has tool_name, arguments and result, nothing else"},
		{"no list", `{"a": 1}`, `the expression gives map(string, int), expected a list of alternatives like [{"name": value}]`},
		{"no alternative", `[]`, `the expression gives no alternative, expected some like [{"name": value}]`},
		{"no value", `[{}]`, "column 2 of the expression: an alternative without values says nothing"},
		{"other names", `[{"a": 1}, {"b": 1}]`, "column 12 of the expression: gives b, but another alternative gives a; all must have the same names"},
		{"name not written out", `[{trace.tool_name: 1}]`, "column 8 of the expression: a name must be a text that is written out"},
		{"name twice", `[{"a": 1, "a": 2}]`, `column 11 of the expression: "a" is given twice`},
		{"list for a value", `[{"a": [1]}]`, `column 8 of the expression: "a" is list(int), expected a number, a text or a truth value`},
		{"names from data", `trace.result`, "column 6 of the expression: " + unnamed},
		{"names from a variable", `[1].map(a, trace.result)`, `column 17 of the expression: the names cannot be told here; write the alternative out as {"name": value}`},
		{"names from a loop", `trace.result.map(a, a)`, "column 6 of the expression: " + unnamed},
		{"unknown function", `[{"a": "x".matches("x")}]`, "column 19 of the expression: undeclared reference to 'matches'"},
		{"wrong argument", `[{"a": decimals(1, 2.0)}]`, "column 16 of the expression: found no matching overload for 'decimals' applied to '(int, double)'"},
		{"unknown macro", `[{"a": trace.result.exists_one(x, x)}]`, "column 31 of the expression: undeclared reference to 'exists_one'"},
	} {
		t.Run(test.name, func(t *testing.T) { wantError(t, test.text, test.want) })
	}
}

// wantError checks the error of compiling an extractor.
func wantError(t *testing.T, text, want string) {
	t.Helper()
	_, err := CompileExtractor(text)
	var mistake *Error
	if !errors.As(err, &mistake) || mistake.Error() != want {
		t.Errorf("CompileExtractor(%.80s):\n got %v\nwant %s", text, err, want)
	}
}

// TestHostileExtractors compiles and evaluates expensive extractors.
func TestHostileExtractors(t *testing.T) {
	const steep = "the expression may take more than 20000 steps with lists of 100 items"
	for _, test := range []struct{ name, text, want string }{
		{"long", `[{"a": "` + strings.Repeat("x", 2000) + `"}]`, "expression code point size exceeds limit: size: 2011, limit 2000"},
		{"deep lists", strings.Repeat("[", 900) + strings.Repeat("]", 900), "expression recursion limit exceeded: 40"},
		{"deep calls", `[{"a": ` + strings.Repeat("-(", 400) + "1" + strings.Repeat(")", 400) + `}]`, "expression recursion limit exceeded: 40"},
		{"three loops", `trace.result.map(a, a.map(b, b.map(c, c))).map(d, {"a": 1})`, "column 26 of the expression: comprehension exceeds nesting limit"},
		{"loops in loops", `trace.result.map(a, {"a": trace.result.exists(b, b == a)})`, steep},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := CompileExtractor(test.text)
			if err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	long := make([]any, 100_000)
	for i := range long {
		long[i] = map[string]any{"a": int64(i), "text": strings.Repeat("x", 100)}
	}
	deep := any(int64(1))
	for range 500 {
		deep = []any{deep}
	}
	const stopped = "operation cancelled: actual cost limit exceeded"
	for _, test := range []struct {
		name, text string
		result     any
	}{
		{"long list", `trace.result.map(a, {"a": a.a})`, long},
		{"comparison of much", `[{"a": trace.result == trace.result}]`, long},
		{"search in much", `[{"a": 5 in trace.result}]`, long},
		{"repeated comparison", `trace.result.map(a, {"a": a == trace.result})`, []any{long, long, long}},
		{"deep comparison", `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20].map(n, {"a": trace.result == trace.result})`, deep},
		{"size of much text", `[1, 2].map(a, {"a": trace.result.size()})`, strings.Repeat("ä", 1_000_000)},
		{"much text", `[{"a": trace.result + trace.result}]`, strings.Repeat("x", 1_000_000)},
		{"text in text", `[{"a": trace.result.contains(trace.result)}]`, strings.Repeat("x", 10_000)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := extract(t, test.text, Trace{Result: test.result}); err == nil || err.Error() != stopped {
				t.Errorf("got %d alternatives, %v, want %s", len(got), err, stopped)
			}
		})
	}
	some := long[:200]
	got, err := extract(t, `trace.result.map(a, {"a": a.a})`, Trace{Result: some})
	if err != nil || len(got) != maxAlternatives {
		t.Errorf("%d items: got %d alternatives, %v, want the first %d", len(some), len(got), err, maxAlternatives)
	}
}

func TestBuiltIns(t *testing.T) {
	names := BuiltInNames()
	if len(names) != 10 {
		t.Errorf("got %d built-in extractors, want 10: %v", len(names), names)
	}
	for _, known := range builtInSources() {
		if _, err := CompileExtractor(known.text); err != nil {
			t.Errorf("%s: %v", known.name, err)
		}
		if extractor, ok := BuiltIn(known.name); !ok || len(extractor.Names()) == 0 {
			t.Errorf("BuiltIn(%s): got %v, %v, want an extractor with names", known.name, extractor, ok)
		}
	}
	if extractor, ok := BuiltIn("other_extractor"); ok {
		t.Errorf("BuiltIn(other_extractor): got %v, want none", extractor)
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
		t.Errorf("FirstUnknown: got %q, %v, want b", got, ok)
	}
}

// FuzzExtractor compiles any text and evaluates valid extractors.
func FuzzExtractor(f *testing.F) {
	for _, known := range builtInSources() {
		f.Add(known.text, 1.5)
	}
	f.Add(`trace.result.filter(p, p.age < 10).map(p, {"name": p.name})`, 0.0)
	f.Add(`[{"a": trace.arguments["b"] + 1}] + [has(trace.result.c) ? {"a": "x"} : {"a": true}]`, 0.0)
	f.Fuzz(func(t *testing.T, text string, number float64) {
		extractor, err := CompileExtractor(text)
		var mistake *Error
		if err != nil {
			if !errors.As(err, &mistake) || mistake.Problem == "" || mistake.Line < 0 || mistake.Column < 0 {
				t.Fatalf("CompileExtractor(%q): got %#v, want an *Error with a problem", text, err)
			}
			return
		}
		names := extractor.Names()
		if len(names) == 0 {
			t.Fatalf("%q gives no names", text)
		}
		for _, result := range []any{nil, number, []any{number, "x", map[string]any{"name": "y", "age": number}}, map[string]any{"c": number, "days": number}} {
			sets, err := extractor.Extract(Trace{Tool: "t", Arguments: map[string]any{"b": number}, Result: result})
			if err != nil && len(sets) > 0 {
				t.Errorf("%q of %v: got %v beside %v", text, result, sets, err)
			}
			for _, set := range sets {
				if len(set) != len(names) {
					t.Errorf("%q of %v: got %d values for %v", text, result, len(set), names)
				}
			}
		}
	})
}

func TestLoopsOverMapsAreInOrder(t *testing.T) {
	result := map[string]any{}
	for _, key := range strings.Split("hgfedcba", "") {
		result[key] = []any{map[string]any{key + "2": "", key + "1": ""}}
	}
	for _, test := range []struct{ text, want string }{
		{`[{"x": trace.result.map(k, k)[0] + trace.result.map(k, k)[7]}]`, "ah"},
		{`[{"x": trace.result.h[0].map(k, k)[0]}]`, "h1"},
		{`[{"x": trace.arguments.filter(k, k != "a")[0]}]`, "b"},
		{`[{"x": {"d": 1, "c": 2, "b": 3, "a": 4}.map(k, k)[0]}]`, "a"},
	} {
		extractor, err := CompileExtractor(test.text)
		if err != nil {
			t.Fatalf("CompileExtractor(%s): %v", test.text, err)
		}
		for range 20 { // a random order would sometimes be the wanted one
			got, err := extractor.Extract(Trace{Arguments: result, Result: result})
			if diff := cmp.Diff([][]any{{test.want}}, got); diff != "" || err != nil {
				t.Fatalf("%s: %v (-want +got):\n%s", test.text, err, diff)
			}
		}
	}
}
