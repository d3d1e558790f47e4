package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

const (
	boxWidth, boxHeight   = 150, 42
	bendWidth             = 14
	gapAcross, gapBetween = 14, 30
	longestLabel          = 20
)

// graph is a drawn graph: layers from the top, an edge leads down.
type graph struct {
	Name          string
	Width, Height int
	Boxes         []box
	Lines         []string
}

// box is a node of a graph.
type box struct {
	Target, Title, Label, Mark, Class string
	X, Y                              int
}

// point is a node, or a bend of an edge that crosses a layer.
type point struct {
	node         int // -1 for a bend
	layer        int
	width        int
	x            int
	before, next []*point
}

// draw lays a graph out. The cards give each box its colour, target and score.
func draw(name string, g *evaluationv1.Graph, cards []node) *graph {
	if len(g.GetNodes()) == 0 {
		return nil
	}
	layers := layersOf(g)
	arrange(layers)
	drawn := &graph{Name: name}
	for _, layer := range layers {
		width := -gapAcross
		for _, p := range layer {
			p.x = width + gapAcross
			width = p.x + p.width
		}
		drawn.Width = max(drawn.Width, width)
	}
	drawn.Width += 4
	drawn.Height = len(layers)*(boxHeight+gapBetween) - gapBetween + 4
	for i, layer := range layers {
		last := layer[len(layer)-1]
		shift := (drawn.Width - last.x - last.width) / 2
		for _, p := range layer {
			p.x, p.layer = p.x+shift, i
			if p.node >= 0 {
				drawn.Boxes = append(drawn.Boxes, newBox(g, p, 2+i*(boxHeight+gapBetween), cards))
			}
		}
	}
	slices.SortFunc(drawn.Boxes, func(a, b box) int { return cmp.Or(cmp.Compare(a.Y, b.Y), cmp.Compare(a.X, b.X)) })
	for _, layer := range layers {
		for _, p := range layer {
			if p.node < 0 {
				continue
			}
			for _, next := range p.next {
				drawn.Lines = append(drawn.Lines, line(p, next))
			}
		}
	}
	return drawn
}

// line is the path of an edge through its bends to a node.
func line(from, to *point) string {
	y := func(p *point) int { return 2 + p.layer*(boxHeight+gapBetween) }
	x := func(p *point) int { return p.x + p.width/2 }
	var path strings.Builder
	fmt.Fprintf(&path, "M%d %d", x(from), y(from)+boxHeight)
	for {
		end := y(to)
		if to.node >= 0 {
			end -= 5 // the arrow
		}
		fmt.Fprintf(&path, "C%d %d %d %d %d %d", x(from), y(to)-gapBetween/2, x(to), y(to)-gapBetween/2, x(to), end)
		if to.node >= 0 {
			return path.String()
		}
		fmt.Fprintf(&path, "V%d", y(to)+boxHeight)
		from, to = to, to.next[0]
	}
}

func newBox(g *evaluationv1.Graph, p *point, y int, cards []node) box {
	b := box{X: p.x, Y: y, Title: fmt.Sprint(p.node)}
	if name := g.GetNodes()[p.node].GetName(); name != "" {
		b.Title = fmt.Sprintf("%d %s", p.node, name)
	}
	if p.node < len(cards) {
		card := cards[p.node]
		b.Class, b.Target = card.Class, card.ID
		b.Mark = card.mark()
	}
	b.Label = b.Title
	if runes := []rune(b.Label); len(runes) > longestLabel {
		b.Label = string(runes[:longestLabel-1]) + "…"
	}
	return b
}

// layersOf puts each node below all those that come before it, and a bend into each layer that an
// edge crosses. Edges of a circle, which no valid graph has, are left out.
func layersOf(g *evaluationv1.Graph) [][]*point {
	points := make([]*point, len(g.GetNodes()))
	for i := range points {
		points[i] = &point{node: i, width: boxWidth}
	}
	var edges []*evaluationv1.Edge
	for _, e := range g.GetEdges() {
		if int(e.GetBefore()) < len(points) && int(e.GetAfter()) < len(points) && e.GetBefore() >= 0 && e.GetAfter() >= 0 {
			edges = append(edges, e)
		}
	}
	for range points { // the longest path has fewer edges than there are nodes
		for _, e := range edges {
			points[e.GetAfter()].layer = min(max(points[e.GetAfter()].layer, points[e.GetBefore()].layer+1), len(points)-1)
		}
	}
	deepest := 0
	for _, p := range points {
		deepest = max(deepest, p.layer)
	}
	layers := make([][]*point, deepest+1)
	for _, p := range points {
		layers[p.layer] = append(layers[p.layer], p)
	}
	for _, e := range edges {
		from, to := points[e.GetBefore()], points[e.GetAfter()]
		for layer := from.layer + 1; layer < to.layer; layer++ {
			bend := &point{node: -1, layer: layer, width: bendWidth}
			layers[layer] = append(layers[layer], bend)
			join(from, bend)
			from = bend
		}
		if from.layer < to.layer {
			join(from, to)
		}
	}
	return slices.DeleteFunc(layers, func(layer []*point) bool { return len(layer) == 0 })
}

func join(a, b *point) {
	a.next = append(a.next, b)
	b.before = append(b.before, a)
}

// arrange orders each layer by the mean place of its neighbours, down and up again, so that few
// edges cross.
func arrange(layers [][]*point) {
	for range 4 {
		for i := 1; i < len(layers); i++ {
			order(layers[i-1], layers[i], func(p *point) []*point { return p.before })
		}
		for i := len(layers) - 2; i >= 0; i-- {
			order(layers[i+1], layers[i], func(p *point) []*point { return p.next })
		}
	}
}

func order(fixed, layer []*point, neighbours func(*point) []*point) {
	place := make(map[*point]int, len(fixed))
	for i, p := range fixed {
		place[p] = i
	}
	weight := make(map[*point]float64, len(layer))
	for i, p := range layer {
		weight[p] = float64(i)
		if near := neighbours(p); len(near) > 0 {
			sum := 0
			for _, other := range near {
				sum += place[other]
			}
			weight[p] = float64(sum) / float64(len(near))
		}
	}
	slices.SortStableFunc(layer, func(a, b *point) int { return cmp.Compare(weight[a], weight[b]) })
}
