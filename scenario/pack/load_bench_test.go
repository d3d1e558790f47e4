package pack

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toolsandbox/toolsandbox/scenario"
)

// template returns a valid scenario and its world.
func template(b *testing.B, name string) (text, world string) {
	b.Helper()
	written, start, err := scenario.Template(name)
	if err != nil {
		b.Fatal(err)
	}
	return string(written), string(start)
}

// packWithScenarios returns a pack of count scenarios in files of 500.
func packWithScenarios(b *testing.B, count int) fstest.MapFS {
	b.Helper()
	_, world := template(b, "world")
	fsys := fstest.MapFS{"worlds/" + scenario.TemplateWorld + ".yaml": {Data: []byte(world)}}
	var documents []string
	for i := range count {
		text, _ := template(b, fmt.Sprintf("scenario_%05d", i))
		documents = append(documents, text)
		if len(documents) == 500 || i == count-1 {
			fsys[fmt.Sprintf("part_%05d.yaml", i)] = &fstest.MapFile{Data: []byte(strings.Join(documents, ""))}
			documents = nil
		}
	}
	return fsys
}

// packWithLargeWorld returns a pack with one scenario. It changes all of count contacts and removes
// every second one.
func packWithLargeWorld(b *testing.B, count int) fstest.MapFS {
	b.Helper()
	text, world := template(b, "one")
	var rows, changes, removed strings.Builder
	for i := range count {
		fmt.Fprintf(&rows, "    - {name: Person %d, phone_number: \"+4930%08d\"}\n", i, 23125100+i)
		fmt.Fprintf(&changes, "      - {where: {name: Person %d}, set: {relationship: friend}}\n", i)
		if i%2 == 0 {
			fmt.Fprintf(&removed, "      - {name: Person %d}\n", i)
		}
	}
	return fstest.MapFS{
		"a.yaml":            {Data: []byte(text)},
		"worlds/crowd.yaml": {Data: []byte(world + rows.String())},
		"worlds/plain.yaml": {Data: []byte("extends: moved\ntables:\n  contact:\n    remove:\n" + removed.String())},
		"worlds/moved.yaml": {Data: []byte("extends: crowd\ntables:\n  contact:\n    change:\n" + changes.String())},
	}
}

func BenchmarkLoadScenarios(b *testing.B) { benchmarkLoad(b, packWithScenarios(b, 20000), 20000) }

func BenchmarkLoadWorld(b *testing.B) { benchmarkLoad(b, packWithLargeWorld(b, 9000), 1) }

func benchmarkLoad(b *testing.B, fsys fstest.MapFS, want int) {
	b.ReportAllocs()
	for b.Loop() {
		pack, err := Load(fsys, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if len(pack.Scenarios) != want {
			b.Fatalf("got %d scenarios, want %d", len(pack.Scenarios), want)
		}
	}
}
