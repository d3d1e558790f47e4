package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/packs"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

// openSource opens a built-in pack by name, or a pack by path. A JSON Lines file holds records. So
// does a directory or archive with such files at its top or in directories of languages.
func openSource(name string) (source, error) {
	if files, err := packs.Open(name); err == nil {
		return source{files: files, path: name, records: euroeval.IsDataSet(files)}, nil
	}
	opened := source{path: name}
	directory := name
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && slices.Contains([]string{".json", ".jsonl"}, filepath.Ext(name)) {
		directory = filepath.Dir(name)
		opened = source{path: directory, records: true, file: filepath.Base(name)}
	}
	var err error
	opened.files, err = pack.Open(directory)
	if err != nil {
		return source{}, fmt.Errorf("%w%s", err, meantPack(name))
	}
	opened.records = opened.records || euroeval.IsDataSet(opened.files) && !exists(name, results.RunFile)
	if !opened.records && !isPack(name, opened.files) {
		return source{}, fmt.Errorf("no %s in %s%s", pack.ManifestFile, name, meantPack(name))
	}
	return opened, nil
}

// DataSets loads the records of all sources. The error is document.Errors with all mistakes, or
// names a source without records.
func (c *Selection) DataSets() ([]euroeval.DataSet, error) {
	sources, err := c.sources()
	if err != nil {
		return nil, err
	}
	var all []euroeval.DataSet
	var found document.Errors
	for _, from := range sources {
		if !from.records {
			return nil, process.UsageErrorf("--pack: %s holds no records: give --pack euroeval or your own records", from.path)
		}
		sets, err := from.dataSets()
		if wrong, ok := errors.AsType[document.Errors](err); ok {
			found = append(found, wrong.WithPrefix(from.path)...)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", from.path, err)
		}
		all = append(all, sets...)
	}
	if len(found) > 0 {
		return nil, found
	}
	return all, nil
}

// name is the name of a source's records.
func (s source) name() string {
	return strings.TrimSuffix(path.Base(filepath.ToSlash(path.Join(s.path, s.file))), path.Ext(s.file))
}

// dataSets loads the records of a source. The error is document.Errors or the file system's.
func (s source) dataSets() ([]euroeval.DataSet, error) {
	sets, err := euroeval.Load(s.files, s.name(), s.file)
	if faults := euroeval.LineErrors(err); len(faults) > 0 {
		return nil, convertLineErrors(faults)
	}
	return sets, err
}

// load loads the scenarios of a source. The error is that of pack.Load.
func (c *Selection) load(from source, opts pack.Options) (*pack.Pack, error) {
	if !from.records {
		return pack.Load(from.files, opts)
	}
	sets, err := from.dataSets()
	if err != nil {
		return nil, err
	}
	p := &pack.Pack{Manifest: pack.Manifest{Name: from.name()}}
	sum := sha256.New()
	for _, set := range sets {
		c.found = append(c.found, set.Language)
		if len(c.languages) > 0 && !slices.Contains(c.languages, set.Language) {
			continue
		}
		records, places := set.SplitRecords(euroeval.SplitName(c.split))
		for i := range records {
			record := &records[i]
			converted, err := record.Scenario(places[i])
			if fieldErr, ok := errors.AsType[*euroeval.FieldError](err); ok {
				return nil, convertLineErrors([]*euroeval.LineError{{File: record.File, Line: record.Line, FieldError: fieldErr}})
			}
			if err != nil {
				return nil, fmt.Errorf("record %s: %w", record.ID, err)
			}
			wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(converted)
			if err != nil {
				return nil, fmt.Errorf("record %s: %w", record.ID, err)
			}
			_, _ = sum.Write(wire) // hash.Hash never fails
			p.Scenarios = append(p.Scenarios, pack.Loaded{Scenario: converted, Position: document.Position{File: record.File, Line: record.Line, Column: 1}})
		}
	}
	p.Digest = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

// convertLineErrors converts errors of records.
func convertLineErrors(errs []*euroeval.LineError) document.Errors {
	var list document.Errors
	for _, lineErr := range errs {
		list = append(list, &document.Error{File: lineErr.File, Line: lineErr.Line, Column: 1, Field: lineErr.Field, Reason: lineErr.Reason()})
	}
	return list
}

// CheckLanguages rejects languages without records. found are those that have some.
func CheckLanguages(wanted, found []string) error {
	for _, language := range wanted {
		if !slices.Contains(found, language) {
			return process.UsageErrorf("--language: no records in %q, expected some of %s", language, strings.Join(found, ", "))
		}
	}
	return nil
}

// checkSplit rejects an unknown split, and a split or languages if no source has records.
func (c *Selection) checkSplit(sources []source) error {
	hasRecords := slices.ContainsFunc(sources, func(s source) bool { return s.records })
	if len(c.languages) > 0 && !hasRecords {
		return process.UsageErrorf("--language: %s given, but %s has no records: give --pack euroeval or your own records", c.languages[0], c.SourceNames())
	}
	split := euroeval.SplitName(c.split)
	if c.split == "" {
		c.split = string(euroeval.SplitAll)
		return nil
	}
	switch {
	case !slices.Contains(euroeval.SplitNames(), split):
		return process.UsageErrorf("--split: %q given, expected all, train, val or test", c.split)
	case split != euroeval.SplitAll && !hasRecords:
		return process.UsageErrorf("--split: %s given, but %s has no records with splits: give --pack euroeval or your own records", c.split, c.SourceNames())
	}
	return nil
}
