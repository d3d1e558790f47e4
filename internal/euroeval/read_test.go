package euroeval

import (
	"errors"
	"strings"
	"testing"
)

const (
	sampleQuestion = `{"id": "simple_0", "question": [[{"role": "user", "content": "Pay 1.0"}]], ` +
		`"function": [{"name": "pay", "parameters": {"type": "dict", "properties": {"a": {"type": "float"}}, "required": ["a"]}}]}`
	sampleAnswer = `{"id": "simple_0", "ground_truth": [{"pay": {"a": [1.0]}}]}`
)

func TestReadBFCL(t *testing.T) {
	t.Parallel()
	answers := &File{Name: "answer.json", Data: []byte(sampleAnswer)}
	got, err := readBFCL(File{Name: "simple.json", Data: []byte(sampleQuestion + "\n\n")}, answers)
	if err != nil || len(got) != 1 {
		t.Fatalf("got %d records and %v, want 1", len(got), err)
	}
	want := Record{
		ID: "simple_0", Question: "Pay 1.0", TargetText: `[{"pay": {"a": [1.0]}}]`,
		Function: `[{"name": "pay", "parameters": {"type": "dict", "properties": {"a": {"type": "float"}}, "required": ["a"]}}]`,
	}
	want.Category, want.File, want.Line = CategorySimple, "simple.json", 1
	want.Text = "Functions:\n" + want.Function + "\nQuestion: Pay 1.0"
	if got[0] != want {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
	irrelevant, err := readBFCL(File{Name: "irrelevance.json", Data: []byte(sampleQuestion)}, nil)
	if err != nil || len(irrelevant) != 1 || irrelevant[0].TargetText != "[]" {
		t.Errorf("irrelevance: got %+v and %v, want a record that expects no call", irrelevant, err)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	question := func(old, changed string) string { return strings.Replace(sampleQuestion, old, changed, 1) }
	for _, test := range []struct{ name, questions, answers, place, field string }{
		{"empty file", "", sampleAnswer, "q.json:1", "line"},
		{"no JSON", "\n{", sampleAnswer, "q.json:2", "line"},
		{"no object", "[]", sampleAnswer, "q.json:1", "line"},
		{"no id", question(`"simple_0"`, "7"), sampleAnswer, "q.json:1", "id"},
		{"repeated id", sampleQuestion + "\n" + sampleQuestion, sampleAnswer, "q.json:2", "id"},
		{"no answer", question("simple_0", "simple_1"), sampleAnswer, "q.json:1", "id"},
		{"no question text", question(`"Pay 1.0"`, "null"), sampleAnswer, "q.json:1", "question[0][0].content"},
		{"flat question", question(`[[{"role": "user", "content": "Pay 1.0"}]]`, `"Pay"`), sampleAnswer, "q.json:1", "question"},
		{"no function name", question(`"name": "pay"`, `"nam": "pay"`), sampleAnswer, "q.json:1", "function[0].name"},
		{"required", question(`["a"]`, `[1]`), sampleAnswer, "q.json:1", "function[0].parameters.required[0]"},
		{"bare value", sampleQuestion, strings.Replace(sampleAnswer, "[1.0]", "1.0", 1), "a.json:1", "ground_truth[0].pay.a"},
		{"two functions", sampleQuestion, strings.Replace(sampleAnswer, `{"pay"`, `{"x": {}, "pay"`, 1), "a.json:1", "ground_truth[0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := readBFCL(File{Name: "q.json", Data: []byte(test.questions)}, &File{Name: "a.json", Data: []byte(test.answers)})
			first, ok := errors.AsType[*LineError](err)
			if !ok {
				t.Fatalf("got %v, want a *LineError", err)
			}
			if !strings.Contains(err.Error(), test.place+": "+test.field+": want ") {
				t.Errorf("got %v (first in %s), want one at %s, field %s", err, first.File, test.place, test.field)
			}
		})
	}
}

func TestReadPrepared(t *testing.T) {
	t.Parallel()
	good := `{"text": "Functions: …", "function": "[{\"name\": \"f\"}]", "target_text": "[{\"f\": {}}]"}`
	got, err := readPrepared(File{Name: "p.jsonl", Data: []byte(good)})
	if err != nil || len(got) != 1 || got[0].ID != "1" {
		t.Errorf("got %+v and %v, want one record with id 1", got, err)
	}
	_, err = readPrepared(File{Name: "p.jsonl", Data: []byte(good + "\n" + strings.Replace(good, `"[{\"f`, `"{\"f`, 1))})
	if fault, ok := errors.AsType[*LineError](err); !ok || fault.Line != 2 || fault.Field != "target_text" {
		t.Errorf("got %v, want a fault of target_text in line 2", err)
	}
}

// FuzzRead checks that both graders accept every record that the readers accept, without an
// exception.
func FuzzRead(f *testing.F) {
	f.Add(sampleQuestion, sampleAnswer)
	f.Add(sampleQuestion, `{"id": "simple_0", "ground_truth": []}`)
	f.Add(`{"id": "1", "text": "t", "function": "[{\"name\": \"f\"}]", "target_text": "[{\"f\": {}}]"}`, "{}")
	f.Fuzz(func(t *testing.T, questions, answers string) {
		records, err := readBFCL(File{Name: "q", Data: []byte(questions)}, &File{Name: "a", Data: []byte(answers)})
		prepared, preparedErr := readPrepared(File{Name: "q", Data: []byte(questions)})
		for _, err := range []error{err, preparedErr} {
			if _, ok := errors.AsType[*LineError](err); err != nil && !ok {
				t.Errorf("got %v, want a *LineError", err)
			}
		}
		for _, record := range append(records, prepared...) {
			functions, expected := parse(t, record.Function), parse(t, record.TargetText)
			if _, err := Grade(functions, expected, `{"tool_calls": []}`); err != nil {
				t.Errorf("Grade of %+v: %v", record, err)
			}
			GradeStrict(functions, expected, `{"tool_calls": []}`)
		}
	})
}
