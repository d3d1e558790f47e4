package view

import (
	"html/template"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// templates are parsed once. Each file has the templates of a page, layout.html what they share.
var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"add": func(a, b int) int { return a + b }, "decimal": decimal, "number": explain.Number, "signed": output.Signed, "score": scoreOf,
		"words": func(name string) string { return strings.ReplaceAll(name, "_", " ") },
		"local": localPath, "graphAt": graphAt, "section": newSection, "states": states, "sorts": sorts,
		"scores": func(p *page, rows []scoreRow, title string) any {
			return struct {
				Root, Title string
				Rows        []scoreRow
			}{p.Root, title, rows}
		},
		"tablerow": func(p *page, row tableRow) any {
			return struct {
				Root string
				Row  tableRow
			}{p.Root, row}
		},
		"sentence": sentence,
		"runs":     func(p *page) []*run { return p.runs },
	}).ParseFS(files, "page/*.html")
})

// scoreOf is scoreClass of a number or of a pointer to one.
func scoreOf(similarity any) string {
	switch s := similarity.(type) {
	case float64:
		return scoreClass(s)
	case *float64:
		return scoreClass(*s)
	}
	return "none"
}

// localPath is a path below the root, or a fragment of the same page.
func localPath(root, path string) string {
	if strings.HasPrefix(path, "#") {
		return path
	}
	return root + path
}

// graphAt is a graph whose boxes lead to where a page can go.
func graphAt(root string, g *graph) *graph {
	drawn := *g
	drawn.Boxes = nil
	for _, b := range g.Boxes {
		b.Target = localPath(root, b.Target)
		drawn.Boxes = append(drawn.Boxes, b)
	}
	return &drawn
}

// section is a link of the header.
type section struct {
	Root, Text, Path string
	Current          bool
}

func newSection(p *page, name, text, path string) section {
	return section{p.Root, text, path, p.Section == name}
}

func states() []fact {
	return []fact{{statePassed, "passed"}, {stateFailed, "not passed"}, {statePartial, "between 0 and 1"}, {stateZero, "0"}, {stateNone, "no score"}}
}

func sorts() []fact {
	var all []fact
	for _, name := range []string{"score", "turns", "calls", "seconds"} {
		all = append(all, fact{name, name + ", rising"}, fact{"-" + name, name + ", falling"})
	}
	return all
}
