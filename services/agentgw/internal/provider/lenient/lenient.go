// Package lenient reads what model servers send, also where it deviates from their interfaces:
// event streams that nobody asked for, numbers that are no JSON, ids that are no texts, reasoning
// within a text. All wire formats read with it. It is pure.
package lenient

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/turn"
)

// Present reports whether a field is neither absent nor null.
func Present(field json.RawMessage) bool { return len(field) > 0 && string(field) != "null" }

// ID is the id of a call. It decodes from a text, or from a number, whose digits it keeps. Anything
// else is no id, which is empty.
type ID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *ID) UnmarshalJSON(field []byte) error {
	var text string
	switch {
	case json.Unmarshal(field, &text) == nil:
		*id = ID(text)
	case strings.ContainsRune("-0123456789", rune(field[0])):
		*id = ID(field)
	}
	return nil
}

// ReadID decodes a field. It returns nil if the field has no id. An empty text is one.
func ReadID(field json.RawMessage) *string {
	var id ID
	if !Present(field) || id.UnmarshalJSON(field) != nil || id == "" && field[0] != '"' {
		return nil
	}
	text := string(id)
	return &text
}

// ReadArguments decodes the arguments of a call. They are a text that contains JSON. Some servers
// send the object itself, or nothing.
func ReadArguments(field json.RawMessage) string {
	if !Present(field) {
		return "{}"
	}
	var text string
	if err := json.Unmarshal(field, &text); err != nil {
		return string(field)
	}
	return text
}

// limits are the reasons of an answer that ended at a limit of tokens, in small letters.
var limits = []string{"length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length", "model_context_window_exceeded"}

// CutOff reports whether an answer that ended for a reason was cut off by a limit of tokens.
func CutOff(reason string) bool { return slices.Contains(limits, strings.ToLower(reason)) }

// filters are the reasons of an answer that the model refused or that a filter blocked, in small
// letters: of OpenAI, Anthropic, Google, Bedrock, Cohere and Zhipu.
var filters = []string{
	"content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety", "model_armor",
	"guardrail_intervened", "content_filtered", "error_toxic", "sensitive",
}

// Refusal returns the reason and the details of an answer that the model refused or that a filter
// blocked, "" if the reason is another one. A colon may end the reason's name, as at Google's
// address for clients of OpenAI.
func Refusal(reason string, details ...string) string {
	name, _, _ := strings.Cut(reason, ":")
	if !slices.Contains(filters, strings.ToLower(name)) {
		return ""
	}
	return JoinReason(reason, details...)
}

// RefusalText is the reason of a refusal that is a text of the model.
const RefusalText = "refusal"

// JoinReason returns a reason and its details, without the empty ones.
func JoinReason(reason string, details ...string) string {
	parts := slices.DeleteFunc(append([]string{reason}, details...), func(part string) bool { return part == "" })
	return strings.Join(parts, ": ")
}

// FilteredCategories returns the names of what a filter of Azure found, from its results by
// category. It returns "" for results of another form.
func FilteredCategories(results json.RawMessage) string {
	var categories map[string]json.RawMessage
	_ = json.Unmarshal(results, &categories) // another form has no categories
	var found []string
	for name, raw := range categories {
		var category struct {
			Filtered bool `json:"filtered"`
		}
		if json.Unmarshal(raw, &category) == nil && category.Filtered {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return strings.Join(found, ", ")
}

// MarkCut marks the last call of an answer that was cut off. Servers may close its JSON, so that
// nothing else shows it.
func MarkCut(calls []turn.Call) {
	if len(calls) > 0 {
		calls[len(calls)-1].Truncated = true
	}
}
