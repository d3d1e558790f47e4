package catalogue

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// ExportedDataSet is a written data set in the output for programs.
type ExportedDataSet struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	Folder   string `json:"folder"`
	// Records per split.
	Train int `json:"train"`
	Val   int `json:"val"`
	Test  int `json:"test"`
}

// Export writes the records of the selected packs as data sets of EuroEval, a folder for each
// language below out. Empty languages mean all. A folder that exists is process.ErrUsage.
func (s *Selection) Export(out string, only []string) ([]ExportedDataSet, error) {
	sets, err := s.DataSets()
	if err != nil {
		return nil, err
	}
	selectedSets, err := chooseDataSets(out, only, sets)
	if err != nil {
		return nil, err
	}
	var lines []ExportedDataSet
	for _, set := range selectedSets {
		folder := filepath.Join(out, set.Language)
		if err := writeFolder(folder, set.Files); err != nil {
			return nil, fmt.Errorf("write data set %s: %w", set.Name, err)
		}
		lines = append(lines, ExportedDataSet{set.Name, set.Language, folder, set.Sizes.Train, set.Sizes.Val, set.Sizes.Test})
	}
	return lines, nil
}

// chooseDataSets returns the data sets of the selected languages, one per language.
func chooseDataSets(out string, only []string, sets []euroeval.DataSet) ([]*euroeval.Exported, error) {
	var known []string
	var selectedSets []*euroeval.Exported
	for i := range sets {
		language := sets[i].Language
		selected := len(only) == 0 || slices.Contains(only, language)
		if selected && slices.Contains(known, language) {
			return nil, process.UsageErrorf("--pack: two data sets in language %s, expected one per folder: export them one by one", language)
		}
		known = append(known, language)
		if !selected {
			continue
		}
		folder := filepath.Join(out, language)
		if _, err := os.Lstat(folder); err == nil {
			return nil, process.UsageErrorf("--out: %s exists: choose another directory", folder)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, process.UsageErrorf("--out: %w", err)
		}
		exported, err := sets[i].Export()
		if err != nil {
			return nil, process.UsageErrorf("--pack: %w", err)
		}
		selectedSets = append(selectedSets, exported)
	}
	return selectedSets, CheckLanguages(only, known)
}

// writeFolder writes a folder with files atomically.
func writeFolder(folder string, files []euroeval.File) error {
	batch, err := storage.NewBatch(folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		err = errors.Join(err, batch.Add(file.Name, func(w io.Writer) error {
			_, err := w.Write(file.Data)
			return err
		}))
	}
	_, err = batch.End(err)
	return err
}

// LanguagesOf returns the languages of data sets. An unknown name is process.ErrUsage.
func (s *Selection) LanguagesOf(names []string) ([]string, error) {
	sets, err := s.DataSets()
	if err != nil {
		return nil, err
	}
	var languages, known []string
	for i := range sets {
		known = append(known, sets[i].Name)
		if slices.Contains(names, sets[i].Name) {
			languages = append(languages, sets[i].Language)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, process.UsageErrorf("--dataset: unknown data set %q; expected some of %s; --pack plays other records", name, strings.Join(known, ", "))
		}
	}
	return languages, nil
}
