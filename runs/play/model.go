package play

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	// minModelTimeout and maxModelTimeout are the bounds of --model-timeout; the latter is the
	// proto's.
	minModelTimeout, maxModelTimeout = time.Second, time.Hour
)

// modelOptions are the flags of model players. The provider decides what is not set.
type modelOptions struct {
	baseURL, userBaseURL string
	temperature          optional[float64]
	maxTokens            optional[int32]
	effort, userEffort   string
	budget, userBudget   optional[int32]
	timeout              optional[time.Duration]
}

func (o *modelOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.baseURL, "base-url", "", "`address` of the model server, e.g. http://localhost:8000/v1 (default: the provider's)")
	flags.StringVar(&o.userBaseURL, "user-base-url", "", "address of the model server for --user only")
	tokens := optionalInt[int32](32)
	o.temperature, o.maxTokens, o.budget, o.userBudget, o.timeout = optionalFloat(), tokens, tokens, tokens, optionalDuration()
	flags.Var(&o.temperature, "temperature", "sampling temperature of --agent, 0 to 2 (default: the provider's)")
	flags.Var(&o.maxTokens, "max-tokens", "longest answer of --agent in `tokens` (default: the provider's)")
	flags.StringVar(&o.effort, "reasoning-effort", "", "reasoning `effort` of --agent, e.g. low, medium or high (default: the provider's)")
	flags.Var(&o.budget, "thinking-budget", "thinking `tokens` of --agent, for providers that take them (default: the provider's)")
	flags.StringVar(&o.userEffort, "user-reasoning-effort", "", "reasoning effort of --user")
	flags.Var(&o.userBudget, "user-thinking-budget", "thinking tokens of --user")
	flags.Var(&o.timeout, "model-timeout", "longest time for one answer of a model, 1s to 1h (default: 100s)")
}

// apply applies the flags to their players. The error is a mistake on the command line.
func (o *modelOptions) apply(agent, user *agentgwv1.Player) error {
	if o.baseURL != "" {
		if agent.GetModel() == nil && user.GetModel() == nil {
			return process.UsageErrorf("--base-url: given, but neither --agent nor --user is a model")
		}
		for _, p := range []*agentgwv1.Player{agent, user} {
			if p.GetModel() == nil {
				continue
			}
			if err := player.SetBaseURL(p, o.baseURL); err != nil {
				return process.UsageErrorf("--base-url: %w", err)
			}
		}
	}
	if o.userBaseURL != "" {
		if err := player.SetBaseURL(user, o.userBaseURL); err != nil {
			return process.UsageErrorf("--user-base-url: %w", err)
		}
	}
	if err := o.limit(agent, user); err != nil {
		return err
	}
	if err := o.sample(agent); err != nil {
		return err
	}
	if n := o.budget.or(1); n < 1 {
		return process.UsageErrorf("--thinking-budget: %d given, expected 1 or more tokens", n)
	}
	if n := o.userBudget.or(1); n < 1 {
		return process.UsageErrorf("--user-thinking-budget: %d given, expected 1 or more tokens", n)
	}
	if err := player.SetReasoning(agent, "", o.effort, o.budget.or(0)); err != nil {
		return process.UsageErrorf("%w", err)
	}
	if err := player.SetReasoning(user, "user-", o.userEffort, o.userBudget.or(0)); err != nil {
		return process.UsageErrorf("%w", err)
	}
	return nil
}

// limit sets the players' timeout of one answer.
func (o *modelOptions) limit(players ...*agentgwv1.Player) error {
	if o.timeout.value == nil {
		return nil
	}
	timeout := *o.timeout.value
	if timeout < minModelTimeout || timeout > maxModelTimeout {
		return process.UsageErrorf("--model-timeout: %s given, expected %s to %s", timeout, minModelTimeout, maxModelTimeout)
	}
	models := 0
	for _, p := range players {
		if model := p.GetModel(); model != nil {
			model.TimeoutMs = timeout.Milliseconds()
			models++
		}
	}
	if models == 0 {
		return process.UsageErrorf("--model-timeout: given, but neither --agent nor --user is a model")
	}
	return nil
}

// sample sets the sampling of the agent's answers.
func (o *modelOptions) sample(agent *agentgwv1.Player) error {
	temperature, tokens := o.temperature.value, o.maxTokens.value
	if temperature != nil && !(*temperature >= 0 && *temperature <= 2) { // NaN is neither
		return process.UsageErrorf("--temperature: %v given, expected 0 to 2", *temperature)
	}
	if tokens != nil && *tokens < 1 {
		return process.UsageErrorf("--max-tokens: %d given, expected 1 or more", *tokens)
	}
	model := agent.GetModel()
	switch {
	case temperature == nil && tokens == nil:
		return nil
	case model == nil && temperature != nil:
		return process.UsageErrorf("--temperature: given, but --agent is not a model")
	case model == nil:
		return process.UsageErrorf("--max-tokens: given, but --agent is not a model")
	}
	model.Temperature, model.MaxTokens = temperature, o.maxTokens.or(0)
	return nil
}
