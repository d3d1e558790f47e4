package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// kind is a kind of vector files.
type kind struct {
	name string
	// file is the base name of its files; empty matches any.
	file string
	// fields are fields that the first line of its files must have.
	fields []string
	// scorable reports that its cases can be scored without running them.
	scorable bool
	// testedBy is the package whose tests run the kind, empty if this package runs it.
	testedBy string
	// open prepares a file for running its cases.
	open func(ctx context.Context, r *Runner, path string) (fileRunner, error)
}

// fileRunner runs the cases of one file.
type fileRunner struct {
	// batch is the number of cases per call of run, workers the number of concurrent calls.
	batch, workers int
	// run returns one outcome per line. It must be safe for concurrent use.
	run func(ctx context.Context, lines []line) []outcome
}

// line is one case of a file. number counts from 1.
type line struct {
	number int
	raw    []byte
}

// outcome is the result of one case.
type outcome struct {
	// line is the case's line, set by the caller of run.
	line int
	// unchecked reports that the original's answer is missing or known to be wrong, and was not
	// compared.
	unchecked bool
	// missing is a required tool that the tool host lacks.
	missing     string
	differences []Difference
}

func (o outcome) failed() bool { return o.missing != "" || len(o.differences) > 0 }

// perCase returns a fileRunner that runs each case alone.
func (r *Runner) perCase(play func(ctx context.Context, l line) outcome) fileRunner {
	return fileRunner{batch: 1, workers: r.cfg.Parallel, run: func(ctx context.Context, lines []line) []outcome {
		outcomes := make([]outcome, len(lines))
		for i, l := range lines {
			outcomes[i] = play(ctx, l)
			outcomes[i].line = l.number
		}
		return outcomes
	}}
}

// kinds lists the known kinds. The first match wins.
func kinds() []kind {
	return slices.Concat([]kind{
		{name: "call", fields: []string{"world", "tool", "arguments", "setup_calls"}, open: openTool(decodeCall)},
		{name: "parallel calls", fields: []string{"world", "calls", "setup_calls"}, open: openTool(decodeParallel)},
		{name: "source", fields: []string{"world", "source", "setup_calls"}, open: openTool(decodeCall)},
		{name: "trajectory", fields: []string{"scenario", "variant", "agent", "user", "result"}, scorable: true, open: openTrajectory},
		{name: "evaluation", fields: []string{"messages", "tables", "milestones", "minefields", "result"}, scorable: true, open: openEvaluation},
		{name: "repr", file: "repr.jsonl", fields: []string{"json", "repr"}, open: openRepr},
		{name: "literal", file: "dict_literal.jsonl", fields: []string{"arguments"}, open: openLiteral},
	}, roles(), euroevalKinds(), testedKinds())
}

// testedKinds lists the kinds without a service API, which tests of other packages run.
func testedKinds() []kind {
	const (
		toolhost = "services/toolhost/internal/"
		ported   = "internal/ported/"
	)
	var list []kind
	for _, k := range []struct {
		file, tests string
		fields      []string
	}{
		{"datetime.jsonl", toolhost + "tool", []string{"timezone", "tool", "arguments"}},
		{"default_process.jsonl", ported + "fuzzy", []string{"first", "last", "kind"}},
		{"distraction.jsonl", toolhost + "tool", []string{"tools"}},
		{"extract.jsonl", ported + "fuzzy", []string{"query", "choices", "cutoff"}},
		{"geodesic.jsonl", ported + "geodesic", []string{"latitude_0", "longitude_0"}},
		{"holidays.jsonl", toolhost + "holiday", []string{"holiday_name", "year"}},
		{"nonprintable.jsonl", "original/conformance", []string{"first", "last"}},
		{"phone.jsonl", "internal/phone", []string{"phone_number", "exception"}},
		{"rouge_l.jsonl", ported + "rouge", []string{"target", "prediction"}},
		{"stem.jsonl", ported + "rouge", []string{"token", "stem"}},
		{"unit_conversion.jsonl", ported + "units", []string{"arguments", "content", "exception"}},
		{"us_holidays.jsonl", toolhost + "holiday", []string{"year", "holidays"}},
		{"wratio.jsonl", ported + "fuzzy", []string{"query", "choice"}},
	} {
		list = append(list, kind{name: strings.TrimSuffix(k.file, ".jsonl"), file: k.file, fields: k.fields, testedBy: k.tests})
	}
	return list
}

// detectKind detects the kind of a file by its name and the fields of its first line. The error
// names the file and may be ErrKind.
func detectKind(path string) (kind, error) {
	first, err := firstLine(path)
	if err != nil {
		return kind{}, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(quoteNumbers(first), &fields); err != nil || fields == nil {
		return kind{}, fmt.Errorf("%s: %w: its first line is not a JSON object", path, ErrKind)
	}
	isMissing := func(name string) bool { _, ok := fields[name]; return !ok }
	for _, k := range kinds() {
		if (k.file == "" || k.file == filepath.Base(path)) && !slices.ContainsFunc(k.fields, isMissing) {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("%s: %w: its first line has the fields %s", path, ErrKind,
		strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
}
