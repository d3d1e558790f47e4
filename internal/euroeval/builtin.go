package euroeval

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// builtinFiles hold the data set as data/<language>/<category>.jsonl, and what answers it in
// data/<language>/possible_answer/<category>.jsonl. Irrelevance has no answers.
//
//go:embed data/*/*.jsonl data/*/possible_answer/*.jsonl
var builtinFiles embed.FS

// BuiltinRecord is a record of the built-in data set.
type BuiltinRecord struct {
	Record
	// Language is the language of the question as ISO 639-1 names it, e.g. en. Functions are described
	// in English.
	Language string
	Category Category
}

// Builtin reads the data set that is part of the program: English first, then the other languages
// by their code; in each the categories in the order of their constants; in each the records in
// file order. A category without a file has no records. The error is that of ReadBFCL.
func Builtin() ([]BuiltinRecord, error) {
	entries, err := builtinFiles.ReadDir("data")
	if err != nil {
		return nil, fmt.Errorf("read built-in records: %w", err)
	}
	languages := []string{"en"}
	for _, entry := range entries { // sorted by name
		if !slices.Contains(languages, entry.Name()) {
			languages = append(languages, entry.Name())
		}
	}
	var all []BuiltinRecord
	for _, language := range languages {
		for _, category := range []Category{
			CategorySimple, CategoryMultiple, CategoryParallel, CategoryParallelMultiple, CategoryIrrelevance,
		} {
			records, err := readBuiltin(language, category)
			if err != nil {
				return nil, fmt.Errorf("read built-in records: %w", err)
			}
			for _, record := range records {
				all = append(all, BuiltinRecord{Record: record, Language: language, Category: category})
			}
		}
	}
	return all, nil
}

// readBuiltin reads one category of one language. It returns nil if the category has no file.
func readBuiltin(language string, category Category) ([]Record, error) {
	questions := File{Name: path.Join("data", language, string(category)+".jsonl")}
	var err error
	questions.Data, err = builtinFiles.ReadFile(questions.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if category == CategoryIrrelevance {
		return ReadBFCL(questions, nil)
	}
	answers := File{Name: path.Join("data", language, "possible_answer", string(category)+".jsonl")}
	if answers.Data, err = builtinFiles.ReadFile(answers.Name); err != nil {
		return nil, err
	}
	return ReadBFCL(questions, &answers)
}
