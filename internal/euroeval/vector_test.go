package euroeval

import (
	"errors"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/vectortest"
)

func TestGradeVectors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"metric.jsonl", "quirks.jsonl"} {
		cases := 0
		vectortest.Lines(t, vectortest.Dir(t, "euroeval/"+name), func(line int, raw []byte) {
			cases++
			record, _ := parse(t, string(raw)).AsDict()
			verdict, err := Grade(parse(t, field(t, record, "functions")), parse(t, field(t, record, "target_text")),
				field(t, record, "prediction"))
			if got, want := outcome(verdict, err), wantOutcome(record); got != want {
				t.Errorf("%s line %d (%s): Grade = %s (%s: %s, error %v), want %s", name, line,
					field(t, record, "id"), got, verdict.Check, verdict.Detail, err, want)
			}
			if verdict.Correct != (verdict.Check == CheckNone) && err == nil {
				t.Errorf("%s line %d: correct = %v with check %q", name, line, verdict.Correct, verdict.Check)
			}
		})
		t.Logf("%s: %d cases", name, cases)
	}
}

func TestExtractVectors(t *testing.T) {
	t.Parallel()
	vectortest.Lines(t, vectortest.Dir(t, "euroeval/extraction.jsonl"), func(line int, raw []byte) {
		record, _ := parse(t, string(raw)).AsDict()
		kind := field(t, record, "response")
		content, _ := record.Get("content")
		text, _ := content.AsStr() // null is empty
		got, err := Extract(Reply{Choices: kind != "no_choices", Completion: kind == "text", Content: text})
		if wanted, _ := record.Get("error"); !wanted.IsNone() {
			exception, raised := errors.AsType[*python.Exception](err)
			if !raised || exception.Type != python.Text(wanted) {
				t.Errorf("line %d: got %q and %v, want %s", line, got, err, python.Text(wanted))
			}
			return
		}
		if want := field(t, record, "prediction"); got != want || err != nil {
			t.Errorf("line %d: got %q and %v, want %q", line, got, err, want)
		}
	})
}

// outcome is "true", "false" or the type of the Python exception.
func outcome(verdict Verdict, err error) string {
	var exception *python.Exception
	if errors.As(err, &exception) {
		return exception.Type
	}
	if verdict.Correct {
		return "true"
	}
	return "false"
}

func wantOutcome(record *python.Dict) string {
	correct, _ := record.Get("correct")
	if !correct.IsNone() {
		return python.JSON(correct)
	}
	exception, _ := record.Get("error")
	return python.Text(exception)
}

// parse reads JSON as Python does: lone surrogates and exact numbers survive.
func parse(t *testing.T, text string) python.Value {
	t.Helper()
	v, err := python.ParseJSON(text)
	if err != nil {
		t.Fatalf("ParseJSON(%.80s): %v", text, err)
	}
	return v
}

func field(t *testing.T, record *python.Dict, name string) string {
	t.Helper()
	v, _ := record.Get(name)
	text, ok := v.AsStr()
	if !ok {
		t.Fatalf("field %s = %s, want a text", name, python.JSON(v))
	}
	return text
}
