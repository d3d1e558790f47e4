package play

import (
	"testing"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// TestWantsFloors plays floors beside models and programs, where they are few, and where they are
// asked for.
func TestWantsFloors(t *testing.T) {
	model := &agentgwv1.Player{Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{}}}
	program := &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{}}}
	idle := &agentgwv1.Player{Kind: &agentgwv1.Player_Unhelpful{}}
	of := func(agent, user *agentgwv1.Player, scenarios int) sweep.Spec {
		return sweep.Spec{Agents: []*agentgwv1.Player{agent}, Users: []*agentgwv1.Player{user}, Scenarios: make([]*scenariov1.Scenario, scenarios)}
	}
	record := of(model, idle, 0)
	record.Scenarios = []*scenariov1.Scenario{{Evaluation: &evaluationv1.Evaluation{FunctionCalling: &evaluationv1.FunctionCalling{}}}}
	compat := of(model, idle, 1)
	compat.Compat = true
	for name, test := range map[string]struct {
		spec         sweep.Spec
		given        string
		wanted, hint bool
	}{
		"a model":              {of(model, idle, 400), "", true, false},
		"a program":            {of(program, idle, 1), "", true, false},
		"a model as the user":  {of(idle, model, 1), "", true, false},
		"no model":             {of(idle, idle, 1), "", false, false},
		"no model, asked for":  {of(idle, idle, 1), "true", true, false},
		"many":                 {of(model, idle, 401), "", false, true},
		"many, asked for":      {of(model, idle, 401), "true", true, false},
		"many, not wanted":     {of(model, idle, 401), "false", false, false},
		"not wanted":           {of(model, idle, 1), "false", false, false},
		"compat":               {compat, "", false, false},
		"a record of EuroEval": {record, "true", false, false},
	} {
		o := &Options{floors: optionalBool()}
		if test.given != "" {
			if err := o.floors.Set(test.given); err != nil {
				t.Fatal(err)
			}
		}
		if wanted, hint := o.wantsFloors(test.spec); wanted != test.wanted || hint != test.hint {
			t.Errorf("%s: got %t and hint %t, want %t and %t", name, wanted, hint, test.wanted, test.hint)
		}
	}
}
