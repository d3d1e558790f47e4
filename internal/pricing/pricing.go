// Package pricing computes the cost of a model's tokens from a table of list prices. It is pure
// except for Load.
package pricing

import (
	_ "embed" // for the table that is built in
	"fmt"
	"math"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

//go:embed price.yaml
var builtin []byte

const (
	// maxPrice is the highest accepted price per million tokens.
	maxPrice = 1e6
	// maxMicros bounds an amount so that sums of millions of them do not overflow.
	maxMicros = 1 << 40
)

// Price is in US dollars per million tokens, which equals millionths of a dollar per token.
type Price struct {
	// Input is the price of request tokens.
	Input float64
	// Cached is the price of cached request tokens. Nil means Input.
	Cached *float64
	// Output is the price of answer tokens, including reasoning.
	Output float64
}

// Table holds prices by provider and model. It is immutable and safe for concurrent use.
type Table struct {
	models map[string]map[string]Price
}

// Load reads the table in a file, or the built-in one if path is empty. The error is one line: the
// file, the line, the field and what was expected.
func Load(path string) (*Table, error) {
	if path == "" {
		return decode("built-in prices", builtin)
	}
	raw, err := bom.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	return decode(path, raw)
}

// Lookup returns the price of a provider's model, false if it is unknown. provider is the word in
// player names. A table name that ends with * matches all models with that prefix; the longest
// match counts.
func (t *Table) Lookup(provider, model string) (Price, bool) {
	models := t.models[provider]
	if found, ok := models[model]; ok {
		return found, true
	}
	for n := len(model); n >= 0; n-- {
		if found, ok := models[model[:n]+"*"]; ok {
			return found, true
		}
	}
	return Price{}, false
}

// Micros returns the cost of tokens in millionths of a dollar, rounded up. input includes the
// cached tokens.
func (p Price) Micros(input, cached, output int64) int64 {
	input, output = max(input, 0), max(output, 0)
	cached = min(max(cached, 0), input)
	sum := math.Ceil(float64(input-cached)*p.Input + float64(cached)*p.cached() + float64(output)*p.Output)
	return int64(min(sum, maxMicros))
}

func (p Price) cached() float64 {
	if p.Cached == nil {
		return p.Input
	}
	return *p.Cached
}

// HasTokens reports whether a provider reported the tokens of a request. No request has zero
// tokens.
func HasTokens(u *agentgwv1.Usage) bool { return u.GetInputTokens() > 0 || u.GetOutputTokens() > 0 }

// FormatDollars formats an amount for people, e.g. $0.12. Amounts below a cent keep two significant
// digits.
func FormatDollars(micros int64) string {
	dollars := float64(micros) / 1e6
	if micros <= 0 || dollars >= 0.01 {
		return fmt.Sprintf("$%.2f", dollars)
	}
	return "$" + strings.TrimRight(fmt.Sprintf("%.6f", dollars), "0")
}
