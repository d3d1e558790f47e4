package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/describe"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// scenarioBody is the content of a scenario's page.
type scenarioBody struct {
	Name, Notes        string
	Categories         []string
	Goal               string
	Knowledge, Unknown []string
	Messages           []message
	Tools              []fact
	Variants           []fact
	Graphs             []*graph
	Nodes              []scenarioNode
	Tables             []worldTable
	Rollouts           []tableRow
	Compare            string
}

// scenarioNode is a milestone or minefield in words.
type scenarioNode struct {
	ID, Title   string
	Constraints []string
}

func (v *Viewer) scenarioPage(p *page, name string) error {
	scenario := v.scenarios[name]
	if scenario == nil {
		return errNoPage
	}
	setup, evaluation := scenario.GetSetup(), scenario.GetEvaluation()
	body := &scenarioBody{
		Name: name, Notes: scenario.GetNotes(), Categories: setup.GetCategories(), Goal: evaluation.GetUser().GetGoal(),
		Knowledge: evaluation.GetUser().GetKnowledge(), Unknown: evaluation.GetUser().GetUnknown(),
	}
	for i, m := range setup.GetMessages() {
		body.Messages = append(body.Messages, newMessage(i, m))
	}
	body.Tools = tools(setup.GetTools().GetAllow(), setup.GetTools().GetDeny(), setup.GetTools().GetUser())
	body.Variants = v.variants(name)
	for _, of := range []struct {
		name  string
		graph *evaluationv1.Graph
	}{{"milestone", evaluation.GetMilestones()}, {"minefield", evaluation.GetMinefields()}} {
		var cards []node
		for i, n := range of.graph.GetNodes() {
			id := fmt.Sprintf("%s-%d", of.name, i)
			cards = append(cards, node{ID: "#" + id, State: fmt.Sprintf("%d constraints", len(n.GetConstraints()))})
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
	p.template, p.Title, p.Section, p.Body = "scenario", name, "scenario", body
	p.Over = []link{{"rollouts", "rollouts.html"}}
	return nil
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

// variants are the played variants of a scenario, with what they change of the tools that the agent
// sees.
func (v *Viewer) variants(name string) []fact {
	changes := make(map[string]string)
	for _, r := range v.runs {
		for i := range r.rollouts {
			rollout := &r.rollouts[i]
			if v.shownScenario(*rollout) != name || v.scenarios[rollout.Scenario] == nil {
				continue
			}
			var names []string
			for _, a := range v.scenarios[rollout.Scenario].GetSetup().GetTools().GetAugmentations() {
				names = append(names, strings.ToLower(strings.TrimPrefix(a.String(), form.AugmentationPrefix)))
			}
			changes[rollout.Variant] = cmp.Or(strings.Join(names, ", "), "the tools above")
		}
	}
	var facts []fact
	for _, variant := range slices.Sorted(maps.Keys(changes)) {
		facts = append(facts, fact{variant, changes[variant]})
	}
	return facts
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
