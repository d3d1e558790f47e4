package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/respjson"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// The kinds of blocks that are read; the SDK has no names for them as texts.
const (
	typeText     = "text"
	typeUse      = "tool_use"
	typeThinking = "thinking"
	typeRedacted = "redacted_thinking"
)

// Decode implements provider.Codec. The turn's own form is kept if it holds reasoning, which the
// interface wants back.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	if !utf8.Valid(body) { // which no message could carry on
		body = bytes.ToValidUTF8(body, []byte(string(utf8.RuneError)))
	}
	var message sdk.Message
	if err := provider.Unmarshal(body, &message); err != nil {
		return nil, fmt.Errorf("%w: no message: %w", provider.ErrAnswer, err)
	}
	r := &reader{answer: &provider.Answer{}}
	r.usage(&message)
	r.content(&message)
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrAnswer, r.err)
	}
	return r.answer, nil
}

// reader turns the SDK's message into an answer. The SDK takes numbers for texts and reads broken
// escapes its own way, so texts and numbers are read from what was written. After an error nothing
// is read any more.
type reader struct {
	answer *provider.Answer
	err    error
}

// usage reads what the turn cost.
func (r *reader) usage(message *sdk.Message) {
	if !given(message.JSON.Usage) {
		return
	}
	r.object("usage", message.JSON.Usage.Raw())
	u := &message.Usage
	input, created, cached := r.count("input_tokens", u.JSON.InputTokens), r.count("cache_creation_input_tokens", u.JSON.CacheCreationInputTokens),
		r.count("cache_read_input_tokens", u.JSON.CacheReadInputTokens)
	r.answer.Usage = &agentgwv1.Usage{
		InputTokens: input + created + cached, CachedTokens: cached, OutputTokens: r.count("output_tokens", u.JSON.OutputTokens),
		ReasoningTokens: r.count("thinking_tokens", u.OutputTokensDetails.JSON.ThinkingTokens),
	}
}

// content reads the blocks: calls win over texts.
func (r *reader) content(message *sdk.Message) {
	if !given(message.JSON.Content) && !given(message.JSON.StopReason) {
		r.fail("expected a message with content")
		return
	}
	if given(message.JSON.Content) && !message.JSON.Content.Valid() {
		r.fail("content: expected a list of blocks")
		return
	}
	stop := sdk.StopReason(r.text("stop_reason", message.JSON.StopReason))
	cut := stop == sdk.StopReasonMaxTokens || stop == sdk.StopReasonModelContextWindowExceeded
	var text strings.Builder
	reasoned := false
	for i := range message.Content {
		switch block := &message.Content[i]; r.kind(block) {
		case typeUse:
			r.answer.Calls = append(r.answer.Calls, r.call(block, cut && i == len(message.Content)-1))
		case typeText:
			text.WriteString(r.text("text", block.JSON.Text))
		case typeThinking, typeRedacted:
			reasoned = true
		}
	}
	if len(r.answer.Calls) == 0 {
		if r.answer.Text = text.String(); r.answer.Text == "" {
			r.answer.Nothing = nothing(stop)
			r.answer.Blank = stop != "" && stop != sdk.StopReasonToolUse && len(message.Content) == 1 && r.empty(message.Content[0])
			return
		}
	}
	if reasoned {
		r.native(message)
	}
}

// nothing says why an answer holds neither a text nor a call.
func nothing(stop sdk.StopReason) string {
	switch stop {
	case sdk.StopReasonMaxTokens:
		return "the answer reached its limit of tokens before a text or a call"
	case sdk.StopReasonModelContextWindowExceeded:
		return "the conversation fills the model's context window"
	case sdk.StopReasonRefusal:
		return "the provider refused to answer"
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence, sdk.StopReasonToolUse, sdk.StopReasonPauseTurn:
	}
	return "the answer has neither text nor calls"
}

// kind returns the type of a block; null is one without a type.
func (r *reader) kind(block *sdk.ContentBlockUnion) string {
	if raw := block.RawJSON(); raw != respjson.Null {
		r.object("content: a block", raw)
	}
	return r.text("type", block.JSON.Type)
}

// call reads a call, with its arguments as they were written.
func (r *reader) call(block *sdk.ContentBlockUnion, cut bool) turn.Call {
	call := turn.Call{Name: r.text("name", block.JSON.Name), Arguments: respjson.Null, Cut: cut}
	if given(block.JSON.ID) {
		id := r.text("id", block.JSON.ID)
		call.ID = &id
	}
	if given(block.JSON.Input) {
		call.Arguments = block.JSON.Input.Raw()
	}
	return call
}

// native keeps the content as it can be sent back: as it was, without empty texts, which the
// interface refuses.
func (r *reader) native(message *sdk.Message) {
	if !slices.ContainsFunc(message.Content, r.empty) {
		r.answer.Native = []byte(message.JSON.Content.Raw())
		return
	}
	var kept []json.RawMessage
	for _, block := range message.Content {
		if !r.empty(block) {
			kept = append(kept, json.RawMessage(block.RawJSON()))
		}
	}
	var err error
	if r.answer.Native, err = json.Marshal(kept); err != nil {
		r.fail("content: %w", err)
	}
}

// empty says whether a block is a text of nothing.
func (r *reader) empty(block sdk.ContentBlockUnion) bool {
	return r.kind(&block) == typeText && blank(r.text("text", block.JSON.Text))
}

// given says whether a field is there and not null.
func given(field respjson.Field) bool {
	return field.Raw() != respjson.Omitted && field.Raw() != respjson.Null
}

// object checks that a value is one.
func (r *reader) object(name, raw string) {
	if !strings.HasPrefix(raw, "{") {
		r.fail("%s: expected an object", name)
	}
}

// text reads a text; one that is absent or null is empty.
func (r *reader) text(name string, field respjson.Field) (value string) {
	r.read(name, field, &value)
	return value
}

// count reads a number of tokens; one that is absent or null is 0.
func (r *reader) count(name string, field respjson.Field) (value int64) {
	r.read(name, field, &value)
	return value
}

func (r *reader) read(name string, field respjson.Field, value any) {
	if r.err != nil || !given(field) {
		return
	}
	if err := json.Unmarshal([]byte(field.Raw()), value); err != nil {
		r.fail("%s: %w", name, err)
	}
}

// fail keeps the first error.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}
