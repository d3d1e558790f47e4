package governor

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/price"
)

// Spend is an amount of tokens and of money in millionths of a US dollar. As a limit, a field of 0 is none.
type Spend struct {
	Tokens int64 `json:"tokens,omitempty"`
	Micros int64 `json:"micros,omitempty"`
}

// String names what is not 0.
func (s Spend) String() string {
	if s.Micros == 0 {
		return fmt.Sprintf("%d tokens", s.Tokens)
	}
	return fmt.Sprintf("%d tokens and %s", s.Tokens, price.Dollars(s.Micros))
}

func (s Spend) plus(o Spend) Spend {
	return Spend{Tokens: s.Tokens + o.Tokens, Micros: s.Micros + o.Micros}
}
func (s Spend) minus(o Spend) Spend {
	return Spend{Tokens: s.Tokens - o.Tokens, Micros: s.Micros - o.Micros}
}

// within says whether s exceeds limit in nothing.
func (s Spend) within(limit Spend) bool {
	return (limit.Tokens == 0 || s.Tokens <= limit.Tokens) && (limit.Micros == 0 || s.Micros <= limit.Micros)
}

// spending is what a request is estimated to cost, or did cost, and how that was computed.
type spending struct {
	Spend
	priced bool
	price  price.Price
}

// estimate returns what a request may cost. Where the model's price is not known only tokens count.
func (g *Governor) estimate(d Demand) spending {
	input, output := max(d.InputTokens, 0), max(d.OutputTokens, 0)
	s := spending{Spend: Spend{Tokens: input + output}}
	if s.price, s.priced = g.prices.Of(strings.ToLower(d.Key.Provider), d.Model); s.priced {
		s.Micros = s.price.Micros(input, 0, output)
	}
	return s
}

// actual returns what a request did cost. What nobody says is as estimated if the request may have been answered.
func actual(estimate spending, o Outcome) Spend {
	if o.Usage == nil {
		if o.Class == Succeeded || o.Class == Abandoned {
			return estimate.Spend
		}
		return Spend{}
	}
	input, cached, output := max(o.Usage.GetInputTokens(), 0), o.Usage.GetCachedTokens(), max(o.Usage.GetOutputTokens(), 0)
	s := Spend{Tokens: input + output}
	if estimate.priced {
		s.Micros = estimate.price.Micros(input, cached, output)
	}
	return s
}
