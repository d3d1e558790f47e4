package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/describe"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/form"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// scenarioBody is the content of a scenario's page.
type scenarioBody struct {
	Name, Notes        string
	Categories         []string
	Goal               string
	Knowledge, Unknown []string
	Messages           []message
	Tools              []fact
	Variants           []variantRow
	Graphs             []*graph
	Nodes              []scenarioNode
	Tables             []worldTable
	Rollouts           []tableRow
	Compare            string
	// Proof is the page of the proof, empty without, ProofCommand the command that plays it.
	Proof, ProofCommand string
}

// scenarioNode is a milestone or minefield in words.
type scenarioNode struct {
	ID, Title   string
	Constraints []string
}

func (v *Viewer) scenarioPage(p *page, name string) error {
	shown := v.scenarios[name]
	if shown == nil {
		return errNoPage
	}
	setup, evaluation := shown.GetSetup(), shown.GetEvaluation()
	body := &scenarioBody{
		Name: name, Notes: shown.GetNotes(), Categories: setup.GetCategories(), Goal: evaluation.GetUser().GetGoal(),
		Knowledge: evaluation.GetUser().GetKnowledge(), Unknown: evaluation.GetUser().GetUnknown(),
	}
	for i, m := range setup.GetMessages() {
		body.Messages = append(body.Messages, newMessage(i, m))
	}
	body.Tools = tools(setup.GetTools().GetAllow(), setup.GetTools().GetDeny(), setup.GetTools().GetUser())
	body.Variants = v.variants(name, p.Static)
	for _, of := range []struct {
		name  string
		graph *evaluationv1.Graph
	}{{"milestone", evaluation.GetMilestones()}, {"minefield", evaluation.GetMinefields()}} {
		var cards []node
		for i, n := range of.graph.GetNodes() {
			id := fmt.Sprintf("%s-%d", of.name, i)
			cards = append(cards, node{ID: "#" + id, State: constraints(len(n.GetConstraints()))})
			body.Nodes = append(body.Nodes, scenarioNode{id, of.name + " " + explain.Title(int32(i), n.GetName()), describe.Constraints(of.graph, n, setup)})
		}
		if drawn := draw(strings.ToUpper(of.name[:1])+of.name[1:]+"s", of.graph, cards); drawn != nil {
			body.Graphs = append(body.Graphs, drawn)
		}
	}
	for _, shape := range world.SchemaOrBuiltin(setup.GetSchema()).StoredTables() {
		if t := newWorldTable(shape, setup.GetTables(), 0); len(t.Rows) > 0 {
			body.Tables = append(body.Tables, t)
		}
	}
	for _, r := range v.runs {
		for i := range r.rollouts {
			if v.shownScenario(r.rollouts[i]) == name {
				body.Rollouts = append(body.Rollouts, newTableRow(played{r, &r.rollouts[i], i}, "", false, nil))
			}
		}
	}
	if p.Compared {
		body.Compare = comparePath(name)
	}
	body.ProofCommand = proofCommand(name)
	if v.provable(name) {
		body.Proof = proofPath(name, p.Static)
	}
	p.template, p.Title, p.Section, p.Body = "scenario", name, "scenario", body
	p.Over = []link{{"rollouts", "rollouts.html"}}
	if v.pack != nil {
		p.Over = []link{{"pack " + v.pack.Name, "index.html"}}
	}
	return nil
}

func constraints(n int) string {
	if n == 1 {
		return "1 constraint"
	}
	return fmt.Sprintf("%d constraints", n)
}

// shownScenario is the scenario whose page a rollout belongs to: the base of a variant. It is empty
// if the catalogue does not have it.
func (v *Viewer) shownScenario(rollout analysis.Rollout) string {
	for _, name := range []string{rollout.Base, rollout.Scenario} {
		if v.scenarios[name] != nil {
			return name
		}
	}
	return ""
}

// plainVariant is the variant of a base scenario.
const plainVariant = "plain"

// variantRow is a variant of a scenario, with what it changes and the page of its tools.
type variantRow struct{ Name, Text, Path string }

// variants are the variants of a scenario, the plain one first.
func (v *Viewer) variants(name string, static bool) []variantRow {
	var rows []variantRow
	for other := range v.scenarios {
		if base := scenario.BaseName(other); base != name {
			continue
		}
		var names []string
		for _, a := range v.scenarios[other].GetSetup().GetTools().GetAugmentations() {
			names = append(names, strings.ToLower(strings.TrimPrefix(a.String(), form.AugmentationPrefix)))
		}
		variant := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(other, name), "_"), plainVariant)
		rows = append(rows, variantRow{variant, cmp.Or(strings.Join(names, ", "), "the tools above"), subPath(scenarioPath(name), "tools", variant, static)})
	}
	slices.SortFunc(rows, func(a, b variantRow) int {
		return cmp.Or(cmp.Compare(order01(a.Name != plainVariant), order01(b.Name != plainVariant)), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// toolsBody is the content of the page with the tools of a variant.
type toolsBody struct{ Tools []shownTool }

// shownTool is a tool as the agent sees it.
type shownTool struct {
	Name, Description string
	// Known is its name in the world if the agent sees another one.
	Known     string
	Arguments []parameter.Parameter
}

// toolsPage fills the page with the tools that the agent sees in a variant of a scenario.
func (v *Viewer) toolsPage(p *page, name, variant string) error {
	played := v.scenarios[name+"_"+variant]
	if variant == plainVariant {
		played = v.scenarios[name]
	}
	if played == nil {
		return errNoPage
	}
	tools, err := toolhost.AgentTools(played.GetSetup())
	if err != nil {
		return fmt.Errorf("tools of %s: %w", name, err)
	}
	body := &toolsBody{}
	for _, t := range tools {
		shown := shownTool{Name: t.GetName(), Description: t.GetDescription()}
		if t.GetExecutionName() != t.GetName() {
			shown.Known = t.GetExecutionName()
		}
		if shown.Arguments, err = parameter.Read(t.GetParametersJson()); err != nil {
			return fmt.Errorf("tool %s: %w", t.GetName(), err)
		}
		body.Tools = append(body.Tools, shown)
	}
	p.template, p.Title, p.Section, p.Body = "tools", name+": tools, "+strings.ReplaceAll(variant, "_", " "), "scenario", body
	p.Over = []link{{name, scenarioPath(name)}}
	return nil
}

// tools are the lists of tools of a scenario.
func tools(allow, deny, user []string) []fact {
	list := []fact{{"tools", "all"}}
	if len(allow) > 0 {
		list[0].Text = strings.Join(allow, ", ")
	}
	if len(deny) > 0 {
		list = append(list, fact{"without", strings.Join(deny, ", ")})
	}
	if len(user) > 0 {
		list = append(list, fact{"the user's own", strings.Join(user, ", ")})
	}
	return list
}

// scenarioRollouts returns the first trial of a scenario in each run, nil for a run without one.
func (v *Viewer) scenarioRollouts(name string) []*analysis.Rollout {
	firsts := make([]*analysis.Rollout, len(v.runs))
	for i, r := range v.runs {
		for at := range r.rollouts {
			if r.rollouts[at].Scenario == name {
				firsts[i] = &r.rollouts[at]
				break
			}
		}
	}
	return firsts
}
