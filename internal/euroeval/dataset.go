package euroeval

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// answerFolder is the folder of possible answers. A file of answers has the name of its BFCL file.
const answerFolder = "possible_answer"

// english is the default language of records.
const english = "en"

// DataSet holds the records of one language, before EuroEval's shuffle.
type DataSet struct {
	Name, Language string
	Records        []Record
	// SplitSizes are the sizes of the splits if each split has a file, in the order train, val, test.
	// It is nil if the records must be shuffled and split.
	SplitSizes *SplitSizes
}

// SplitName is the name of a split, or SplitAll.
type SplitName string

// EuroEval evaluates val by default.
const (
	SplitAll   SplitName = "all"
	SplitTrain SplitName = "train"
	SplitVal   SplitName = "val"
	SplitTest  SplitName = "test"
)

// SplitNames lists all names.
func SplitNames() []SplitName { return []SplitName{SplitAll, SplitTrain, SplitVal, SplitTest} }

// SplitRecords returns the records of a split in EuroEval's order, with their positions. For
// SplitAll it returns all records in file order.
func (d *DataSet) SplitRecords(name SplitName) ([]Record, []*evaluationv1.RecordPosition) {
	split := d.splits()
	recordIndices := map[SplitName][]int{SplitTrain: split.Train, SplitVal: split.Val, SplitTest: split.Test}[name]
	train, val := int32(len(split.Train)), int32(len(split.Val))
	if name == SplitAll {
		train, val, recordIndices = 0, 0, indices(len(d.Records))
	}
	records := make([]Record, len(recordIndices))
	positions := make([]*evaluationv1.RecordPosition, len(recordIndices))
	for i, recordIndex := range recordIndices {
		records[i] = d.Records[recordIndex]
		positions[i] = &evaluationv1.RecordPosition{
			DataSet: d.Name, Language: d.Language, Category: string(records[i].Category), Split: string(name), Index: int32(i),
			TrainSize: train, ValSize: val,
		}
	}
	return records, positions
}

// splits returns the splits that the files define, otherwise those of a shuffle.
func (d *DataSet) splits() Split {
	if d.SplitSizes == nil {
		return usableSplit(len(d.Records))
	}
	return partition(indices(len(d.Records)), d.SplitSizes.Train, d.SplitSizes.Val)
}

// indices returns 0 to n-1.
func indices(n int) []int {
	positions := make([]int, n)
	for i := range positions {
		positions[i] = i
	}
	return positions
}

// language matches the name of a language folder.
var language = regexp.MustCompile(`^[a-z]{2}$`)

// settingsFile is EuroEval's configuration of a data set.
const settingsFile = "eval.yaml"

// IsDataSet reports whether a directory contains records, at the top or in a language folder. A
// directory with scenarios at the top is not a data set.
func IsDataSet(files fs.FS) bool {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return false
	}
	for _, entry := range entries {
		name := entry.Name()
		if path.Ext(name) == ".yaml" && name != settingsFile || strings.HasPrefix(name, "catalogue.") {
			return false
		}
	}
	folders, err := languages(files)
	return err == nil && len(folders) > 0
}

