// Package currency lists the currencies that convert_currency accepts: those of the Python package
// ccy 1.3.1.
package currency

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// codes are the accepted codes, ascending.
var codes = [...]string{
	"AED", "ARS", "AUD", "BGN", "BMD", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK",
	"EGP", "EUR", "GBP", "HKD", "HRK", "HUF", "IDR", "ILS", "INR", "JMD", "JPY", "KRW", "KZT",
	"MXN", "MYR", "NGN", "NOK", "NZD", "PEN", "PHP", "PLN", "QAR", "RON", "RUB", "SAR", "SEK",
	"SGD", "THB", "TRY", "TTD", "TWD", "UAH", "USD", "VND", "XBT", "ZAR",
}

// Valid reports whether a text is the code of an accepted currency, in upper or lower case. It is
// safe for concurrent use.
func Valid(code string) bool {
	_, found := slices.BinarySearch(codes[:], strings.ToUpper(code))
	return found
}

// Check returns the original's ValueError for a text that is not Valid. It is safe for concurrent
// use.
func Check(code string) error {
	if Valid(code) {
		return nil
	}
	return &python.Exception{Type: "ValueError", Text: code + " is not a known 3 letter ISO 4217 currency code"}
}
