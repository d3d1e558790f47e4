package service

import (
	"math"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// moneyDigits rounds converted amounts to four decimals.
const moneyDigits = 1e4

// stock is a company's stock.
type stock struct {
	Symbol   string `json:"symbol"`
	Name     string `json:"name"`
	Exchange string `json:"exchange"`
	// Price and Previous, the price at the end of the day before, are hundredths of the currency.
	Price    int    `json:"price"`
	Previous int    `json:"previous"`
	Currency string `json:"currency"`
	Country  string `json:"country"`
}

// stock returns the stocks that match a query: the one with that symbol, then those whose name has
// all of its words.
func (d *data) stock(params *python.Dict) python.Value {
	query := textOf(params, "query")
	queryWords := slices.DeleteFunc(words(query), func(word string) bool {
		return slices.Contains([]string{"company", "corp", "corporation", "inc", "price", "share", "shares", "stock", "symbol"}, word)
	})
	var first, partial []python.Value
	for i := range d.stocks {
		s := &d.stocks[i]
		switch {
		case strings.EqualFold(strings.TrimSpace(query), s.Symbol) || strings.EqualFold(strings.TrimSpace(query), s.Symbol+":"+s.Exchange):
			first = append(first, s.describe())
		case s.matches(queryWords):
			partial = append(partial, s.describe())
		}
	}
	return python.DictOf(
		text("status", "OK"),
		item("data", python.DictOf(item("stock", python.List(append(first, partial...)...)))),
	)
}

// matches reports whether the name has all words.
func (s *stock) matches(queryWords []string) bool {
	stockWords := append(words(s.Name), strings.ToLower(s.Symbol))
	for _, word := range queryWords {
		if !slices.ContainsFunc(stockWords, func(other string) bool { return sameStem(word, other) }) {
			return false
		}
	}
	return len(queryWords) > 0
}

// describe returns the stock in the format of the hosted service.
func (s *stock) describe() python.Value {
	change := s.Price - s.Previous
	return python.DictOf(
		text("symbol", s.Symbol+":"+s.Exchange),
		text("name", s.Name),
		text("type", "stock"),
		item("price", hundredths(s.Price)),
		item("change", hundredths(change)),
		item("change_percent", hundredths(change*10_000/s.Previous)),
		item("previous_close", hundredths(s.Previous)),
		text("currency", s.Currency),
		text("exchange", s.Exchange),
		text("country_code", s.Country),
	)
}

// exchange converts an amount of money to another currency.
func (d *data) exchange(params *python.Dict) python.Value {
	from, to := textOf(params, "from"), textOf(params, "to")
	value := params.Value().Field("amount")
	amount, isNumber := value.Number()
	converted := amount / d.rates[from] * d.rates[to]
	if from == to {
		converted = amount
	}
	if d.rates[from] == 0 || d.rates[to] == 0 || !isNumber || math.IsNaN(converted) || math.IsInf(converted, 0) {
		return python.DictOf(item("success", python.Bool(false)))
	}
	if rounded := math.Round(converted*moneyDigits) / moneyDigits; rounded != 0 && !math.IsInf(rounded, 0) {
		converted = rounded
	}
	return python.DictOf(
		item("success", python.Bool(true)),
		item("validationMessage", python.List()),
		item("result", python.DictOf(
			text("from", from), text("to", to), item("amountToConvert", value), item("convertedAmount", python.Float(converted)),
		)),
	)
}
