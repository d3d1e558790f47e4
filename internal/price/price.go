// Package price says what the tokens of a model cost, from a table of list prices. It is pure but for reading a table of the user's own.
package price

import (
	_ "embed" // for the table that is built in
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed price.yaml
var builtin []byte

const (
	// dearest is the highest price per million tokens that is taken for one.
	dearest = 1e6
	// most keeps sums of a few amounts from overflowing.
	most = 1 << 60
)

// Price is in US dollars per million tokens, that is, millionths of a dollar per token.
type Price struct {
	// Input is for tokens of the request.
	Input float64 `yaml:"input"`
	// Cached is for those of them that came from a cache; nil means Input.
	Cached *float64 `yaml:"cached"`
	// Output is for tokens of the answer, those of its reasoning included.
	Output float64 `yaml:"output"`
}

// Table holds prices by provider and model. It does not change and is safe for concurrent use.
type Table struct {
	// Source says where the prices are from, Date when they held.
	Source, Date string
	models       map[string]map[string]Price
}

// Load reads the table in a file, the built-in one if path is empty. An error names the file and what was expected.
func Load(path string) (*Table, error) {
	if path == "" {
		return decode("built-in prices", builtin)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	return decode(path, raw)
}

func decode(name string, raw []byte) (*Table, error) {
	var read struct {
		Source string                      `yaml:"source"`
		Date   string                      `yaml:"date"`
		Models map[string]map[string]Price `yaml:"models"`
	}
	if err := yaml.UnmarshalWithOptions(raw, &read, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if read.Source == "" || read.Date == "" {
		return nil, fmt.Errorf("%s: source or date missing, expected both: prices change", name)
	}
	for provider, models := range read.Models {
		for model, price := range models {
			for _, amount := range []float64{price.Input, price.cached(), price.Output} {
				if !(amount >= 0 && amount <= dearest) {
					return nil, fmt.Errorf("%s: models.%s.%s: %v given, expected dollars per million tokens from 0", name, provider, model, amount)
				}
			}
		}
	}
	return &Table{Source: read.Source, Date: read.Date, models: read.Models}, nil
}

// Of returns the price of a provider's model, false if it is not known. The provider is the word for it in player names. A name in the
// table that ends with * stands for all models that begin so; the longest one counts.
func (t *Table) Of(provider, model string) (Price, bool) {
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

// Micros returns what tokens cost in millionths of a dollar, rounded up. Cached tokens are among those of the input.
func (p Price) Micros(input, cached, output int64) int64 {
	input, output = max(input, 0), max(output, 0)
	cached = min(max(cached, 0), input)
	sum := math.Ceil(float64(input-cached)*p.Input + float64(cached)*p.cached() + float64(output)*p.Output)
	return int64(min(sum, most))
}

func (p Price) cached() float64 {
	if p.Cached == nil {
		return p.Input
	}
	return *p.Cached
}

// Dollars returns an amount for people, e.g. $0.12; what is less than a cent keeps two digits that say something.
func Dollars(micros int64) string {
	dollars := float64(micros) / 1e6
	if micros <= 0 || dollars >= 0.01 {
		return fmt.Sprintf("$%.2f", dollars)
	}
	return "$" + strings.TrimRight(fmt.Sprintf("%.6f", dollars), "0")
}
