package provider

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// StatusOverloaded is the HTTP status of providers without capacity. Package net/http does not name
// it.
const StatusOverloaded = 529

// ErrorWords are the words of a provider's errors.
type ErrorWords struct {
	// Statuses are the HTTP statuses that codes and types of errors imply. http.StatusPaymentRequired
	// stands for an account without credit.
	Statuses map[string]int
	// NoCredit are parts of messages about an account without credit, for errors whose code and type
	// do not say so.
	NoCredit []string
}

// Status returns the HTTP status that an error's code or type implies, 0 if none does.
func (w ErrorWords) Status(code, kind string) int { return cmp.Or(w.Statuses[code], w.Statuses[kind]) }

// IsNoCredit reports whether an error says that the account has no credit left.
func (w ErrorWords) IsNoCredit(code, kind, message string) bool {
	return w.Statuses[code] == http.StatusPaymentRequired || w.Statuses[kind] == http.StatusPaymentRequired ||
		slices.ContainsFunc(w.NoCredit, func(part string) bool { return strings.Contains(message, part) })
}

// MergeErrorWords returns the words of all lists. No code has two statuses.
func MergeErrorWords(lists ...ErrorWords) ErrorWords {
	merged := ErrorWords{Statuses: make(map[string]int)}
	for _, list := range lists {
		maps.Copy(merged.Statuses, list.Statuses)
		merged.NoCredit = append(merged.NoCredit, list.NoCredit...)
	}
	return merged
}
