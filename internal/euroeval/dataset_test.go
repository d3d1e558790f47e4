package euroeval

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// question returns a line of a BFCL file with an id, answer its possible answer.
func question(id string) string { return strings.Replace(sampleQuestion, "simple_0", id, 1) + "\n" }
func answer(id string) string   { return strings.Replace(sampleAnswer, "simple_0", id, 1) + "\n" }

func textFiles(files map[string]string) fstest.MapFS {
	fsys := make(fstest.MapFS)
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestLoad(t *testing.T) {
	t.Parallel()
	files := textFiles(map[string]string{
		"BFCL_v4_simple_python.json":                   question("simple_python_0"),
		"possible_answer/BFCL_v4_simple_python.json":   answer("simple_python_0"),
		"BFCL_v4_live_simple.json":                     question("live_simple_0-0-0"),
		"possible_answer/BFCL_v4_live_simple.json":     answer("live_simple_0-0-0"),
		"BFCL_v4_irrelevance.json":                     question("irrelevance_0"),
		"de/own.jsonl":                                 preparedSample("p1") + preparedSample("p2"),
		"notes.txt":                                    "no records",
		"unused/BFCL_v4_simple_python.json":            "not read",
		"possible_answer/BFCL_v4_multi_turn_base.json": "not read",
	})
	for _, test := range []struct {
		files fstest.MapFS
		want  bool
	}{
		{files, true},
		{textFiles(map[string]string{"eval.yaml": "", "train.jsonl": ""}), true},
		{textFiles(map[string]string{"a.yaml": "", "schema.json": "{}", "package.json": "{}", "de/x.jsonl": ""}), false},
		{textFiles(map[string]string{"catalogue.json": "{}"}), false},
		{textFiles(map[string]string{"notes.txt": ""}), false},
	} {
		if got := IsDataSet(test.files); got != test.want {
			t.Errorf("IsDataSet(%v): got %t, want %t", slices.Sorted(maps.Keys(test.files)), got, test.want)
		}
	}
	sets, err := Load(files, "mine", "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, set := range sets {
		for _, r := range set.Records {
			got = append(got, fmt.Sprintf("%s %s %s %s %s:%d", set.Name, set.Language, r.ID, r.Category, r.File, r.Line))
		}
	}
	want := []string{
		"mine en live_simple_0-0-0 simple BFCL_v4_live_simple.json:1",
		"mine en simple_python_0 simple BFCL_v4_simple_python.json:1",
		"mine en irrelevance_0 irrelevance BFCL_v4_irrelevance.json:1",
		"mine-de de p1 simple de/own.jsonl:1",
		"mine-de de p2 simple de/own.jsonl:2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	one, err := Load(files, "live", "BFCL_v4_live_simple.json")
	if err != nil || len(one) != 1 || len(one[0].Records) != 1 {
		t.Errorf("one file: got %+v and %v, want its one record", one, err)
	}
}

// preparedSample returns a record in EuroEval's format.
func preparedSample(id string) string {
	line := python.DictOf(
		python.Item{Key: "id", Value: python.Str(id)}, python.Item{Key: "text", Value: python.Str("Functions:\n[]\nQuestion: Pay 1.0")},
		python.Item{Key: "function", Value: python.Str(`[{"name": "pay", "parameters": {"type": "dict", "properties": {}}}]`)},
		python.Item{Key: "target_text", Value: python.Str(`[{"pay": {"a": [1.0]}}]`)},
	)
	return python.JSON(line) + "\n"
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no answers", map[string]string{"simple.json": question("simple_0")}, "simple.json:1: id: want its possible answer in possible_answer/simple.json, got no such file; add the file of answers"},
		{
			"several turns", map[string]string{"BFCL_v4_multi_turn_base.json": question("multi_turn_base_0")},
			"BFCL_v4_multi_turn_base.json:1: line: want records of single turns, got BFCL_v4_multi_turn_base.json; begin",
		},
		{
			"one id in two files", map[string]string{"a.jsonl": preparedSample("x"), "b.jsonl": "\n" + preparedSample("x")},
			`b.jsonl:2: id: want a unique id, got "x"; a.jsonl:1 has it already`,
		},
		{
			"prepared without functions", map[string]string{"a.jsonl": preparedSample("x") + `{"text": "T", "target_text": "[]"}`},
			"a.jsonl:2: function: want a text, got nothing; prepared records",
		},
		{
			"broken JSON in a column", map[string]string{"a.jsonl": strings.Replace(preparedSample("x"), `"[{\"pay\"`, `"{\"pay\"`, 1)},
			"a.jsonl:1: target_text: want JSON, got ",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(textFiles(test.files), "mine", "")
			faults := LineErrors(err)
			if len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), test.want) {
				t.Errorf("got %v, want %s…", err, test.want)
			}
		})
	}
}

