package graph

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The directions in which a line leaves a cell.
const (
	up = 1 << iota
	down
	left
	right
)

// stroke returns the box-drawing character of a set of directions.
func stroke(directions int) rune {
	return [16]rune{
		up: '│', down: '│', up | down: '│', left: '─', right: '─', left | right: '─',
		up | right: '╰', up | left: '╯', down | right: '╭', down | left: '╮',
		up | down | right: '├', up | down | left: '┤', left | right | down: '┬', left | right | up: '┴',
		up | down | left | right: '┼',
	}[directions]
}

// textGap is the room between two nodes of a layer, in characters.
const textGap = 3

// Text draws the graph with box-drawing characters. Every line ends with a newline; there are no
// trailing spaces.
func (g *Graph) Text() string {
	l := g.arrange(func(lines []string) (int, int) {
		width := 0
		for _, line := range lines {
			width = max(width, utf8.RuneCountInString(line))
		}
		return width + 4, len(lines) + 2
	}, textGap)
	page := &page{width: l.width()}
	for i, layer := range l.layers {
		page.boxes(l, layer)
		if i+1 < len(l.layers) {
			page.edges(l, layer)
		}
	}
	var out strings.Builder
	for _, row := range page.rows {
		out.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return out.String()
}

// page collects rows of characters.
type page struct {
	width int
	rows  [][]rune
}

func (p *page) blank(count int) [][]rune {
	rows := make([][]rune, count)
	for i := range rows {
		rows[i] = slices.Repeat([]rune{' '}, p.width)
	}
	return rows
}

// boxes draws the nodes of a layer, and the edges that pass it.
func (p *page) boxes(l *layout, layer []int) {
	rows := p.blank(l.height(layer))
	for _, at := range layer {
		b := l.boxes[at]
		if len(b.lines) == 0 {
			for _, row := range rows {
				row[b.centre()] = stroke(up | down)
			}
			continue
		}
		b.draw(rows)
		for y := b.height; y < len(rows) && len(b.down) > 0; y++ {
			rows[y][b.centre()] = stroke(up | down)
		}
	}
	p.rows = append(p.rows, rows...)
}

// draw draws a node at the top of its layer.
func (b *box) draw(rows [][]rune) {
	for x := b.x + 1; x < b.x+b.width-1; x++ {
		rows[0][x], rows[b.height-1][x] = '─', '─'
	}
	last := b.x + b.width - 1
	rows[0][b.x], rows[0][last], rows[b.height-1][b.x], rows[b.height-1][last] = '┌', '┐', '└', '┘'
	for y, line := range b.lines {
		rows[y+1][b.x], rows[y+1][last] = '│', '│'
		copy(rows[y+1][b.x+2:], []rune(line))
	}
	if len(b.down) > 0 {
		rows[b.height-1][b.centre()] = '┬'
	}
}

// edges draws the edges below a layer. Those that bend have a row for each node that they come
// from.
func (p *page) edges(l *layout, layer []int) {
	entry := l.entries(layer)
	var bending []*box
	for _, at := range layer {
		b := l.boxes[at]
		if slices.ContainsFunc(b.down, func(to int) bool { return entry(to) != b.centre() }) {
			bending = append(bending, b)
		}
	}
	lines := make([][]int, len(bending)+1)
	for y := range lines {
		lines[y] = make([]int, p.width)
	}
	for _, at := range layer {
		b := l.boxes[at]
		track := max(0, slices.Index(bending, b))
		for _, to := range b.down {
			trace(lines, b.centre(), entry(to), track)
		}
	}
	rows := p.blank(len(lines))
	for y, line := range lines {
		for x, directions := range line {
			if directions != 0 {
				rows[y][x] = stroke(directions)
			}
		}
	}
	for _, at := range layer {
		for _, to := range l.boxes[at].down {
			if len(l.boxes[to].lines) > 0 {
				rows[len(rows)-1][entry(to)] = '▼'
			}
		}
	}
	p.rows = append(p.rows, rows...)
}

// entries returns where edges end in the layer below: in the middle of a node, or beside it where
// the line of a node that does not lead there would run into theirs.
func (l *layout) entries(layer []int) func(to int) int {
	for _, offset := range []int{0, 1, -1} {
		entry := func(to int) int {
			if b := l.boxes[to]; len(b.lines) == 0 {
				return b.centre()
			}
			return l.boxes[to].centre() + offset
		}
		if !l.ambiguous(layer, entry) {
			return entry
		}
	}
	return func(to int) int { return l.boxes[to].centre() }
}

func (l *layout) ambiguous(layer []int, entry func(to int) int) bool {
	for _, at := range layer {
		for _, other := range layer {
			for _, to := range l.boxes[other].down {
				if len(l.boxes[at].down) > 0 && entry(to) == l.boxes[at].centre() && !slices.Contains(l.boxes[at].down, to) {
					return true
				}
			}
		}
	}
	return false
}

// trace draws one edge: down to its row, along it, and down to the end.
func trace(lines [][]int, from, to, track int) {
	for y := range lines {
		x := from
		if y > track {
			x = to
		}
		if y != track || from == to {
			lines[y][x] |= up | down
		}
	}
	if from == to {
		return
	}
	low, high := min(from, to), max(from, to)
	for x := low + 1; x < high; x++ {
		lines[track][x] |= left | right
	}
	lines[track][low] |= right
	lines[track][high] |= left
	lines[track][from] |= up
	lines[track][to] |= down
}
