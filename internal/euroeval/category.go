package euroeval

import (
	"fmt"
	"strings"
)

// Category is a BFCL task category.
type Category string

// The categories of single-turn tasks.
const (
	CategorySimple           Category = "simple"            // one function, one call
	CategoryMultiple         Category = "multiple"          // several functions, one call
	CategoryParallel         Category = "parallel"          // one function, several calls
	CategoryParallelMultiple Category = "parallel_multiple" // several functions, several calls
	CategoryIrrelevance      Category = "irrelevance"       // no function fits, no call
)

// CategoryOf returns the category that starts a record's id or a file name, e.g.
// live_parallel_multiple_3-1-0 or BFCL_v4_simple_python.json. The error lists the categories.
func CategoryOf(name string) (Category, error) {
	rest := strings.TrimPrefix(strings.TrimPrefix(name, "BFCL_v4_"), "live_")
	for _, category := range []Category{
		CategorySimple, CategoryMultiple, CategoryParallelMultiple, CategoryParallel, CategoryIrrelevance,
	} {
		after, found := strings.CutPrefix(rest, string(category))
		if found && (after == "" || after[0] == '_' || after[0] == '.') {
			return category, nil
		}
	}
	return "", fmt.Errorf("category of %q: want a name that begins with simple, multiple, parallel, "+
		"parallel_multiple or irrelevance", name)
}

// categoryOf returns the category of a record by its id. If the id names none, the numbers of
// functions and calls decide. The error is that of NewTask.
func categoryOf(record Record) (Category, error) {
	task, err := NewTask(record.Function, record.TargetText)
	if err != nil {
		return "", err
	}
	if category, err := CategoryOf(record.ID); err == nil {
		return category, nil
	}
	functions, _ := task.Functions.AsList()
	answers, _ := task.Answers.AsList()
	switch {
	case len(answers) == 0:
		return CategoryIrrelevance, nil
	case len(functions) == 1 && len(answers) == 1:
		return CategorySimple, nil
	case len(answers) == 1:
		return CategoryMultiple, nil
	case len(functions) == 1:
		return CategoryParallel, nil
	default:
		return CategoryParallelMultiple, nil
	}
}
