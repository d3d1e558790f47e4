// Package phone says whether a text is a phone number in international form, with the verdicts and
// error texts of Python's phonenumbers 8.13 for parse(text, None).
//
// It reads the text itself, because the readings of the Go library differ there, and leaves the
// numbering plans to the library.
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

// Error is a reason to refuse a text, by the number that the original gives it.
type Error struct {
	Code int
	Text string
}

// Error returns the line that the original answers.
func (e *Error) Error() string {
	return typePrefix + "(" + string(rune('0'+e.Code)) + ") " + e.Text
}

// Codes of Error.
const (
	CodeCountry  = 0 // no plus sign, or no country code after it
	CodeNoNumber = 1
	CodeNoRest   = 2 // nothing after the country code
	CodeShort    = 3
	CodeLong     = 4
)

func refuse(code int, text string) error { return &Error{Code: code, Text: text} }

// Check returns nil for a phone number in international form, else an *Error. The text may have
// other text around the number, punctuation, an extension, letters for digits, and the form of RFC
// 3966. It is safe for concurrent use.
func Check(number string) error {
	if utf8.RuneCountInString(number) > maxText {
		return refuse(CodeLong, "The string supplied was too long to parse.")
	}
	digits, ok := plain(number)
	if !ok {
		var err error
		if digits, err = read(number); err != nil {
			return err
		}
	}
	if len(digits) <= minDigits {
		return refuse(CodeNoRest, "Phone number had an IDD, but after this was not long enough to be a viable phone number.")
	}
	return checkPlan("+" + digits)
}

// plain returns the digits of a text that is a plus sign and digits only.
func plain(number string) (digits string, ok bool) {
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

// checkPlan checks country code and length of a plus sign and digits.
func checkPlan(number string) error {
	_, err := phonenumbers.Parse(number, noRegion)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, phonenumbers.ErrTooShortNSN):
		return refuse(CodeShort, "The string supplied is too short to be a phone number.")
	case errors.Is(err, phonenumbers.ErrNumTooLong):
		return refuse(CodeLong, "The string supplied is too long to be a phone number.")
	default:
		return refuse(CodeCountry, "Could not interpret numbers after plus-sign.")
	}
}
