// Package phone checks phone numbers in international form, with the results and error texts of
// parse(text, None) of Python's phonenumbers 8.13.
//
// It parses the text itself, because the Go library differs there, and uses the library's numbering
// plans.
package phone

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
)

const (
	maxText    = 250 // characters of the whole text
	minDigits  = 2   // digits after the plus sign that may still be a country code alone
	noRegion   = "ZZ"
	typePrefix = "phonenumbers.phonenumberutil.NumberParseException: "
)

// Error is the reason why a text is no phone number, with the original's code.
type Error struct {
	Code int
	Text string
}

// Error returns the original's line.
func (e *Error) Error() string {
	return typePrefix + "(" + string(rune('0'+e.Code)) + ") " + e.Text
}

// Codes of Error.
const (
	CodeCountry     = 0 // no plus sign, or no country code after it
	CodeNoNumber    = 1
	CodeOnlyCountry = 2 // nothing after the country code
	CodeShort       = 3
	CodeLong        = 4
)

func newError(code int, text string) error { return &Error{Code: code, Text: text} }

// Check returns nil for a phone number in international form, else an *Error. The number may have
// text around it, punctuation, an extension, letters for digits, and the form of RFC 3966. It is
// safe for concurrent use.
func Check(number string) error {
	if utf8.RuneCountInString(number) > maxText {
		return newError(CodeLong, "The string supplied was too long to parse.")
	}
	digits, ok := plainDigits(number)
	if !ok {
		var err error
		if digits, err = parse(number); err != nil {
			return err
		}
	}
	if len(digits) <= minDigits {
		return newError(CodeOnlyCountry, "Phone number had an IDD, but after this was not long enough to be a viable phone number.")
	}
	return checkPlan("+" + digits)
}

// plainDigits returns the digits of a text that consists of a plus sign and digits.
func plainDigits(number string) (digits string, ok bool) {
	digits, ok = strings.CutPrefix(number, "+")
	if !ok || len(digits) <= minDigits {
		return "", false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return "", false
		}
	}
	return digits, true
}

// checkPlan checks the country code and the length of a number.
func checkPlan(number string) error {
	_, err := phonenumbers.Parse(number, noRegion)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, phonenumbers.ErrTooShortNSN):
		return newError(CodeShort, "The string supplied is too short to be a phone number.")
	case errors.Is(err, phonenumbers.ErrNumTooLong):
		return newError(CodeLong, "The string supplied is too long to be a phone number.")
	default:
		return newError(CodeCountry, "Could not interpret numbers after plus-sign.")
	}
}
