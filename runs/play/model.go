package play

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	// minModelTimeout and maxModelTimeout are the bounds of --model-timeout; the latter is the
	// proto's.
	minModelTimeout, maxModelTimeout = time.Second, time.Hour
)

// defaultUserTokens is the longest answer of a simulated user unless the run says otherwise, its
// model reasons, or the run is compatible: a user that does not stop costs a rollout its time.
const defaultUserTokens = 2048

// modelOptions are the flags of model players. The provider decides what is not set.
type modelOptions struct {
	baseURL, userBaseURL string
	agent, user          answerOptions
	timeout              optional[time.Duration]
}

// answerOptions are the flags about the answers of one role's model.
type answerOptions struct {
	role, prefix string // of the role's flag and of the others
	temperature  optional[float64]
	maxTokens    optional[int32]
	effort       string
	budget       optional[int32]
	stop         []string
	seed         optional[int64]
}

func (o *modelOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.baseURL, "base-url", "", "`address` of the model server, e.g. http://localhost:8000/v1 (default: the provider's)")
	flags.StringVar(&o.userBaseURL, "user-base-url", "", "address of the model server for --user only")
	o.agent.role, o.user.role, o.user.prefix = "--agent", "--user", "user-"
	o.agent.register(flags, "the provider's")
	o.user.register(flags, fmt.Sprintf("%d, the provider's for a model that reasons and with --compat", defaultUserTokens))
	o.timeout = optionalDuration()
	flags.Var(&o.timeout, "model-timeout", "longest time for one answer of a model, 1s to 1h (default: 100s)")
}

func (o *answerOptions) register(flags *pflag.FlagSet, tokens string) {
	o.temperature, o.maxTokens, o.budget, o.seed = optionalFloat(), optionalInt[int32](32), optionalInt[int32](32), optionalInt[int64](64)
	flags.Var(&o.temperature, o.prefix+"temperature", "sampling temperature of "+o.role+", 0 to 2 (default: the provider's)")
	flags.Var(&o.maxTokens, o.prefix+"max-tokens", "longest answer of "+o.role+" in `tokens` (default: "+tokens+")")
	flags.StringVar(&o.effort, o.prefix+"reasoning-effort", "", "reasoning `effort` of "+o.role+", e.g. low, medium or high (default: the provider's)")
	flags.Var(&o.budget, o.prefix+"thinking-budget", "thinking `tokens` of "+o.role+", for providers that take them (default: the provider's)")
	flags.StringArrayVar(&o.stop, o.prefix+"stop", nil, "`text` at which the model of "+o.role+" ends its answer; repeatable")
	flags.Var(&o.seed, o.prefix+"model-seed", "sampling seed of the model of "+o.role+" in the first trial, one more in each later one (default: none)")
}

// apply applies the flags to their players. The error is a mistake on the command line.
func (o *modelOptions) apply(agent, user *agentgwv1.Player, compat bool) error {
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
	if err := o.agent.apply(agent); err != nil {
		return err
	}
	if err := o.user.apply(user); err != nil {
		return err
	}
	if model := user.GetModel(); model != nil && model.GetMaxTokens() == 0 && !compat && !player.Reasons(user) {
		model.MaxTokens = defaultUserTokens
	}
	return nil
}

// withoutAgent returns the options of a run whose agent is not a model.
func (o modelOptions) withoutAgent(user string) modelOptions {
	o.agent = answerOptions{role: o.agent.role, prefix: o.agent.prefix}
	if !isModelName(worldv1.Role_ROLE_USER, user) {
		o.baseURL, o.timeout.value = "", nil
	}
	return o
}

// isModelName reports whether a player's name is that of a model.
func isModelName(role worldv1.Role, name string) bool {
	p, err := player.Parse(role, name)
	return err == nil && isModel(p)
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

// apply sets how a player's model answers.
func (o *answerOptions) apply(p *agentgwv1.Player) error {
	temperature, tokens := o.temperature.value, o.maxTokens.value
	if temperature != nil && !(*temperature >= 0 && *temperature <= 2) { // NaN is neither
		return process.UsageErrorf("--%stemperature: %v given, expected 0 to 2", o.prefix, *temperature)
	}
	if tokens != nil && *tokens < 1 {
		return process.UsageErrorf("--%smax-tokens: %d given, expected 1 or more", o.prefix, *tokens)
	}
	model := p.GetModel()
	switch {
	case model == nil && temperature != nil:
		return process.UsageErrorf("--%stemperature: given, but %s is not a model", o.prefix, o.role)
	case model == nil && tokens != nil:
		return process.UsageErrorf("--%smax-tokens: given, but %s is not a model", o.prefix, o.role)
	case model != nil:
		model.Temperature, model.MaxTokens = temperature, o.maxTokens.or(0)
	}
	if n := o.budget.or(1); n < 1 {
		return process.UsageErrorf("--%sthinking-budget: %d given, expected 1 or more tokens", o.prefix, n)
	}
	if err := player.SetReasoning(p, o.prefix, o.effort, o.budget.or(0)); err != nil {
		return process.UsageErrorf("%w", err)
	}
	if err := player.SetSampling(p, o.prefix, o.stop, o.seed.value); err != nil {
		return process.UsageErrorf("%w", err)
	}
	return nil
}
