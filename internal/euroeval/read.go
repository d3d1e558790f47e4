package euroeval

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/python"
)

// maxErrors is the maximum number of errors per file.
const maxErrors = 20

// LineError is a FieldError with file and line. Line counts from 1.
type LineError struct {
	File string
	Line int
	*FieldError
}

// Error returns one sentence: file, line, field, what was expected, a suggestion.
func (e *LineError) Error() string {
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.FieldError.Error()
}

// Unwrap returns the error without file and line.
func (e *LineError) Unwrap() error { return e.FieldError }

// LineErrors returns all line errors in a tree of errors, in order.
func LineErrors(err error) []*LineError {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var list []*LineError
		for _, inner := range several.Unwrap() {
			list = append(list, LineErrors(inner)...)
		}
		return list
	}
	if line, ok := errors.AsType[*LineError](err); ok {
		return []*LineError{line}
	}
	return nil
}

// File is a file of JSON lines.
type File struct {
	Name string
	Data []byte
}

// readBFCL reads the records of a BFCL v4 single-turn file in file order. answers holds the
// possible answers with the same ids. It is nil for category irrelevance, which expects no calls.
// The error joins the first *LineError of each invalid line, at most 20.
func readBFCL(questions File, answers *File) ([]Record, error) {
	var faults lineErrors
	possible := make(map[string]locatedObject)
	if answers != nil {
		faults.each(*answers, func(line int, answer *python.Dict) error {
			if err := checkAnswer("ground_truth", answer.Value().Field("ground_truth")); err != nil {
				return err
			}
			return addUnique(possible, locatedObject{line: line, object: answer})
		})
	}
	var records []Record
	seen := make(map[string]locatedObject)
	faults.each(questions, func(line int, question *python.Dict) error {
		if err := addUnique(seen, locatedObject{line: line, object: question}); err != nil {
			return err
		}
		if err := checkFunctions("function", question.Value().Field("function")); err != nil {
			return err
		}
		id, _ := question.Get("id")
		answer := possible[python.Text(id)].object
		if answers == nil {
			answer, _ = python.DictOf(python.Item{Key: "ground_truth", Value: python.List()}).AsDict()
		}
		if answer == nil {
			return mismatch("id", "the id of a line of "+answers.Name, id, "add a possible answer or remove the question")
		}
		record, err := Join(question, answer)
		record.File, record.Line = questions.Name, line
		if err == nil {
			record.Category, err = categoryOf(record)
		}
		if err == nil {
			records = append(records, record)
		}
		return err
	})
	byLine := func(a, b string) int { return possible[a].line - possible[b].line }
	for _, id := range slices.SortedFunc(maps.Keys(possible), byLine) {
		if _, ok := seen[id]; !ok {
			faults.add(answers.Name, possible[id].line, &FieldError{
				Field: "id", Want: "the id of a line of " + questions.Name, Got: strconv.Quote(id),
				Suggestion: "add the question or remove the answer",
			})
		}
	}
	if err := faults.err(); err != nil {
		return nil, fmt.Errorf("read BFCL records: %w", err)
	}
	return records, nil
}

// readPrepared reads records as EuroEval prepares them. The columns text, function and target_text
// are required; the last two hold JSON in a text. id and question are optional. The errors are
// those of readBFCL.
func readPrepared(file File) ([]Record, error) {
	var faults lineErrors
	var records []Record
	faults.each(file, func(line int, columns *python.Dict) error {
		record := Record{ID: strconv.Itoa(line), File: file.Name, Line: line}
		for _, column := range []struct {
			name     string
			to       *string
			required bool
		}{
			{"id", &record.ID, false},
			{"question", &record.Question, false},
			{"function", &record.Function, true},
			{"text", &record.Text, true},
			{"target_text", &record.TargetText, true},
		} {
			value, exists := columns.Get(column.name)
			if !exists && !column.required {
				continue
			}
			text, ok := value.AsStr()
			if !ok || text == "" {
				return mismatch(column.name, "a text", value, "prepared records hold JSON as text; BFCL's own files have other fields")
			}
			*column.to = text
		}
		var err error
		if record.Category, err = categoryOf(record); err != nil {
			return err
		}
		records = append(records, record)
		return nil
	})
	if err := faults.err(); err != nil {
		return nil, fmt.Errorf("read prepared records: %w", err)
	}
	return records, nil
}

// locatedObject is a JSON object with its line.
type locatedObject struct {
	line   int
	object *python.Dict
}

// addUnique stores an object by its id. The error reports a repeated id.
func addUnique(seen map[string]locatedObject, object locatedObject) error {
	value, _ := object.object.Get("id")
	id, ok := value.AsStr()
	if !ok || id == "" {
		return mismatch("id", "a text", value, "give each record a unique id")
	}
	if first, ok := seen[id]; ok {
		return mismatch("id", "a unique id", value, fmt.Sprintf("line %d has it already", first.line))
	}
	seen[id] = object
	return nil
}

// lineErrors collects errors up to maxErrors.
type lineErrors struct{ list []error }

func (f *lineErrors) add(file string, line int, fault error) {
	field, ok := errors.AsType[*FieldError](fault)
	if !ok {
		field = &FieldError{Field: "line", Want: "a record", Got: fault.Error()}
	}
	if len(f.list) < maxErrors {
		f.list = append(f.list, &LineError{File: file, Line: line, FieldError: field})
	}
}

func (f *lineErrors) err() error { return errors.Join(f.list...) }

// each calls visit for the objects of a file. It stores visit's error with the line.
func (f *lineErrors) each(file File, visit func(line int, object *python.Dict) error) {
	number := 0
	for raw := range bytes.Lines(file.Data) {
		number++
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		value, err := python.ParseJSON(raw)
		if err != nil {
			f.add(file.Name, number, &FieldError{
				Field: "line", Want: "one JSON object", Got: err.Error(), Suggestion: "the format is JSON Lines: each record on one line",
			})
			continue
		}
		object, ok := value.AsDict()
		if !ok {
			f.add(file.Name, number, mismatch("line", "one JSON object", value, "the format is JSON Lines: each record on one line"))
			continue
		}
		if err := visit(number, object); err != nil {
			f.add(file.Name, number, err)
		}
	}
	if number == 0 {
		f.add(file.Name, 1, &FieldError{Field: "line", Want: "one JSON object", Got: "an empty file", Suggestion: "check the file's name"})
	}
}
