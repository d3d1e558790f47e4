package cli

import (
	"math"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/launch"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	// leastModelTimeout and mostModelTimeout bound the time for one request to a model; the latter is the proto's.
	leastModelTimeout, mostModelTimeout = time.Second, time.Hour
	// leastSlack is what a turn gets at least beyond the time for one request: to wait for its budget, and for what fails at once.
	leastSlack = time.Minute
	// usualModelTimeout says that no time was given.
	usualModelTimeout = time.Duration(-1)
)

// modelOptions are the flags of players that are models. What is not given is left to the provider.
type modelOptions struct {
	baseURL, userBaseURL string
	temperature          float64
	maxTokens            int32
	effort, userEffort   string
	budget, userBudget   int32
	timeout              time.Duration
}

func (o *modelOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.baseURL, "base-url", "", "where models are asked, e.g. http://localhost:8000/v1 of a local server (default: their provider's own address)")
	flags.StringVar(&o.userBaseURL, "user-base-url", "", "the same for --user only")
	flags.Float64Var(&o.temperature, "temperature", math.NaN(), "sampling temperature of --agent, 0 to 2 (default: the provider's)")
	flags.Int32Var(&o.maxTokens, "max-tokens", 0, "longest answer of --agent in tokens (default: the provider's)")
	flags.StringVar(&o.effort, "reasoning-effort", "", "how much --agent reasons, for models of OpenAI, Anthropic and Gemini that do: e.g. low, medium, high (default: the provider's)")
	flags.Int32Var(&o.budget, "thinking-budget", 0, "tokens that --agent may think for, for models of Anthropic, Gemini and Cohere that do (default: the provider's)")
	flags.StringVar(&o.userEffort, "user-reasoning-effort", "", "how much --user reasons")
	flags.Int32Var(&o.userBudget, "user-thinking-budget", 0, "tokens that --user may think for")
	flags.DurationVar(&o.timeout, "model-timeout", usualModelTimeout, "longest time for one answer of a model, 1s to 1h (default: 100s)")
	for _, name := range []string{"thinking-budget", "user-thinking-budget", "temperature", "max-tokens", "model-timeout"} {
		flags.Lookup(name).DefValue = "0" // which is not shown
	}
}

// apply gives the flags to the players that they are for. The error is a mistake on the command line.
func (o *modelOptions) apply(agent, user *agentgwv1.Player) error {
	if o.baseURL != "" {
		if agent.GetModel() == nil && user.GetModel() == nil {
			return launch.Usage("--base-url: given, but neither --agent nor --user is a model")
		}
		for _, p := range []*agentgwv1.Player{agent, user} {
			if p.GetModel() == nil {
				continue
			}
			if err := player.SetBaseURL(p, o.baseURL); err != nil {
				return launch.Usage("--base-url: %w", err)
			}
		}
	}
	if o.userBaseURL != "" {
		if err := player.SetBaseURL(user, o.userBaseURL); err != nil {
			return launch.Usage("--user-base-url: %w", err)
		}
	}
	if err := o.limit(agent, user); err != nil {
		return err
	}
	if err := o.sample(agent); err != nil {
		return err
	}
	if err := player.SetReasoning(agent, o.effort, o.budget); err != nil {
		return launch.Usage("%w", err)
	}
	if err := player.SetReasoning(user, o.userEffort, o.userBudget); err != nil {
		return launch.Usage("--user: %w", err)
	}
	return nil
}

// limit gives the players the time for one answer.
func (o *modelOptions) limit(players ...*agentgwv1.Player) error {
	switch {
	case o.timeout == usualModelTimeout:
		return nil
	case o.timeout < leastModelTimeout || o.timeout > mostModelTimeout:
		return launch.Usage("--model-timeout: %s given, expected %s to %s", o.timeout, leastModelTimeout, mostModelTimeout)
	}
	models := 0
	for _, p := range players {
		if model := p.GetModel(); model != nil {
			model.TimeoutMs = o.timeout.Milliseconds()
			models++
		}
	}
	if models == 0 {
		return launch.Usage("--model-timeout: given, but neither --agent nor --user is a model")
	}
	return nil
}

// turn is how long a turn has to be able to last, so that one answer fits into it; 0 if nothing was said about that.
func (o *modelOptions) turn() time.Duration {
	if o.timeout == usualModelTimeout {
		return 0
	}
	return o.timeout + max(leastSlack, o.timeout/5)
}

// sample gives the agent the flags about its answers.
func (o *modelOptions) sample(agent *agentgwv1.Player) error {
	model := agent.GetModel()
	if model == nil && (!math.IsNaN(o.temperature) || o.maxTokens != 0) {
		return launch.Usage("--temperature, --max-tokens: given, but --agent is no model")
	}
	if !math.IsNaN(o.temperature) {
		if o.temperature < 0 || o.temperature > 2 {
			return launch.Usage("--temperature: %v given, expected 0 to 2", o.temperature)
		}
		model.Temperature = &o.temperature
	}
	if o.maxTokens < 0 {
		return launch.Usage("--max-tokens: %d given, expected 1 or more", o.maxTokens)
	}
	if o.maxTokens > 0 {
		model.MaxTokens = o.maxTokens
	}
	return nil
}
