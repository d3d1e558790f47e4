package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/python"
)

// euroevalKinds lists the kinds of EuroEval's vectors. They need no service.
func euroevalKinds() []kind {
	const split, prompt, aggregate = "euroeval split", "euroeval prompt", "euroeval aggregate"
	const extraction, quirk, metric = "euroeval extraction", "euroeval quirk", "euroeval metric"
	return []kind{
		{name: split, fields: []string{"n", "train", "val", "test"}, open: openRecord(compareSplit)},
		{name: prompt, fields: []string{"source_input", "source_answer", "record", "messages"}, open: openRecord(comparePrompt)},
		{name: aggregate, fields: []string{"records", "outputs", "bootstrap_indices"}, open: openRecord(compareAggregate)},
		{name: aggregate, fields: []string{"per_example", "bootstrap_indices"}, open: openRecord(compareAggregate)},
		{name: aggregate, fields: []string{"iteration_scores", "mean", "ci_radius"}, open: openRecord(compareAggregate)},
		{name: aggregate, fields: []string{"predictions", "target_texts", "functions"}, open: openRecord(compareAggregate)},
		{name: extraction, fields: []string{"response", "content", "prediction"}, open: openRecord(compareExtraction)},
		{name: quirk, fields: []string{"functions", "target_text", "prediction", "strict_bfcl"}, open: openRecord(compareQuirk)},
		{name: metric, fields: []string{"functions", "target_text", "prediction", "correct"}, open: openRecord(compareMetric)},
	}
}

// record is a vector as Python decodes it, with exact numbers and lone surrogates. Accessors return
// null, an empty text or an empty list for a missing field.
type record struct{ *python.Dict }

func (r record) value(name string) python.Value { v, _ := r.Get(name); return v }

func (r record) text(name string) string { s, _ := r.value(name).AsStr(); return s }

func (r record) list(name string) []python.Value { items, _ := r.value(name).AsList(); return items }

func (r record) number(name string) int { n, _ := r.value(name).AsInt(); return int(n) }

func (r record) object(name string) record { d, _ := r.value(name).AsDict(); return record{d} }

// parsed decodes the JSON text of a field.
func (r record) parsed(name string) (python.Value, error) { return parseText(name, r.value(name)) }

func parseText(name string, v python.Value) (python.Value, error) {
	text, ok := v.AsStr()
	if !ok {
		return python.None(), fmt.Errorf("decode %s: want JSON in a text, got %s", name, python.JSON(v))
	}
	parsed, err := python.ParseJSON(text)
	if err != nil {
		return python.None(), fmt.Errorf("decode %s: %w", name, err)
	}
	return parsed, nil
}

// openRecord prepares a file of records for comparing them one by one.
func openRecord(play func(c *comparison, r record) error) func(context.Context, *Runner, string) (fileRunner, error) {
	return func(_ context.Context, r *Runner, _ string) (fileRunner, error) {
		return r.perCase(func(_ context.Context, l line) outcome {
			value, err := python.ParseJSON(l.raw)
			if err != nil {
				return outcome{differences: errorDifference(fmt.Errorf("decode case: %w", err))}
			}
			object, ok := value.AsDict()
			if !ok {
				return outcome{differences: errorDifference(errors.New("decode case: want an object"))}
			}
			var c comparison
			if err := play(&c, record{object}); err != nil {
				return outcome{differences: errorDifference(err)}
			}
			return outcome{differences: c.differences}
		}), nil
	}
}

// json compares a value with the recorded one by their JSON texts.
func (c *comparison) json(field string, want, got python.Value) {
	c.text(field, python.JSON(want), python.JSON(got))
}

func integers(numbers []int) python.Value {
	items := make([]python.Value, len(numbers))
	for i, number := range numbers {
		items[i] = python.Int(int64(number))
	}
	return python.List(items...)
}

func compareSplit(c *comparison, r record) error {
	got := euroeval.NewSplit(r.number("n"))
	c.json("train", r.value("train"), integers(got.Train))
	c.json("val", r.value("val"), integers(got.Val))
	c.json("test", r.value("test"), integers(got.Test))
	return nil
}

func comparePrompt(c *comparison, r record) error {
	want := r.object("record")
	if !r.value("source_input").IsNone() {
		got, err := euroeval.Join(r.object("source_input").Dict, r.object("source_answer").Dict)
		if err != nil {
			return err
		}
		c.text("record.id", want.text("id"), got.ID)
		c.text("record.question", want.text("question"), got.Question)
		c.text("record.function", want.text("function"), got.Function)
		c.text("record.text", want.text("text"), got.Text)
		c.text("record.target_text", want.text("target_text"), got.TargetText)
	}
	message := python.DictOf(
		python.Item{Key: "role", Value: python.Str("user")},
		python.Item{Key: "content", Value: python.Str(euroeval.Prompt(want.text("text")))})
	c.json("messages", r.value("messages"), python.List(message))
	c.text("json_schema", python.JSON(r.value("json_schema")), euroeval.Schema)
	format := null
	if r.text("generative_type") != "reasoning" {
		format = euroeval.ResponseFormat
	}
	c.text("response_format", python.JSON(r.value("response_format")), format)
	return nil
}

func compareExtraction(c *comparison, r record) error {
	response := r.text("response")
	got, err := euroeval.Extract(euroeval.Reply{
		Choices: response != "no_choices", Completion: response == "text", Content: r.text("content"),
	})
	exception, err := exceptionOf(err)
	if err != nil {
		return err
	}
	c.json("error", r.value("error"), exception)
	if exception.IsNone() {
		c.text("prediction", r.text("prediction"), got)
	}
	return nil
}

func compareMetric(c *comparison, r record) error {
	functions, err := r.parsed("functions")
	if err != nil {
		return err
	}
	answers, err := r.parsed("target_text")
	if err != nil {
		return err
	}
	verdict, err := euroeval.Grade(functions, answers, r.text("prediction"))
	exception, err := exceptionOf(err)
	if err != nil {
		return err
	}
	got := python.None()
	if exception.IsNone() {
		got = python.Bool(verdict.Correct)
	}
	c.json("correct", r.value("correct"), got)
	c.json("error", r.value("error"), exception)
	return nil
}

// exceptionOf returns the type of a Python exception, None without error. It returns other errors.
func exceptionOf(err error) (python.Value, error) {
	if err == nil {
		return python.None(), nil
	}
	exception, ok := errors.AsType[*python.Exception](err)
	if !ok {
		return python.None(), err
	}
	return python.Str(exception.Type), nil
}

// compareQuirk compares the quirk and the strict verdict, which is null without a checker's
// verdict.
func compareQuirk(c *comparison, r record) error {
	if err := compareMetric(c, r); err != nil || r.value("strict_bfcl").IsNone() {
		return err
	}
	functions, err := r.parsed("functions")
	if err != nil {
		return err
	}
	answers, err := r.parsed("target_text")
	if err != nil {
		return err
	}
	verdict := euroeval.GradeStrict(functions, answers, r.text("prediction"))
	c.json("strict_bfcl", r.value("strict_bfcl"), python.Bool(verdict.Correct))
	return nil
}
