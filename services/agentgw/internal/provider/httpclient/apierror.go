package httpclient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

const (
	// maxExcerpt bounds the bytes of an error message.
	maxExcerpt = 300
	// noDetails replaces an empty message.
	noDetails = "no details"
)

// apiError is the decoded body of an error response.
type apiError struct {
	// text is the message, or the whole body if it has an unknown form.
	text string
	// structured: the body has a known form.
	structured bool
	// number is the HTTP status in the body, 0 if there is none.
	number int
	// code and kind are the machine-readable words, empty if there are none. words are what the
	// provider means by them.
	code, kind string
	words      provider.ErrorWords
	// filtered are the categories of Azure's filter.
	filtered string
	// delay is the wait that the body asks for, 0 if it does not say.
	delay time.Duration
}

// parseAPIError decodes the body of an error response, whatever its form.
func parseAPIError(raw []byte, words provider.ErrorWords) apiError {
	parsed := apiError{text: string(raw), words: words}
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
		parsed.text = cmp.Or(body.Message, parsed.text)
		return parsed
	}
	if provider.IsEmpty(body.Error) {
		body.Error = choiceError(body.Choices)
	}
	if provider.IsEmpty(body.Error) || len(body.Error) > maxErrorBytes {
		parsed.text = cmp.Or(body.Message, parsed.text)
		return parsed
	}
	parsed.read(body.Error)
	return parsed
}

// choiceError returns the error of the first choice, nil if there is none. OpenRouter reports the
// failure of a partial answer there.
func choiceError(choices json.RawMessage) json.RawMessage {
	var list []struct {
		Error json.RawMessage `json:"error"`
	}
	if _ = json.Unmarshal(choices, &list); len(list) == 0 { // errors of other choices do not count
		return nil
	}
	return list[0].Error
}

// read decodes the error itself: an object or a text.
func (c *apiError) read(raw json.RawMessage) {
	var described struct {
		Message string `json:"message"`
		Code    any    `json:"code"` // a number from Google and OpenRouter
		Type    any    `json:"type"`
		Inner   struct {
			Filter json.RawMessage `json:"content_filter_result"`
		} `json:"innererror"`
		Details []struct {
			RetryDelay string `json:"retryDelay"` // of Google's RetryInfo, e.g. 34.07s
		} `json:"details"`
		Metadata struct {
			Raw string `json:"raw"` // at OpenRouter, the error of the provider behind it
		} `json:"metadata"`
	}
	var plain string
	switch err := json.Unmarshal(raw, &described); {
	case err == nil || described.Message != "":
		c.structured = bytes.HasPrefix(raw, []byte("{")) // null is an object, too
		c.text = cmp.Or(described.Message, c.text)
		if described.Metadata.Raw != "" {
			c.text += ": " + described.Metadata.Raw
		}
		c.code, _ = described.Code.(string)
		c.kind, _ = described.Type.(string)
		c.filtered = lenient.FilteredCategories(described.Inner.Filter)
		number, _ := described.Code.(float64)
		if c.number = int(number); c.number == 0 {
			c.number, _ = strconv.Atoi(c.code)
		}
	case json.Unmarshal(raw, &plain) == nil:
		c.structured, c.text = plain != "", plain
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

// status returns the HTTP status that the error implies, 0 if it implies none.
func (c *apiError) status() int {
	if status := cmp.Or(c.number, c.words.Status(c.code, c.kind)); status != 0 {
		return status
	}
	if c.noCredit(0) {
		return http.StatusPaymentRequired
	}
	return 0
}

// failure returns the error as a failure with a status.
func (c *apiError) failure(status int, secret string) *provider.Failure {
	failure := &provider.Failure{Status: status, Retryable: retryable(status), RetryAfter: c.delay, Detail: excerpt(c.text, secret)}
	if c.noCredit(status) {
		failure.NoCredit, failure.Retryable, failure.RetryAfter = true, false, 0
		failure.Detail = "the account has no credit left: " + failure.Detail
	} else if c.contextOverflow(status) {
		failure.ContextOverflow, failure.Retryable = true, false
	} else if failure.Demanded = c.demandedForm(status); failure.Demanded != 0 {
		failure.Detail = excerpt(templateWords(c.text), secret)
	} else if filter := c.filter(status); filter != "" {
		failure.Refusal, failure.Retryable = excerpt(lenient.JoinReason(filter, c.filtered, c.text), secret), false
	}
	return failure
}

// noCredit reports whether the account has no credit left.
func (c *apiError) noCredit(status int) bool {
	return status == http.StatusPaymentRequired || c.words.IsNoCredit(c.code, c.kind, c.text)
}

// overflowText matches the messages of providers that have no code for a request that does not fit
// into the model's context: Anthropic, Google, Cohere, Mistral, vLLM, SGLang, llama.cpp, TGI,
// Ollama, Bedrock, xAI, Moonshot and Alibaba.
var overflowText = regexp.MustCompile(`(?i)context (length|size|window)|maximum context|prompt is too long|too many (input )?tokens|` +
	`(input|prompt)[a-z ()0-9]* (token count|tokens?|length)[^.]* exceed|exceeds? the (available context|maximum number of tokens allowed)|` +
	"(`inputs` tokens|inputs. must have less than)|too large for model with [0-9]+ maximum context|" +
	`input is too long|maximum prompt length|exceeded model token limit|range of input length should be`)

// overflowCodes are codes and types of such errors.
var overflowCodes = []string{"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "string_above_max_length", "model_max_prompt_tokens_exceeded", "tokens_limit_reached", "1261"}

// contextOverflow reports whether the request does not fit into the model's context.
func (c *apiError) contextOverflow(status int) bool {
	switch status {
	case 0, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return slices.Contains(overflowCodes, c.code) || slices.Contains(overflowCodes, c.kind) || overflowText.MatchString(c.text)
	default:
		return false
	}
}

// refusedText matches the messages of providers whose code does not say that a filter blocked the
// request: Azure and Bedrock behind proxies, Anthropic, OpenAI, xAI, DeepSeek and OpenRouter.
var refusedText = regexp.MustCompile(`(?i)content management policy|content[ _]?(filter(ing)?|policy)[ _]?(policy|violation)|blocked by [a-z ]*(filter|policy)|` +
	`guardrail|violates (our )?usage (guidelines|polic)|flagged (as potentially violating|by moderation)|requires moderation|content exists risk`)

// refusedCodes are codes and types of such errors: of Azure and Moonshot, OpenAI, Alibaba, Zhipu
// and Volcengine.
var refusedCodes = []string{
	"content_filter", "content_policy_violation", "image_content_policy_violation", "bio_policy", "misalignment_policy_violation",
	"data_inspection_failed", "DataInspectionFailed", "1301",
	"SensitiveContentDetected", "InputTextSensitiveContentDetected", "OutputTextSensitiveContentDetected",
}

// unnamedFilter is the reason of a filter that has no code.
const unnamedFilter = "blocked"

// filter returns the code of the provider's filter that blocked the request, "" for other errors.
func (c *apiError) filter(status int) string {
	if !slices.Contains([]int{0, http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity}, status) {
		return ""
	}
	for _, word := range []string{c.code, c.kind} {
		if slices.Contains(refusedCodes, word) {
			return word
		}
	}
	if refusedText.MatchString(c.text) {
		return unnamedFilter
	}
	return ""
}

// excerpt returns the beginning of a text on one line. It redacts the key before it truncates, so
// that no part of the key remains.
func excerpt(text, secret string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	text = string(Redact([]byte(text), secret))
	if text == "" {
		return noDetails
	}
	return spelling.Shorten(text, maxExcerpt)
}
