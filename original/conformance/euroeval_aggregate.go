package conformance

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/python"
)

// compareAggregate compares a case of one of four kinds.
func compareAggregate(c *comparison, r record) error {
	switch kind := r.text("kind"); kind {
	case "pipeline":
		return comparePipeline(c, r)
	case "bootstrap":
		return compareBootstrap(c, r)
	case "scores":
		compareScores(c, r)
		return nil
	case "metric_call":
		return compareMetricCall(c, r)
	default:
		return fmt.Errorf("decode case: unknown kind %q", kind)
	}
}

// draws returns the rows of each iteration for the recorded seed.
func (r record) draws() ([][]int, error) {
	const val = "val"
	sizes := r.object("sizes")
	test := "test"
	if r.text("split") == val {
		test = val
	}
	return euroeval.Resample(uint64(r.number("seed")), r.number("num_iterations"),
		euroeval.SplitSizes{Train: sizes.number("train"), Val: sizes.number(val), Test: sizes.number(test)})
}

// compareDraws compares rows with the recorded ones, which may be truncated.
func (c *comparison) compareDraws(r record, draws [][]int) {
	got := make([]python.Value, len(draws))
	for i, draw := range draws {
		if cut, ok := r.value("indices_cut_to").AsInt(); ok {
			draw = draw[:min(int(cut), len(draw))]
		}
		got[i] = integers(draw)
	}
	c.json("bootstrap_indices", r.value("bootstrap_indices"), python.List(got...))
}

func comparePipeline(c *comparison, r record) error {
	draws, err := r.draws()
	if err != nil {
		return err
	}
	c.compareDraws(r, draws)
	rows, err := r.rows()
	if err != nil {
		return err
	}
	if test := len(draws); test > 0 && len(draws[0]) != len(rows) {
		return fmt.Errorf("decode case: %d records, but the split has %d", len(rows), len(draws[0]))
	}
	var scores []float64
	var keptDraws, orders, generated, all, aligned []python.Value
	var failed error
	for _, iteration := range euroeval.Evaluate(rows, draws) {
		orders = append(orders, integers(iteration.Order))
		if iteration.Generated > 0 {
			generated = append(generated, python.Int(int64(iteration.Generated)))
		}
		all = append(all, scoreValue(iteration.Score))
		aligned = append(aligned, scoreValue(iteration.Aligned))
		if iteration.Score.OK {
			scores = append(scores, iteration.Score.Value)
			keptDraws = append(keptDraws, scoreValue(iteration.Score))
		}
		failed = iteration.Score.Err
	}
	c.json("prediction_order", r.value("prediction_order"), python.List(orders...))
	c.json("newly_generated", r.value("newly_generated"), python.List(generated...))
	c.json("iteration_scores", r.value("iteration_scores"), python.List(all...))
	c.json("iteration_scores_if_aligned", r.value("iteration_scores_if_aligned"), python.List(aligned...))
	c.json("kept_scores", r.value("kept_scores"), python.List(keptDraws...))
	if len(scores) > 0 {
		c.json("error", r.value("error"), python.None())
		c.compareTotal(r, scoreKey, euroeval.Summarise(scores))
		return nil
	}
	c.json("total", r.value("total"), python.None())
	exception, ok := errors.AsType[*python.Exception](failed)
	if !ok {
		return errors.New("no iteration has a score")
	}
	c.text("error", r.text("error"), "InvalidBenchmark: "+exception.Text)
	return nil
}

// rows returns the records of a pipeline with the predictions of the model.
func (r record) rows() ([]euroeval.Row, error) {
	records, outputs := r.list("records"), r.list("outputs")
	if len(records) != len(outputs) {
		return nil, fmt.Errorf("decode case: %d records, but %d outputs", len(records), len(outputs))
	}
	rows := make([]euroeval.Row, len(records))
	for i, value := range records {
		object, _ := value.AsDict()
		source := record{object}
		functions, err := source.parsed("function")
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		answers, err := source.parsed("target_text")
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		prediction, _ := outputs[i].AsStr()
		rows[i] = euroeval.Row{
			Prompt: euroeval.Prompt(source.text("text")), Functions: functions, Answers: answers, Prediction: prediction,
		}
	}
	return rows, nil
}

func scoreValue(score euroeval.Score) python.Value {
	if !score.OK {
		return python.None()
	}
	return python.Float(score.Value)
}

const (
	scoreKey   = "tool_calling_accuracy"
	testPrefix = "test_"
)

// floatValue returns a number as vectors represent it: NaN is a text.
func floatValue(number float64) python.Value {
	if math.IsNaN(number) {
		return python.Str("NaN")
	}
	return python.Float(number)
}

// compareTotal compares the totals that EuroEval reports, in percent.
func (c *comparison) compareTotal(r record, key string, summary euroeval.Summary) {
	if !strings.HasPrefix(key, testPrefix) {
		key = testPrefix + key
	}
	c.json("total", r.value("total"), python.DictOf(
		python.Item{Key: key, Value: floatValue(100 * summary.Mean)},
		python.Item{Key: key + "_se", Value: floatValue(100 * summary.Margin)},
		python.Item{Key: "num_failed_instances", Value: python.Float(0)}))
}

func compareBootstrap(c *comparison, r record) error {
	draws, err := r.draws()
	if err != nil {
		return err
	}
	c.compareDraws(r, draws)
	correct := r.list("per_example")
	var scores []float64
	var all []python.Value
	for _, draw := range draws {
		right := 0
		for _, row := range draw {
			if row >= len(correct) {
				return fmt.Errorf("decode case: %d examples, but the split has row %d", len(correct), row)
			}
			if correct[row].Equal(python.Int(1)) {
				right++
			}
		}
		scores = append(scores, float64(right)/float64(len(draw)))
		all = append(all, python.Float(scores[len(scores)-1]))
	}
	c.json("iteration_scores", r.value("iteration_scores"), python.List(all...))
	c.compareTotal(r, scoreKey, euroeval.Summarise(scores))
	return nil
}

func compareScores(c *comparison, r record) {
	var scores []float64
	for _, value := range r.list("iteration_scores") {
		if text, _ := value.AsStr(); text == "NaN" {
			value = python.Float(math.NaN())
		}
		if score, ok := value.AsFloat(); ok { // EuroEval ignores other values
			scores = append(scores, score)
		}
	}
	summary := euroeval.Summarise(scores)
	c.json("mean", r.value("mean"), floatValue(summary.Mean))
	c.json("ci_radius", r.value("ci_radius"), floatValue(summary.Margin))
	c.compareTotal(r, r.text("key"), summary)
	c.text("mean_text", r.text("mean_text"), euroeval.Percent(summary.Mean))
	radius := python.None()
	if !math.IsNaN(summary.Margin) {
		radius = python.Str(euroeval.Percent(summary.Margin))
	}
	c.json("ci_text", r.value("ci_text"), radius)
}

func compareMetricCall(c *comparison, r record) error {
	lists := make(map[string][]python.Value)
	for _, name := range []string{"functions", "target_texts"} {
		for _, value := range r.list(name) {
			parsed, err := parseText(name, value)
			if err != nil {
				return err
			}
			lists[name] = append(lists[name], parsed)
		}
	}
	var predictions []string
	for _, value := range r.list("predictions") {
		text, _ := value.AsStr()
		predictions = append(predictions, text)
	}
	score := euroeval.MetricScore(lists["functions"], lists["target_texts"], predictions)
	exception, err := exceptionOf(score.Err)
	if err != nil {
		return err
	}
	c.json("score", r.value("score"), scoreValue(score))
	c.json("error", r.value("error"), exception)
	return nil
}
