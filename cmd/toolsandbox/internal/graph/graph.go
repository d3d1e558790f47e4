// Package graph draws directed acyclic graphs in layers, as text and as SVG: what comes before
// stands above.
package graph

import (
	"cmp"
	"slices"
)

// Graph is what is drawn. It must have no circle.
type Graph struct {
	// Nodes hold the lines of each node, the first being its title.
	Nodes [][]string
	// Edges lead from a node to one that comes later, by their positions in Nodes.
	Edges [][2]int
}

// box is a node in its layer. A box without lines is a place where an edge passes a layer.
type box struct {
	lines         []string
	width, height int
	x             int // left edge
	up            []int
	down          []int
}

func (b *box) centre() int { return b.x + b.width/2 }

// layout places boxes in layers.
type layout struct {
	boxes  []*box
	layers [][]int
}

// sweeps is how often the order in layers is improved downwards and upwards.
const sweeps = 6

// arrange returns the layout of a graph. measure returns the size of a node, gap is the room
// between two of a layer.
func (g *Graph) arrange(measure func(lines []string) (width, height int), gap int) *layout {
	l := &layout{}
	for _, lines := range g.Nodes {
		width, height := measure(lines)
		l.boxes = append(l.boxes, &box{lines: lines, width: width, height: height})
	}
	depth := g.depths()
	for i := range g.Nodes {
		l.put(i, depth[i])
	}
	for _, edge := range g.Edges {
		l.connect(edge[0], edge[1], depth)
	}
	for range sweeps {
		for i := range l.layers {
			l.sort(l.layers[i], func(b *box) []int { return b.up })
		}
		for i := range slices.Backward(l.layers) {
			l.sort(l.layers[i], func(b *box) []int { return b.down })
		}
	}
	for i := range l.layers {
		l.sort(l.layers[i], func(b *box) []int { return b.up })
		l.spread(l.layers[i], gap)
	}
	return l
}

// depths returns the layer of each node: one below the deepest node that comes before it.
func (g *Graph) depths() []int {
	depth := make([]int, len(g.Nodes))
	for changed, round := true, 0; changed && round <= len(g.Nodes); round++ {
		changed = false
		for _, edge := range g.Edges {
			if depth[edge[1]] <= depth[edge[0]] {
				depth[edge[1]], changed = depth[edge[0]]+1, true
			}
		}
	}
	return depth
}

// put appends a box to a layer.
func (l *layout) put(at, layer int) {
	for len(l.layers) <= layer {
		l.layers = append(l.layers, nil)
	}
	l.layers[layer] = append(l.layers[layer], at)
}

// connect joins two boxes by way of the layers between them.
func (l *layout) connect(from, to int, depth []int) {
	before := from
	for layer := depth[from] + 1; layer < depth[to]; layer++ {
		l.boxes = append(l.boxes, &box{width: 1, height: 0})
		passing := len(l.boxes) - 1
		l.put(passing, layer)
		l.join(before, passing)
		before = passing
	}
	l.join(before, to)
}

func (l *layout) join(from, to int) {
	if !slices.Contains(l.boxes[from].down, to) {
		l.boxes[from].down = append(l.boxes[from].down, to)
		l.boxes[to].up = append(l.boxes[to].up, from)
	}
}

// sort orders a layer by the mean place of each box's neighbours in the layer beside it.
func (l *layout) sort(layer []int, neighbours func(*box) []int) {
	place := map[int]int{}
	for _, other := range l.layers {
		for i, at := range other {
			place[at] = i
		}
	}
	weight := func(at int) float64 {
		beside := neighbours(l.boxes[at])
		if len(beside) == 0 {
			return float64(place[at])
		}
		sum := 0
		for _, other := range beside {
			sum += place[other]
		}
		return float64(sum) / float64(len(beside))
	}
	slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(weight(a), weight(b)) })
}

// spread gives the boxes of a layer their places: below the middle of what comes before, and beside
// one another.
func (l *layout) spread(layer []int, gap int) {
	free := 0
	for _, at := range layer {
		b := l.boxes[at]
		b.x = free
		if len(b.up) > 0 {
			low, high := l.boxes[b.up[0]].centre(), l.boxes[b.up[0]].centre()
			for _, other := range b.up {
				low, high = min(low, l.boxes[other].centre()), max(high, l.boxes[other].centre())
			}
			b.x = max(free, (low+high)/2-b.width/2)
		}
		free = b.x + b.width + gap
	}
}

// height returns the height of a layer.
func (l *layout) height(layer []int) int {
	height := 0
	for _, at := range layer {
		height = max(height, l.boxes[at].height)
	}
	return height
}

// width returns the width of the whole.
func (l *layout) width() int {
	width := 0
	for _, b := range l.boxes {
		width = max(width, b.x+b.width)
	}
	return width
}
