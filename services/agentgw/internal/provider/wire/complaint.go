package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const (
	// maxExcerpt bounds how much of an error's body is kept.
	maxExcerpt = 300
	// noDetails stands for an empty one.
	noDetails = "no details"
)

// noCredit are the codes and types with which providers say that an account has no credit left.
// Google's RESOURCE_EXHAUSTED is not among them: it names quotas that come back by themselves.
var noCredit = []string{
	"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", // OpenAI
	"billing_error",                                             // Anthropic
	"exceeded_current_quota_error",                              // Moonshot, with 429
	"1113",                                                      // Zhipu, with 429
	"Arrearage",                                                 // Alibaba
	"AccountOverdueError",                                       // Volcengine
	"insufficient_user_quota", "pre_consume_token_quota_failed", // one-api and its kin
	"insufficient_balance", "insufficient_credits",
}

const (
	// lowBalance is how Anthropic says so, in a status and a type that stand for all kinds of
	// mistakes.
	lowBalance = "credit balance is too low"
	// spentTeam is how xAI says so, with 429 or 403 and without a code.
	spentTeam = "used all available credits or reached its monthly spending limit"
)

// complaint is what the body of an error says.
type complaint struct {
	// text is its message where it has the usual form, else all of it.
	text string
	// stated says that it has the usual form.
	stated bool
	// number is the HTTP status that it names; 0 if it names none.
	number int
	// code and kind are words for programs; empty if it has none.
	code, kind string
	// delay is how long it asks to wait, 0 if it does not say.
	delay time.Duration
}

// readComplaint reads the body of an error, whatever it is.
func readComplaint(raw []byte) complaint {
	said := complaint{text: string(raw)}
	var list []json.RawMessage
	if len(raw) <= maxErrorBytes && json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		raw = list[0] // Google's, at its address for clients of OpenAI
	}
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"` // Cohere has it here
		Choices json.RawMessage `json:"choices"`
	}
	if json.Unmarshal(raw, &body) != nil {
		said.text = cmp.Or(body.Message, said.text)
		return said
	}
	if provider.Empty(body.Error) {
		body.Error = within(body.Choices)
	}
	if provider.Empty(body.Error) || len(body.Error) > maxErrorBytes {
		said.text = cmp.Or(body.Message, said.text)
		return said
	}
	said.read(body.Error)
	return said
}

// within returns the error of the first choice, where OpenRouter has what befell an answer that had
// begun; nil if there is none.
func within(choices json.RawMessage) json.RawMessage {
	var list []struct {
		Error json.RawMessage `json:"error"`
	}
	if _ = json.Unmarshal(choices, &list); len(list) == 0 { // what is wrong with the others does not count
		return nil
	}
	return list[0].Error
}

// read reads the error itself: an object, or a text.
func (c *complaint) read(raw json.RawMessage) {
	var described struct {
		Message string `json:"message"`
		Code    any    `json:"code"` // a number from Google and OpenRouter
		Type    any    `json:"type"`
		Details []struct {
			RetryDelay string `json:"retryDelay"` // of Google's RetryInfo, e.g. 34.07s
		} `json:"details"`
	}
	var plain string
	switch err := json.Unmarshal(raw, &described); {
	case err == nil || described.Message != "":
		c.stated = bytes.HasPrefix(raw, []byte("{")) // null is an object, too
		c.text = cmp.Or(described.Message, c.text)
		c.code, _ = described.Code.(string)
		c.kind, _ = described.Type.(string)
		number, _ := described.Code.(float64)
		if c.number = int(number); c.number == 0 {
			c.number, _ = strconv.Atoi(c.code)
		}
	case json.Unmarshal(raw, &plain) == nil:
		c.stated, c.text = plain != "", plain
	}
	if c.number < http.StatusBadRequest || c.number > maxStatus {
		c.number = 0
	}
	for _, detail := range described.Details {
		if asked, err := time.ParseDuration(detail.RetryDelay); err == nil && asked > 0 {
			c.delay = seconds(asked.Seconds())
		}
	}
}

// status returns the HTTP status that the complaint stands for by itself, 0 if it does not say.
func (c *complaint) status() int {
	if status := cmp.Or(c.number, meaning(c.code), meaning(c.kind)); status != 0 {
		return status
	}
	if c.unpaid(0) {
		return http.StatusPaymentRequired
	}
	return 0
}

// failure returns what the complaint means under a status.
func (c *complaint) failure(status int, secret string) *provider.Failure {
	failure := &provider.Failure{Status: status, Retryable: retryable(status), RetryAfter: c.delay, Detail: excerpt(c.text, secret)}
	if c.unpaid(status) {
		failure.Unpaid, failure.Retryable, failure.RetryAfter = true, false, 0
		failure.Detail = "the account has no credit left: " + failure.Detail
	}
	return failure
}

// unpaid says whether the account has no credit left.
func (c *complaint) unpaid(status int) bool {
	return status == http.StatusPaymentRequired || slices.Contains(noCredit, c.code) || slices.Contains(noCredit, c.kind) ||
		status == http.StatusBadRequest && strings.Contains(c.text, lowBalance) || strings.Contains(c.text, spentTeam)
}

// excerpt returns the beginning of a text on one line. The key goes before anything is cut, so that
// no part of it is left.
func excerpt(text, secret string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	text = string(Hide([]byte(text), secret))
	if text == "" {
		return noDetails
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
