package scenario

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// packWithScenarios returns a pack of count scenarios in files of 500.
func packWithScenarios(count int) fstest.MapFS {
	fsys := fstest.MapFS{"worlds/" + TemplateWorld + ".yaml": {Data: []byte(templateWorldText)}}
	var documents []string
	for i := range count {
		documents = append(documents, strings.Replace(templateText, "NAME", fmt.Sprintf("scenario_%05d", i), 1))
		if len(documents) == 500 || i == count-1 {
			fsys[fmt.Sprintf("part_%05d.yaml", i)] = &fstest.MapFile{Data: []byte(strings.Join(documents, ""))}
			documents = nil
		}
	}
	return fsys
}

// packWithLargeWorld returns a pack with one scenario. It changes all of count contacts and removes
// every second one.
func packWithLargeWorld(count int) fstest.MapFS {
	var rows, changes, removed strings.Builder
	for i := range count {
		fmt.Fprintf(&rows, "    - {name: Person %d, phone_number: \"+4930%08d\"}\n", i, 23125100+i)
		fmt.Fprintf(&changes, "      - {where: {name: Person %d}, set: {relationship: friend}}\n", i)
		if i%2 == 0 {
			fmt.Fprintf(&removed, "      - {name: Person %d}\n", i)
		}
	}
	return fstest.MapFS{
		"a.yaml":            {Data: []byte(strings.Replace(templateText, "NAME", "one", 1))},
		"worlds/crowd.yaml": {Data: []byte(templateWorldText + rows.String())},
		"worlds/plain.yaml": {Data: []byte("extends: moved\ntables:\n  contact:\n    remove:\n" + removed.String())},
		"worlds/moved.yaml": {Data: []byte("extends: crowd\ntables:\n  contact:\n    change:\n" + changes.String())},
	}
}

func BenchmarkLoadScenarios(b *testing.B) { benchmarkLoad(b, packWithScenarios(20000), 20000) }

func BenchmarkLoadWorld(b *testing.B) { benchmarkLoad(b, packWithLargeWorld(9000), 1) }

func benchmarkLoad(b *testing.B, fsys fstest.MapFS, want int) {
	b.ReportAllocs()
	for b.Loop() {
		pack, err := LoadPack(fsys, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if len(pack.Scenarios) != want {
			b.Fatalf("got %d scenarios, want %d", len(pack.Scenarios), want)
		}
	}
}
