package cli

import (
	"math"
	"slices"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/sweep"
	"github.com/toolsandbox/toolsandbox/internal/launch"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// maxDollars keeps a limit within what can be counted.
const maxDollars = 1e9

// spendOptions are the flags that bound what the models of a run use.
type spendOptions struct {
	tokens  int64
	dollars float64
	flags   *pflag.FlagSet
}

func (o *spendOptions) register(flags *pflag.FlagSet) {
	o.flags = flags
	flags.Int64Var(&o.tokens, "spend-tokens", 0, "tokens that the models of this run may use in all; then it stops, and --resume with a higher limit goes on (default: no limit)")
	flags.Float64Var(&o.dollars, "spend-usd", 0, "the same in US dollars, by the gateway's table of prices: nobody has checked the one that is built in, see --agentgw-price-file")
}

// limit returns what the flags say for a sweep, nil if they say nothing. The error is a mistake on the command line.
func (o *spendOptions) limit(spec sweep.Spec) (*agentgwv1.SpendLimit, error) {
	tokens, dollars := o.flags.Changed("spend-tokens"), o.flags.Changed("spend-usd")
	if tokens && o.tokens < 1 {
		return nil, launch.Usage("--spend-tokens: %d given, expected 1 or more", o.tokens)
	}
	if dollars && !(o.dollars > 0 && o.dollars <= maxDollars) {
		return nil, launch.Usage("--spend-usd: %v given, expected dollars, more than 0 and up to %v", o.dollars, maxDollars)
	}
	if !tokens && !dollars {
		return nil, nil
	}
	isModel := func(p *agentgwv1.Player) bool { return p.GetModel() != nil }
	switch {
	case spec.Recording != nil:
		return nil, launch.Usage("--spend-tokens, --spend-usd: given, but with --replay no model is asked")
	case !slices.ContainsFunc(spec.Agents, isModel) && !slices.ContainsFunc(spec.Users, isModel):
		return nil, launch.Usage("--spend-tokens, --spend-usd: given, but neither --agent nor --user is a model, and what others spend is not known here")
	}
	return &agentgwv1.SpendLimit{Tokens: o.tokens, CostMicros: int64(math.Ceil(o.dollars * 1e6))}, nil
}
