package ratelimit

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
)

// Spend is an amount of tokens and of money in millionths of a US dollar. As a limit, a field of 0
// is none.
type Spend struct {
	Tokens, Micros int64
}

// limitedBy names what the limit bounds.
func (s Spend) limitedBy(limit Spend) string {
	switch {
	case limit.Micros == 0:
		return fmt.Sprintf("%d tokens", s.Tokens)
	case limit.Tokens == 0:
		return pricing.Dollars(s.Micros)
	default:
		return fmt.Sprintf("%d tokens and %s", s.Tokens, pricing.Dollars(s.Micros))
	}
}

// most is where sums stop, and mostTokens what one request is taken to use at most, whatever a
// provider says.
const (
	most       = 1 << 60
	mostTokens = 1 << 40
)

// Plus returns the sum, which stops where it would overflow.
func (s Spend) Plus(o Spend) Spend {
	return Spend{Tokens: sum(s.Tokens, o.Tokens), Micros: sum(s.Micros, o.Micros)}
}

func sum(a, b int64) int64 { return min(min(a, most)+min(b, most), most) }

func (s Spend) minus(o Spend) Spend {
	return Spend{Tokens: s.Tokens - o.Tokens, Micros: s.Micros - o.Micros}
}

// within says whether s exceeds limit in nothing.
func (s Spend) within(limit Spend) bool {
	return (limit.Tokens == 0 || s.Tokens <= limit.Tokens) && (limit.Micros == 0 || s.Micros <= limit.Micros)
}

// reaches says whether s leaves nothing of limit in something.
func (s Spend) reaches(limit Spend) bool {
	return limit.Tokens > 0 && s.Tokens >= limit.Tokens || limit.Micros > 0 && s.Micros >= limit.Micros
}

// spending is what a request is estimated to cost, and how that was computed.
type spending struct {
	Spend
	input, output int64
	priced        bool
	price         pricing.Price
}

// estimate returns what a request may cost. Where the model's price is not known only tokens count.
func estimate(prices *pricing.Table, d Request) spending {
	s := spending{input: within(d.InputTokens), output: within(d.OutputTokens)}
	s.price, s.priced = prices.Of(strings.ToLower(d.Key.Provider), d.Model)
	s.Spend = s.cost(s.input, 0, s.output)
	return s
}

// cost returns what tokens cost at the price of the estimate.
func (s spending) cost(input, cached, output int64) Spend {
	cost := Spend{Tokens: input + output}
	if s.priced {
		cost.Micros = s.price.Micros(input, cached, output)
	}
	return cost
}

// actual returns what a request did cost. What nobody says is as expected if the provider may
// charge for it.
func actual(estimate spending, expected Spend, o Outcome) Spend {
	if o.Usage == nil {
		if o.Class == Succeeded || o.Class == Abandoned || o.Charged {
			return expected
		}
		return Spend{}
	}
	return estimate.cost(within(o.Usage.GetInputTokens()), o.Usage.GetCachedTokens(), within(o.Usage.GetOutputTokens()))
}

func within(tokens int64) int64 { return min(max(tokens, 0), mostTokens) }
