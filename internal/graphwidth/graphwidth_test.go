package graphwidth

import (
	"errors"
	"strings"
	"testing"
)

// layers returns width nodes a layer, each behind all of the layer before; refer says what each
// refers to.
func layers(count, width int, refer func(i int) uint64) []Node {
	nodes := make([]Node, count*width)
	for i := width; i < len(nodes); i++ {
		nodes[i].After = (1<<width - 1) << (i/width*width - width)
		nodes[i].References = refer(i)
	}
	return nodes
}

func TestWidth(t *testing.T) {
	chain := make([]Node, 20)
	far := make([]Node, 20)
	for i := 1; i < len(chain); i++ {
		chain[i] = Node{After: 1 << (i - 1), References: 1 << (i - 1)}
		far[i] = Node{After: 1 << (i - 1), References: 1 << (i / 2)}
	}
	fan := make([]Node, 17)
	join := make([]Node, 17)
	crossed := make([]Node, 32)
	for i := range 16 {
		fan[i+1] = Node{After: 1, References: 1}
		join[16].After |= 1 << i
		crossed[16+i] = Node{After: 1 << i, References: 1<<i | 1<<((i*5+3)%16) | 1<<((i*7+1)%16) | 1<<((i*3+5)%16)}
	}
	tests := []struct {
		name  string
		nodes []Node
		want  int
	}{
		{"none", nil, 0},
		{"chain of references", chain, 0},
		{"antichain behind one", fan, 0},
		{"antichain before one", join, 2},
		{"references far back", far, 6},
		{"layers", layers(5, 4, func(i int) uint64 { return 1 << (i - 4) }), 7},
		{"crossed", crossed, 11},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			node, got := widest(test.nodes)
			if got != test.want || (got == 0) != (node < 0) {
				t.Errorf("widest: got %d at node %d, want %d", got, node, test.want)
			}
			var tangled *Error
			if err := Check(test.nodes); (err != nil) != (test.want > maxWidth) || err != nil && !errors.As(err, &tangled) {
				t.Errorf("Check: got %v, want an error for a width above %d", err, maxWidth)
			}
		})
	}
	if err := Check(crossed); !strings.Contains(err.Error(), "of 11 nodes would have to be tried together, at most 10 are") {
		t.Errorf("Check: got %v, want the width and the limit", err)
	}
}
