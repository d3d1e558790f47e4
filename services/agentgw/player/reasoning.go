package player

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	maxBudget  = 1_000_000
	effortNone = "none"
)

// SetReasoning sets how much a model reasons: by an effort or by a token budget, as its provider
// takes it. "" and 0 leave it to the provider. Call it after the model's other settings. The error
// names the flag, whose name begins with prefix, and the values that the provider takes.
func SetReasoning(p *agentgwv1.Player, prefix, effort string, budget int32) error {
	if effort == "" && budget == 0 {
		return nil
	}
	effortFlag, budgetFlag := "--"+prefix+"reasoning-effort", "--"+prefix+"thinking-budget"
	model := p.GetModel()
	switch {
	case model == nil && effort != "":
		return fmt.Errorf("%s: given, but player %q is no model", effortFlag, p.GetName())
	case model == nil:
		return fmt.Errorf("%s: given, but player %q is no model", budgetFlag, p.GetName())
	}
	accepted := provider.Reasoning{}
	if spec, ok := providers.Named(providers.All(nil), model.GetProvider()); ok {
		accepted = spec.Reasoning
	}
	switch {
	case effort != "" && len(accepted.Efforts) == 0:
		return fmt.Errorf("%s: given, but player %q takes none%s", effortFlag, p.GetName(), hintIf(accepted.Budget, "; expected "+budgetFlag))
	case effort != "" && !slices.Contains(accepted.Efforts, effort):
		return fmt.Errorf("%s: %q given, expected one of %s", effortFlag, effort, strings.Join(accepted.Efforts, ", "))
	case budget != 0 && !accepted.Budget:
		return fmt.Errorf("%s: given, but player %q takes none%s", budgetFlag, p.GetName(), hintIf(len(accepted.Efforts) > 0, "; expected "+effortFlag))
	case effort != "" && budget != 0:
		return fmt.Errorf("%s and %s: both given, expected one of them", effortFlag, budgetFlag)
	case budget < 0 || budget > maxBudget:
		return fmt.Errorf("%s: %d given, expected 1 to %d tokens", budgetFlag, budget, maxBudget)
	case model.Temperature != nil && effort != effortNone && !accepted.Temperature:
		return fmt.Errorf("--"+prefix+"temperature: given together with reasoning, which %q refuses", p.GetName())
	case budget != 0 && budget < accepted.MinBudget:
		return fmt.Errorf("%s: %d given, expected at least %d tokens", budgetFlag, budget, accepted.MinBudget)
	case budget != 0 && accepted.BudgetInAnswer && model.GetMaxTokens() != 0 && model.GetMaxTokens() <= budget:
		return fmt.Errorf("--"+prefix+"max-tokens: %d given, expected more than the %d tokens of %s, which are a part of them", model.GetMaxTokens(), budget, budgetFlag)
	}
	model.ReasoningEffort, model.ThinkingBudget = effort, budget
	return nil
}

// Reasons reports whether a model is known to reason with its settings. Call it after SetReasoning.
func Reasons(p *agentgwv1.Player) bool {
	spec, ok := providers.Named(providers.All(nil), p.GetModel().GetProvider())
	return ok && spec.Reasoning.Reasons(p.GetModel())
}

func hintIf(there bool, hint string) string {
	if there {
		return hint
	}
	return ""
}