// Load reads the records of a directory. Files are BFCL v4 files, with answers in the folder
// possible_answer, or records as EuroEval prepares them. Files at the top are English. A folder
// named by an ISO 639-1 code holds the records of that language.
//
// English is first, then the other languages by code. BFCL files are in EuroEval's order, others in
// order of name. If the files of a folder are exactly train, val and test, they are its splits. If
// only is set, Load reads that file at the top and its answers. The error joins *LineError values,
// at most 20 per file, or is that of the file system.
func Load(files fs.FS, name, only string) ([]DataSet, error) {
	folders, err := languages(files)
	if err != nil {
		return nil, fmt.Errorf("read data set %s: %w", name, err)
	}
	if only != "" {
		folders = []string{"."}
	}
	var sets []DataSet
	var faults []error
	seen := make(map[string]string)
	for _, folder := range folders {
		set := DataSet{Name: name, Language: english}
		if folder != "." {
			set.Name, set.Language = name+"-"+folder, folder
		}
		names, err := recordFiles(files, folder)
		if err != nil {
			return nil, fmt.Errorf("read data set %s: %w", name, err)
		}
		if only != "" {
			names = []string{only}
		}
		var sizes []int
		for _, file := range names {
			records, err := readFile(files, file)
			sizes = append(sizes, len(records))
			faults = append(faults, err)
			for i := range records {
				records[i].Language = set.Language
				faults = append(faults, checkUnique(seen, &records[i]))
			}
			set.Records = append(set.Records, records...)
		}
		if slices.EqualFunc(names, splitFiles, func(name, split string) bool { return baseName(name) == split }) {
			set.SplitSizes = &SplitSizes{Train: sizes[0], Val: sizes[1], Test: sizes[2]}
		}
		sets = append(sets, set)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return sets, nil
}

// checkUnique returns an error if another record has the id.
func checkUnique(seen map[string]string, record *Record) error {
	position := record.File + ":" + strconv.Itoa(record.Line)
	if first, ok := seen[record.ID]; ok {
		return &LineError{File: record.File, Line: record.Line, FieldError: mismatch("id", "a unique id", python.Str(record.ID), first+" has it already")}
	}
	seen[record.ID] = position
	return nil
}

// readFile reads one file of records in either format.
func readFile(files fs.FS, name string) ([]Record, error) {
	data, err := readBounded(files, name)
	if err != nil {
		return nil, err
	}
	questions := File{Name: name, Data: data}
	if isPrepared(data) {
		return readPrepared(questions)
	}
	category, err := CategoryOf(path.Base(name))
	if err != nil {
		return nil, &LineError{File: name, Line: 1, FieldError: &FieldError{
			Field: "line", Want: "records of single turns", Got: path.Base(name),
			Suggestion: "begin the file's name with simple, multiple, parallel, parallel_multiple or irrelevance, or remove the file",
		}}
	}
	if category == CategoryIrrelevance {
		return readBFCL(questions, nil)
	}
	answers := File{Name: path.Join(path.Dir(name), answerFolder, path.Base(name))}
	if answers.Data, err = readBounded(files, answers.Name); errors.Is(err, fs.ErrNotExist) {
		return nil, &LineError{File: name, Line: 1, FieldError: &FieldError{
			Field: "id", Want: "its possible answer in " + answers.Name, Got: "no such file", Suggestion: "add the file of answers",
		}}
	} else if err != nil {
		return nil, err
	}
	return readBFCL(questions, &answers)
}

// maxFile is the largest size of a file of records in bytes.
const maxFile = 256 << 20

func readBounded(files fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("read %s: it has %d bytes, expected at most %d", name, info.Size(), maxFile)
	}
	data, err := fs.ReadFile(files, name)
	return bom.Trim(data), err
}

// isPrepared reports whether records are in EuroEval's format. BFCL's questions have no
// target_text.
func isPrepared(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		value, _ := python.ParseJSON(line)
		object, _ := value.AsDict()
		_, has := object.Get("target_text")
		return has
	}
	return false
}

// fileOrder is the order in which EuroEval reads BFCL's files.
var fileOrder = []string{
	"live_multiple", "live_parallel_multiple", "live_parallel", "live_simple", "multiple", "parallel_multiple", "parallel", "simple_java",
	"simple_javascript", "simple_python",
}

// splitFiles are the base names of files that define splits, in the order in which EuroEval draws
// rows.
var splitFiles = []string{string(SplitTrain), string(SplitVal), string(SplitTest)}

// baseName returns the name of a file without folder and extension.
func baseName(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }

// recordFiles lists the record files of a folder in the order of Load.
func recordFiles(files fs.FS, folder string) ([]string, error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if ext := path.Ext(entry.Name()); !entry.IsDir() && (ext == ".json" || ext == ".jsonl") {
			names = append(names, path.Join(folder, entry.Name()))
		}
	}
	order := slices.Concat(fileOrder, splitFiles)
	rank := func(name string) int {
		if i := slices.Index(order, strings.TrimPrefix(baseName(name), "BFCL_v4_")); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names, nil
}

// languages lists the folders that contain records. The top, ".", is English and first.
func languages(files fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	candidates := []string{".", english}
	for _, entry := range entries { // sorted by name
		if entry.IsDir() && language.MatchString(entry.Name()) && entry.Name() != english {
			candidates = append(candidates, entry.Name())
		}
	}
	var folders []string
	for _, folder := range candidates {
		names, err := recordFiles(files, folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if len(names) > 0 {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}
