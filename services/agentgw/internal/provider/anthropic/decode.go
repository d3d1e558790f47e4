package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// Decode implements provider.Codec. The turn's own form is kept if it holds reasoning, which the
// interface wants back.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	if !utf8.Valid(body) { // which no message could carry on
		body = bytes.ToValidUTF8(body, []byte(string(utf8.RuneError)))
	}
	r := &reader{answer: &provider.Answer{}}
	var message response
	err := provider.Unmarshal(body, &message)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !other { // what is no object lacks content
		return nil, fmt.Errorf("%w: no message: %w", provider.ErrAnswer, err)
	}
	r.usage(message.Usage)
	r.content(&message)
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrAnswer, r.err)
	}
	return r.answer, nil
}

// reader turns a response into an answer. After an error nothing is read any more.
type reader struct {
	answer *provider.Answer
	err    error
}

// usage reads what the turn cost.
func (r *reader) usage(raw json.RawMessage) {
	if !given(raw) {
		return
	}
	var u usage
	var details struct {
		Thinking json.RawMessage `json:"thinking_tokens"`
	}
	r.object("usage", raw, &u)
	if bytes.HasPrefix(u.Details, []byte("{")) {
		r.object("output_tokens_details", u.Details, &details)
	}
	input, created, cached := r.count("input_tokens", u.Input), r.count("cache_creation_input_tokens", u.Created), r.count("cache_read_input_tokens", u.Cached)
	r.answer.Usage = &agentgwv1.Usage{
		InputTokens: input + created + cached, CachedTokens: cached, OutputTokens: r.count("output_tokens", u.Output),
		ReasoningTokens: r.count("thinking_tokens", details.Thinking),
	}
}

// content reads the blocks: calls win over texts.
func (r *reader) content(message *response) {
	if !given(message.Content) && !given(message.StopReason) {
		r.fail("expected a message with content")
		return
	}
	blocks := r.blocks(message.Content)
	stop := r.text("stop_reason", message.StopReason)
	cut := stop == stopMaxTokens || stop == stopContextWindow
	var text strings.Builder
	reasoned := false
	for i := range blocks {
		switch b := &blocks[i]; b.kind {
		case typeUse:
			r.answer.Calls = append(r.answer.Calls, r.call(b, cut && i == len(blocks)-1))
		case typeText:
			text.WriteString(b.text)
		case typeThinking, typeRedacted:
			reasoned = true
		}
	}
	if len(r.answer.Calls) == 0 {
		if r.answer.Text = text.String(); r.answer.Text == "" {
			r.answer.Nothing = nothing(stop)
			r.answer.Blank = stop != "" && stop != stopToolUse && len(blocks) == 1 && blocks[0].empty()
			return
		}
	}
	if reasoned {
		r.native(message.Content, blocks)
	}
}

// nothing says why an answer holds neither a text nor a call.
func nothing(stop string) string {
	switch stop {
	case stopMaxTokens:
		return "the answer reached its limit of tokens before a text or a call"
	case stopContextWindow:
		return "the conversation fills the model's context window"
	case stopRefusal:
		return "the provider refused to answer"
	default:
		return "the answer has neither text nor calls"
	}
}

// readBlock is a block with its type and, of a text, what that says.
type readBlock struct {
	block
	raw        json.RawMessage
	kind, text string
}

// empty says whether a block is a text of nothing.
func (b *readBlock) empty() bool { return b.kind == typeText && blank(b.text) }

// blocks reads a list of blocks; null is one without a type.
func (r *reader) blocks(content json.RawMessage) []readBlock {
	var list []json.RawMessage
	if given(content) && json.Unmarshal(content, &list) != nil {
		r.fail("content: expected a list of blocks")
	}
	blocks := make([]readBlock, len(list))
	for i, raw := range list {
		b := &blocks[i]
		b.raw = raw
		if given(raw) {
			r.object("content: a block", raw, &b.block)
		}
		if b.kind = r.text("type", b.Type); b.kind == typeText {
			b.text = r.text("text", b.Text)
		}
	}
	return blocks
}

// call reads a call, with its arguments as they were written.
func (r *reader) call(b *readBlock, cut bool) turn.Call {
	call := turn.Call{Name: r.text("name", b.Name), Arguments: "null", Cut: cut}
	if given(b.ID) {
		id := r.text("id", b.ID)
		call.ID = &id
	}
	if given(b.Input) {
		call.Arguments = string(b.Input)
	}
	return call
}

// native keeps the content as it can be sent back: as it was, without empty texts, which the
// interface refuses.
func (r *reader) native(content json.RawMessage, blocks []readBlock) {
	if !slices.ContainsFunc(blocks, func(b readBlock) bool { return b.empty() }) {
		r.answer.Native = content
		return
	}
	var kept []json.RawMessage
	for _, b := range blocks {
		if !b.empty() {
			kept = append(kept, b.raw)
		}
	}
	var err error
	if r.answer.Native, err = json.Marshal(kept); err != nil {
		r.fail("content: %w", err)
	}
}

// given says whether a field is there and not null.
func given(field json.RawMessage) bool { return len(field) > 0 && string(field) != "null" }

// object reads an object.
func (r *reader) object(name string, raw json.RawMessage, into any) {
	if json.Unmarshal(raw, into) != nil {
		r.fail("%s: expected an object", name)
	}
}

// text reads a text; one that is absent or null is empty.
func (r *reader) text(name string, field json.RawMessage) (value string) {
	r.read(name, field, &value)
	return value
}

// count reads a number of tokens; one that is absent or null is 0.
func (r *reader) count(name string, field json.RawMessage) (value int64) {
	r.read(name, field, &value)
	return value
}

func (r *reader) read(name string, field json.RawMessage, value any) {
	if r.err != nil || !given(field) {
		return
	}
	if err := json.Unmarshal(field, value); err != nil {
		r.fail("%s: %w", name, err)
	}
}

// fail keeps the first error.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}
