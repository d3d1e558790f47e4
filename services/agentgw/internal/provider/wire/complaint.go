package wire

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxExcerpt bounds how much of an error's body is kept.
const maxExcerpt = 300

// noCredit are the codes and types with which OpenAI, Anthropic and servers like theirs say that an account has no credit left. Google's
// RESOURCE_EXHAUSTED is not among them: it names quotas that come back by themselves.
var noCredit = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}

// lowBalance is how Anthropic says so, in a status and a type that stand for all kinds of mistakes.
const lowBalance = "credit balance is too low"

// complaint is what the body of an error says.
type complaint struct {
	// text is its message where it has the usual form, else all of it.
	text string
	// code and kind are words for programs; empty if it has none.
	code, kind string
	// delay is how long it asks to wait, 0 if it does not say.
	delay time.Duration
}

// readComplaint reads the body of an error, whatever it is.
func readComplaint(raw []byte) complaint {
	said := complaint{text: string(raw)}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		raw = list[0] // Google's, at its address for clients of OpenAI
	}
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"` // Cohere has it here
	}
	if json.Unmarshal(raw, &body) != nil || len(body.Error) == 0 {
		said.text = cmp.Or(body.Message, said.text)
		return said
	}
	var described struct {
		Message string `json:"message"`
		Code    any    `json:"code"` // a number from Google
		Type    any    `json:"type"`
		Details []struct {
			RetryDelay string `json:"retryDelay"` // of Google's RetryInfo, e.g. 34.07s
		} `json:"details"`
	}
	var plain string
	switch err := json.Unmarshal(body.Error, &described); {
	case err == nil || described.Message != "":
		if described.Message != "" {
			said.text = described.Message
		}
		said.code, _ = described.Code.(string)
		said.kind, _ = described.Type.(string)
	case json.Unmarshal(body.Error, &plain) == nil:
		said.text = plain
	}
	for _, detail := range described.Details {
		if asked, err := time.ParseDuration(detail.RetryDelay); err == nil && asked > 0 {
			said.delay = seconds(asked.Seconds())
		}
	}
	return said
}

// unpaid says whether the account has no credit left.
func (c complaint) unpaid(status int) bool {
	return status == http.StatusPaymentRequired || slices.Contains(noCredit, c.code) || slices.Contains(noCredit, c.kind) ||
		status == http.StatusBadRequest && strings.Contains(c.text, lowBalance)
}

// excerpt returns the beginning of a text on one line. The key goes before anything is cut, so that no part of it is left.
func excerpt(text, secret string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if secret != "" {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	if text == "" {
		return "no details"
	}
	if len(text) > maxExcerpt {
		cut := maxExcerpt
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}
