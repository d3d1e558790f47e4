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

// SetReasoning sets how much a model reasons: by an effort (OpenAI, Anthropic, Gemini) or a token
// budget (Anthropic, Gemini, Cohere). "" and 0 leave it to the provider. Call it after the model's
// other settings. The error names the flag and the values that the provider takes.
func SetReasoning(p *agentgwv1.Player, effort string, budget int32) error {
	if effort == "" && budget == 0 {
		return nil
	}
	model := p.GetModel()
	if model == nil {
		return fmt.Errorf("--reasoning-effort, --thinking-budget: given, but player %q is no model", p.GetName())
	}
	accepted := provider.Reasoning{}
	if spec, ok := providers.Named(providers.All(nil), model.GetProvider()); ok {
		accepted = spec.Reasoning
	}
	switch {
	case effort != "" && len(accepted.Efforts) == 0:
		return fmt.Errorf("--reasoning-effort: given, but player %q takes none%s", p.GetName(), hintIf(accepted.Budget, "; expected --thinking-budget"))
	case effort != "" && !slices.Contains(accepted.Efforts, effort):
		return fmt.Errorf("--reasoning-effort: %q given, expected one of %s", effort, strings.Join(accepted.Efforts, ", "))
	case budget != 0 && !accepted.Budget:
		return fmt.Errorf("--thinking-budget: given, but player %q takes none%s", p.GetName(), hintIf(len(accepted.Efforts) > 0, "; expected --reasoning-effort"))
	case effort != "" && budget != 0:
		return fmt.Errorf("--reasoning-effort and --thinking-budget: both given, expected one of them")
	case budget < 0 || budget > maxBudget:
		return fmt.Errorf("--thinking-budget: %d given, expected 1 to %d tokens", budget, maxBudget)
	case model.Temperature != nil && effort != effortNone && !accepted.Temperature:
		return fmt.Errorf("--temperature: given together with reasoning, which %q refuses", p.GetName())
	case budget != 0 && budget < accepted.MinBudget:
		return fmt.Errorf("--thinking-budget: %d given, expected at least %d tokens", budget, accepted.MinBudget)
	case budget != 0 && accepted.BudgetInAnswer && model.GetMaxTokens() != 0 && model.GetMaxTokens() <= budget:
		return fmt.Errorf("--max-tokens: %d given, expected more than the %d tokens of --thinking-budget, which are a part of them", model.GetMaxTokens(), budget)
	}
	model.ReasoningEffort, model.ThinkingBudget = effort, budget
	return nil
}

func hintIf(there bool, hint string) string {
	if there {
		return hint
	}
	return ""
}