// TestSplitRecords checks that the splits are those of NewSplit, with the sizes that EuroEval draws
// with.
func TestSplitRecords(t *testing.T) {
	t.Parallel()
	set := DataSet{Name: "mine", Language: "en", Records: make([]Record, 600)}
	for i := range set.Records {
		set.Records[i].ID = fmt.Sprint(i)
	}
	split := NewSplit(600)
	for name, want := range map[SplitName][]int{SplitTrain: split.Train, SplitVal: split.Val, SplitTest: split.Test} {
		records, positions := set.SplitRecords(name)
		if len(records) != len(want) {
			t.Fatalf("%s: got %d records, want %d", name, len(records), len(want))
		}
		for i, at := range want {
			if p := positions[i]; records[i].ID != fmt.Sprint(at) || p.GetIndex() != int32(i) || p.GetTrainSize() != 250 || p.GetValSize() != 250 {
				t.Errorf("%s: record %d: got %s at %v, want %d", name, i, records[i].ID, p, at)
			}
		}
	}
	records, positions := set.SplitRecords(SplitAll)
	if len(records) != 600 || records[5].ID != "5" || positions[5].GetTrainSize() != 0 || positions[5].GetIndex() != 5 {
		t.Errorf("all: got %d records, the sixth %s at %v", len(records), records[5].ID, positions[5])
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	functions, err := python.ParseJSON(`[
		{"name": "math.add", "description": "Add.", "parameters": {"type": "dict", "required": ["a"], "properties": {
			"a": {"type": "float"}, "b": {"type": "tuple", "items": {"type": "any"}}, "c": {"type": "dict", "properties": {"d": {"type": "HashMap"}}}}}},
		{"name": "math_add"}]`)
	if err != nil {
		t.Fatal(err)
	}
	list := tools(functions)
	var got []string
	for _, tool := range list {
		got = append(got, tool.GetName()+" "+tool.GetExecutionName()+" "+tool.GetDescription()+" "+tool.GetParametersJson())
	}
	want := []string{
		`math_add math.add Add. {"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}, "b": {"type": "array", "items": {}}, ` +
			`"c": {"type": "object", "properties": {"d": {"type": "object"}}}}}`,
		`math_add_2 math_add  {"type": "object", "properties": {}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPrediction(t *testing.T) {
	t.Parallel()
	text := func(s string) []*worldv1.Message { return []*worldv1.Message{{Body: &worldv1.Message_Text{Text: s}}} }
	call := func(c *worldv1.ToolCall) *worldv1.Message {
		return &worldv1.Message{Body: &worldv1.Message_Call{Call: c}}
	}
	broken := `{"a": `
	for _, test := range []struct {
		name   string
		turn   []*worldv1.Message
		noCall bool
		want   string
	}{
		{"text", text(" {\"tool_calls\": []}\n"), false, `{"tool_calls": []}`},
		{"label", text(`{"label": 3}`), false, "3"},
		{"label that raises", text(`["label"]`), false, `["label"]`},
		{"prose", text("I cannot."), false, "I cannot."},
		{"prose of a plug-in", text("I cannot."), true, `{"tool_calls": []}`},
		{"calls in a text of a plug-in", text(`{"tool_calls": [1]}`), true, `{"tool_calls": [1]}`},
		{"nothing", nil, false, ""},
		{
			"calls", []*worldv1.Message{
				call(&worldv1.ToolCall{Tool: "a.b", ArgumentsJson: `{"x":1.0}`}), call(&worldv1.ToolCall{Tool: "c"}),
				call(&worldv1.ToolCall{Tool: "d", ArgumentsText: &broken}),
			}, true,
			`{"tool_calls": [{"function": "a.b", "arguments": {"x":1.0}}, {"function": "c", "arguments": {}}, {"function": "d", "arguments": "{\"a\": "}]}`,
		},
		{"code", []*worldv1.Message{{Body: &worldv1.Message_Code{Code: &worldv1.Code{Source: "f()"}}}}, false, "f()"},
	} {
		if got := PredictionText(test.turn, test.noCall); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}
