package evaluation

import (
	"testing"
)

// layers returns width nodes a layer, each behind all of the layer before; refer says what each
// refers to.
func layers(count, width int, refer func(i int) uint64) []dependences {
	nodes := make([]dependences, count*width)
	for i := width; i < len(nodes); i++ {
		nodes[i].after = (1<<width - 1) << (i/width*width - width)
		nodes[i].references = refer(i)
	}
	return nodes
}

func TestWidth(t *testing.T) {
	chain := make([]dependences, 20)
	far := make([]dependences, 20)
	for i := 1; i < len(chain); i++ {
		chain[i] = dependences{after: 1 << (i - 1), references: 1 << (i - 1)}
		far[i] = dependences{after: 1 << (i - 1), references: 1 << (i / 2)}
	}
	fan := make([]dependences, 17)
	join := make([]dependences, 17)
	crossed := make([]dependences, 32)
	for i := range 16 {
		fan[i+1] = dependences{after: 1, references: 1}
		join[16].after |= 1 << i
		crossed[16+i] = dependences{after: 1 << i, references: 1<<i | 1<<((i*5+3)%16) | 1<<((i*7+1)%16) | 1<<((i*3+5)%16)}
	}
	tests := []struct {
		name  string
		nodes []dependences
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
		})
	}
}
