package euroeval

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
)

// exportAndLoad writes data sets to folders of their languages and loads them again.
func exportAndLoad(t *testing.T, sets []DataSet) []DataSet {
	t.Helper()
	files := make(fstest.MapFS)
	for _, set := range sets {
		out, err := set.Export()
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range out.Files {
			files[out.Language+"/"+file.Name] = &fstest.MapFile{Data: file.Data}
		}
	}
	read, err := Load(files, "euroeval", "")
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// scenariosOf returns the scenarios of a split.
func scenariosOf(t *testing.T, set *DataSet, split SplitName) []*scenariov1.Scenario {
	t.Helper()
	var list []*scenariov1.Scenario
	records, positions := set.SplitRecords(split)
	for i := range records {
		made, err := records[i].Scenario(positions[i])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, made)
	}
	return list
}

// differences formats the differences of scenarios, empty without any. It is faster than cmp.Diff
// for equal ones.
func differences(want, got []*scenariov1.Scenario) string {
	if slices.EqualFunc(want, got, func(a, b *scenariov1.Scenario) bool { return proto.Equal(a, b) }) {
		return ""
	}
	return cmp.Diff(want, got, protocmp.Transform())
}

// TestExportReadsBack exports the built-in records. The loaded splits must have all scenarios in
// the same order.
func TestExportReadsBack(t *testing.T) {
	t.Parallel()
	sets, err := Load(os.DirFS("../../packs/euroeval"), "euroeval", "")
	if err != nil {
		t.Fatal(err)
	}
	read := exportAndLoad(t, sets)
	if len(read) != len(sets) {
		t.Fatalf("got %d data sets, want %d", len(read), len(sets))
	}
	for i := range sets {
		for _, split := range []SplitName{SplitTrain, SplitVal, SplitTest} {
			want := scenariosOf(t, &sets[i], split)
			if diff := differences(want, scenariosOf(t, &read[i], split)); diff != "" || len(want) == 0 {
				t.Errorf("%s, %s: %d scenarios (-want +got):\n%s", sets[i].Name, split, len(want), diff)
			}
		}
		byName := func(a, b *scenariov1.Scenario) int {
			return strings.Compare(a.GetSetup().GetName(), b.GetSetup().GetName())
		}
		want, got := scenariosOf(t, &sets[i], SplitAll), scenariosOf(t, &read[i], SplitAll)
		slices.SortFunc(want, byName)
		slices.SortFunc(got, byName)
		for _, s := range slices.Concat(want, got) {
			s.GetEvaluation().GetFunctionCalling().GetPosition().Index = 0 // another order
		}
		if diff := differences(want, got); diff != "" {
			t.Errorf("%s, all (-want +got):\n%s", sets[i].Name, diff)
		}
	}
}

// sampleSet returns a data set of n records.
func sampleSet(t *testing.T, n int) *DataSet {
	t.Helper()
	var questions, answers bytes.Buffer
	for i := range n {
		id := fmt.Sprintf("simple_%d", i)
		fmt.Fprintln(&questions, strings.NewReplacer("simple_0", id, "Pay 1.0", fmt.Sprintf("Zahl <1> für Fall %d", i)).Replace(sampleQuestion))
		fmt.Fprintln(&answers, strings.Replace(sampleAnswer, "simple_0", id, 1))
	}
	sets, err := Load(fstest.MapFS{
		"de/simple.jsonl": {Data: questions.Bytes()}, "de/possible_answer/simple.jsonl": {Data: answers.Bytes()},
	}, "pay: now", "")
	if err != nil {
		t.Fatal(err)
	}
	return &sets[0]
}

// TestExportFiles compares all files with the golden files.
func TestExportFiles(t *testing.T) {
	t.Parallel()
	out, err := sampleSet(t, 5).Export()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range out.Files {
		golden(t, "export/"+file.Name, file.Data)
	}
}

// TestExportSizes checks the sizes of splits: EuroEval's sizes if records remain for test.
func TestExportSizes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		records int
		want    SplitSizes
	}{
		{3, SplitSizes{1, 1, 1}},
		{64, SplitSizes{7, 28, 29}},
		{500, SplitSizes{50, 225, 225}},
		{501, SplitSizes{250, 250, 1}},
		{600, SplitSizes{250, 250, 100}},
	} {
		out, err := sampleSet(t, test.records).Export()
		if err != nil || out.Sizes != test.want {
			t.Errorf("%d records: got %+v and %v, want %+v", test.records, out, err, test.want)
		}
	}
	if _, err := sampleSet(t, 2).Export(); err == nil || !strings.Contains(err.Error(), "2 records leave none for split val") {
		t.Errorf("2 records: got %v, want an error that names the split", err)
	}
}

// TestLoadSplitFiles loads a folder with files of splits, and one with an additional file.
func TestLoadSplitFiles(t *testing.T) {
	t.Parallel()
	set := sampleSet(t, 5)
	out, err := set.Export()
	if err != nil {
		t.Fatal(err)
	}
	files := make(fstest.MapFS)
	for _, file := range out.Files {
		files[file.Name] = &fstest.MapFile{Data: file.Data}
	}
	read, err := Load(files, "top", "")
	if err != nil || len(read) != 1 || *read[0].SplitSizes != out.Sizes || read[0].Name != "top" {
		t.Errorf("splits at the top: got %+v and %v, want %+v", read, err, out.Sizes)
	}
	files["more.jsonl"] = &fstest.MapFile{Data: bytes.ReplaceAll(files["train.jsonl"].Data, []byte("simple_"), []byte("more_"))}
	read, err = Load(files, "top", "")
	if err != nil || len(read[0].Records) != 6 || read[0].SplitSizes != nil {
		t.Errorf("with another file: got %+v and %v, want 6 records without sizes of splits", read, err)
	}
}

// TestEditorSchema checks that a pack of scenarios with a JSON Schema for editors is not a data
// set.
func TestEditorSchema(t *testing.T) {
	t.Parallel()
	if IsDataSet(fstest.MapFS{"schema.json": {Data: []byte("{}")}, "mine.yaml": {}}) {
		t.Error("got a data set, want a pack of scenarios")
	}
}
