package play

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// maxDollars keeps a limit within the range of its counter.
const maxDollars = 1e9

// spendOptions are the spend limits of a run's models.
type spendOptions struct {
	tokens       optional[int64]
	dollars      optional[float64]
	requirePrice bool
}

func (o *spendOptions) register(flags *pflag.FlagSet) {
	o.tokens, o.dollars = optionalInt[int64](64), optionalFloat()
	flags.Var(&o.tokens, "spend-tokens", "`tokens` that models may use in all; --resume continues a stopped run (default: no limit)")
	flags.Var(&o.dollars, "spend-usd", "the same in US `dollars`, by the price table; the built-in one is unchecked")
	flags.BoolVar(&o.requirePrice, "require-price", false, "refuse models that the price table lacks")
}

// limit returns a sweep's spend limit, nil without one. The error is a mistake on the command line.
func (o *spendOptions) limit(spec sweep.Spec) (*agentgwv1.SpendLimit, error) {
	if n := o.tokens.or(1); n < 1 {
		return nil, process.UsageErrorf("--spend-tokens: %d given, expected 1 or more", n)
	}
	if n := o.dollars.or(maxDollars); !(n > 0 && n <= maxDollars) {
		return nil, process.UsageErrorf("--spend-usd: %v given, expected dollars, more than 0 and up to %v", n, maxDollars)
	}
	if o.tokens.value == nil && o.dollars.value == nil {
		return nil, nil
	}
	if !asksModels(spec) { // the environment's limit is for other runs
		return nil, nil
	}
	return &agentgwv1.SpendLimit{Tokens: o.tokens.or(0), CostMicros: int64(math.Ceil(o.dollars.or(0) * 1e6))}, nil
}

// checkPrices handles players that are models without a known price: it refuses them if the flags
// say so, and warns if there is a limit in dollars.
func (o *spendOptions) checkPrices(unpriced []flaggedPlayer, stderr io.Writer) error {
	if len(unpriced) == 0 {
		return nil
	}
	names := make([]string, len(unpriced))
	for i, p := range unpriced {
		names[i] = fmt.Sprintf("%s %s", p.flag, p.player.GetName())
	}
	const remedy = "--agentgw-price-file gives one"
	who := strings.Join(names, " and ")
	switch {
	case o.requirePrice:
		return process.UsageErrorf("--require-price: the price table has no price of %s: %s", who, remedy)
	case o.dollars.value == nil:
		return nil
	case o.tokens.value == nil:
		return report.Warn(stderr, "--spend-usd cannot count %s, of which the price table has no price: %s, or limit tokens with --spend-tokens", who, remedy)
	default:
		return report.Warn(stderr, "--spend-usd cannot count %s, of which the price table has no price: %s; --spend-tokens still limits it", who, remedy)
	}
}
