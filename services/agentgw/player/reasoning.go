package player

import (
	"fmt"
	"slices"
	"strings"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// leastBudget is the smallest budget that Anthropic takes.
	leastBudget = 1024
	maxBudget   = 1_000_000
	effortNone  = "none"
)

// SetReasoning says how much a model with reasoning reasons: with an effort (OpenAI, Anthropic,
// Gemini) or with a budget of tokens (Anthropic, Gemini, Cohere); "" and 0 leave it to the
// provider. The model's other settings must be there before. The error names the flag and says what
// the provider takes.
func SetReasoning(p *agentgwv1.Player, effort string, budget int32) error {
	if effort == "" && budget == 0 {
		return nil
	}
	model := p.GetModel()
	if model == nil {
		return fmt.Errorf("--reasoning-effort, --thinking-budget: given, but player %q is no model", p.GetName())
	}
	efforts, budgets := reasoning(model.GetProvider())
	switch {
	case effort != "" && len(efforts) == 0:
		return fmt.Errorf("--reasoning-effort: given, but player %q takes none%s", p.GetName(), otherwise(budgets, "; expected --thinking-budget"))
	case effort != "" && !slices.Contains(efforts, effort):
		return fmt.Errorf("--reasoning-effort: %q given, expected one of %s", effort, strings.Join(efforts, ", "))
	case budget != 0 && !budgets:
		return fmt.Errorf("--thinking-budget: given, but player %q takes none%s", p.GetName(), otherwise(len(efforts) > 0, "; expected --reasoning-effort"))
	case effort != "" && budget != 0:
		return fmt.Errorf("--reasoning-effort and --thinking-budget: both given, expected one of them")
	case budget < 0 || budget > maxBudget:
		return fmt.Errorf("--thinking-budget: %d given, expected 1 to %d tokens", budget, maxBudget)
	case model.Temperature != nil && effort != effortNone && model.GetProvider() != google && model.GetProvider() != vertex && model.GetProvider() != cohere:
		return fmt.Errorf("--temperature: given together with reasoning, which %q refuses", p.GetName())
	}
	if model.GetProvider() == anthropic && budget != 0 {
		if budget < leastBudget {
			return fmt.Errorf("--thinking-budget: %d given, expected at least %d tokens", budget, leastBudget)
		}
		if n := model.GetMaxTokens(); n != 0 && n <= budget {
			return fmt.Errorf("--max-tokens: %d given, expected more than the %d tokens of --thinking-budget, which are a part of them", n, budget)
		}
	}
	model.ReasoningEffort, model.ThinkingBudget = effort, budget
	return nil
}

// reasoning returns the efforts that a provider's models know, and whether they take a budget.
func reasoning(provider agentgwv1.Model_Provider) (efforts []string, budget bool) {
	switch provider {
	case openai, responses:
		return []string{effortNone, "minimal", "low", "medium", "high", "xhigh"}, false
	case google, vertex:
		return []string{effortNone, "minimal", "low", "medium", "high"}, true
	case anthropic:
		return []string{"low", "medium", "high", "xhigh", "max"}, true
	case cohere:
		return nil, true
	default:
		return nil, false
	}
}

func otherwise(there bool, hint string) string {
	if there {
		return hint
	}
	return ""
}
