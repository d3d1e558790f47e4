package view

import (
	"context"
	"io"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	"github.com/toolsandbox/toolsandbox/runs/describe"
)

// packBody is the content of the first page of a pack.
type packBody struct {
	*describe.Pack
	Tools     []packTool
	Scenarios []packScenario
}

// packTool is a tool of a pack with its arguments.
type packTool struct {
	*describe.PackTool
	Arguments []parameter.Parameter
}

// packScenario is a scenario of a pack with its page.
type packScenario struct {
	describe.PackScenario
	Path string
}

// WritePack writes the pages of a pack for its authors as files, as Viewer.Export does, and prints
// where they are. scenarios are those of the pack, with their variants. proofs: it plays their
// proofs, which takes a while.
func WritePack(ctx context.Context, dir string, pack *describe.Pack, scenarios Scenarios, proofs bool, stderr io.Writer) error {
	known, err := scenarios(ctx)
	if err != nil {
		return err
	}
	return (&Viewer{pack: pack, scenarios: known}).write(ctx, dir, proofs, stderr)
}

func (v *Viewer) packPage(p *page) {
	body := &packBody{Pack: v.pack}
	for i := range v.pack.Tools {
		t := &v.pack.Tools[i]
		arguments, _ := parameter.Read(string(t.Parameters)) // loading has read it
		body.Tools = append(body.Tools, packTool{t, arguments})
	}
	for _, s := range v.pack.Scenarios {
		shown := packScenario{PackScenario: s}
		if v.scenarios[s.Name] != nil {
			shown.Path = scenarioPath(s.Name)
		}
		body.Scenarios = append(body.Scenarios, shown)
	}
	p.template, p.Title, p.Section, p.Body = "pack", v.pack.Name, "runs", body
}

// scenarioNames are the names of the scenarios that have a page in an exported directory.
func (v *Viewer) scenarioNames() []string {
	var names []string
	seen := map[string]bool{"": true}
	add := func(name string) {
		if !seen[name] {
			seen[name], names = true, append(names, name)
		}
	}
	if v.pack != nil {
		for _, s := range v.pack.Scenarios {
			if v.scenarios[s.Name] != nil {
				add(s.Name)
			}
		}
	}
	for _, r := range v.runs {
		for i := range r.rollouts {
			add(v.shownScenario(r.rollouts[i]))
		}
	}
	return names
}

// sentence joins texts, and says none for none.
func sentence(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}
