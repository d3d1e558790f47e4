package graph

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func examples() map[string]*Graph {
	return map[string]*Graph{
		"empty": {},
		"one":   {Nodes: [][]string{{"alone", "says something"}}},
		"chain": {Nodes: [][]string{{"first"}, {"second, which is wide"}, {"third"}}, Edges: [][2]int{{0, 1}, {1, 2}}},
		"diamond": {
			Nodes: [][]string{{"start"}, {"left", "two lines"}, {"right"}, {"joined"}},
			Edges: [][2]int{{0, 1}, {0, 2}, {1, 3}, {2, 3}},
		},
		"skipping": {
			Nodes: [][]string{{"a"}, {"b <&>"}, {"c"}, {"d"}, {"e"}},
			Edges: [][2]int{{0, 1}, {1, 2}, {2, 4}, {0, 4}, {3, 4}},
		},
		"wide": {
			Nodes: [][]string{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}},
			Edges: [][2]int{{0, 5}, {0, 3}, {1, 4}, {2, 3}, {2, 5}},
		},
	}
}

func TestGolden(t *testing.T) {
	for name, g := range examples() {
		for ending, got := range map[string]string{".txt": g.Text(), ".svg": g.SVG(name)} {
			golden := filepath.Join("testdata", name+ending)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		}
	}
}

// TestWhole checks that every node is drawn once and every edge can be followed: each node that
// something comes before has an arrow, and the SVG is well formed.
func TestWhole(t *testing.T) {
	for name, g := range examples() {
		text := g.Text()
		for _, lines := range g.Nodes {
			if got := strings.Count(text, "│ "+lines[0]+" "); got != 1 {
				t.Errorf("%s: %q is drawn %d times, want once:\n%s", name, lines[0], got, text)
			}
		}
		ends := map[int]bool{}
		for _, edge := range g.Edges {
			ends[edge[1]] = true
		}
		if got := strings.Count(text, "▼"); got != len(ends) {
			t.Errorf("%s: got %d arrows, want %d:\n%s", name, got, len(ends), text)
		}
		decoder := xml.NewDecoder(strings.NewReader(g.SVG(name)))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
