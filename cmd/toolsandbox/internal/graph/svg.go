package graph

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// The measures of the drawing, in pixels.
const (
	letterWidth = 7
	lineHeight  = 18
	padding     = 12
	svgGap      = 28
	layerGap    = 44
	margin      = 16
)

// SVG draws the graph as a document of its own, with a title. It can be read on light and on dark
// backgrounds.
func (g *Graph) SVG(title string) string {
	l := g.arrange(func(lines []string) (int, int) {
		width := 0
		for _, line := range lines {
			width = max(width, utf8.RuneCountInString(line))
		}
		return width*letterWidth + 2*padding, len(lines)*lineHeight + padding
	}, svgGap)
	tops := make(map[int]int)
	y := margin
	for _, layer := range l.layers {
		for _, at := range layer {
			tops[at] = y
			l.boxes[at].x += margin
			if len(l.boxes[at].lines) == 0 {
				l.boxes[at].height = l.height(layer)
			}
		}
		y += l.height(layer) + layerGap
	}
	var out strings.Builder
	width, height := l.width()+margin, max(y-layerGap, 0)+margin
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n", html.EscapeString(title))
	out.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">` +
		`<path d="M0 0 8 4 0 8z" fill="#64748b"/></marker></defs>` + "\n")
	out.WriteString(`<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">` + "\n")
	for at, b := range l.boxes {
		b.writeEdges(&out, l, tops, at)
	}
	for at, b := range l.boxes {
		b.write(&out, tops[at])
	}
	out.WriteString("</g>\n</svg>\n")
	return out.String()
}

// writeEdges writes what leads down from a box, and the line through it if it is a place where an
// edge passes.
func (b *box) writeEdges(out *strings.Builder, l *layout, tops map[int]int, at int) {
	x, y := b.centre(), tops[at]+b.height
	if len(b.lines) == 0 {
		fmt.Fprintf(out, `<path d="M%d %dV%d" fill="none" stroke="#64748b"/>`+"\n", x, tops[at], y)
	}
	for _, to := range b.down {
		end := l.boxes[to]
		bottom, arrow := tops[to], ""
		if len(end.lines) > 0 {
			arrow = ` marker-end="url(#arrow)"`
		}
		bend := (bottom - y) / 2
		fmt.Fprintf(out, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="#64748b"%s/>`+"\n",
			x, y, x, y+bend, end.centre(), bottom-bend, end.centre(), bottom, arrow)
	}
}

// write writes a node.
func (b *box) write(out *strings.Builder, top int) {
	if len(b.lines) == 0 {
		return
	}
	fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#f8fafc" stroke="#334155"/>`+"\n", b.x, top, b.width, b.height)
	for i, line := range b.lines {
		style := ""
		if i == 0 {
			style = ` font-weight="bold"`
		}
		fmt.Fprintf(out, `<text x="%d" y="%d" fill="#0f172a"%s>%s</text>`+"\n",
			b.x+padding, top+padding/2+(i+1)*lineHeight-5, style, html.EscapeString(line))
	}
}
