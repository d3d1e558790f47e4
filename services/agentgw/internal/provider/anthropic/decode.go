package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// Decode implements provider.Codec. It keeps the native form of a turn with reasoning, which the
// interface wants back.
func (c Codec) Decode(body []byte) (*provider.Answer, error) {
	if !utf8.Valid(body) { // messages must be valid UTF-8
		body = bytes.ToValidUTF8(body, []byte(string(utf8.RuneError)))
	}
	r := &reader{answer: &provider.Answer{}, compat: c.Compat}
	var message response
	err := lenient.Unmarshal(body, &message, joinEvents)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !other { // a non-object has no content
		return nil, fmt.Errorf("%w: no message: %w", provider.ErrAnswer, err)
	}
	r.answer.Usage = usageFields.Read(message.Usage)
	r.content(&message)
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrAnswer, r.err)
	}
	return r.answer, nil
}

// reader turns a response into an answer. It reads nothing after an error.
type reader struct {
	answer *provider.Answer
	err    error
	// compat: a call without arguments is a mistake, as in the original.
	compat bool
	// unsendable: a call has an id or arguments of another form than the interface's, so the turn
	// cannot be sent back as it is.
	unsendable bool
}

// content reads the blocks. Calls take precedence over texts.
func (r *reader) content(message *response) {
	if !lenient.Present(message.Content) && message.StopReason == "" {
		r.fail("expected a message with content")
		return
	}
	blocks := r.blocks(message.Content)
	stop := string(message.StopReason)
	r.answer.Refusal = refusal(stop, message.StopDetails)
	var text strings.Builder
	reasoned := false
	for i := range blocks {
		switch b := &blocks[i]; b.kind {
		case typeUse:
			r.answer.Calls = append(r.answer.Calls, r.call(b))
		case typeText:
			text.WriteString(b.text)
		case typeThinking, typeRedacted:
			reasoned = true
		}
	}
	if len(r.answer.Calls) == 0 {
		if r.answer.Text = text.String(); r.answer.Text == "" {
			r.answer.EmptyReason, r.answer.ContextOverflow = emptyReason(stop), stop == stopContextWindow
			r.answer.EmptyText = stop != "" && stop != stopToolUse && len(blocks) == 1 && blocks[0].empty()
			return
		}
	}
	if n := len(blocks); n > 0 && blocks[n-1].kind == typeUse && lenient.CutOff(stop) {
		lenient.MarkCut(r.answer.Calls)
	}
	if reasoned && !r.unsendable {
		r.native(message.Content, blocks)
	}
}

// refusal returns the provider's reason for a refusal, "" for another stop reason.
func refusal(stop string, raw json.RawMessage) string {
	var details struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	}
	_ = json.Unmarshal(raw, &details) // details of another form say nothing
	return lenient.Refusal(stop, details.Category, details.Explanation)
}

// emptyReason says why an answer has neither text nor calls.
func emptyReason(stop string) string {
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

// readBlock is a block with its type and, for a text block, its text.
type readBlock struct {
	block
	raw        json.RawMessage
	kind, text string
}

// empty reports whether a block is a blank text.
func (b *readBlock) empty() bool { return b.kind == typeText && blank(b.text) }

// blocks decodes a list of blocks. A text counts as a block of text.
func (r *reader) blocks(content json.RawMessage) []readBlock {
	var list lenient.List[json.RawMessage]
	if lenient.Present(content) && json.Unmarshal(content, &list) != nil {
		r.fail("content: expected a list of blocks")
	}
	blocks := make([]readBlock, len(list))
	for i, raw := range list {
		b := &blocks[i]
		b.raw = raw
		if json.Unmarshal(raw, &b.text) == nil {
			b.kind, r.unsendable = typeText, true
			continue
		}
		r.object("content: a block", raw, &b.block)
		if b.kind = r.text("type", b.Type); b.kind == typeText {
			b.text = r.text("text", b.Text)
		}
	}
	return blocks
}

// call reads a call and keeps its arguments verbatim.
func (r *reader) call(b *readBlock) turn.Call {
	call := turn.Call{ID: lenient.ReadID(b.ID), Name: r.text("name", b.Name), Arguments: "{}"}
	r.unsendable = r.unsendable || call.ID == nil || b.ID[0] != '"'
	r.unsendable = r.unsendable || !bytes.HasPrefix(b.Input, []byte("{"))
	switch {
	case lenient.Present(b.Input):
		call.Arguments = string(b.Input)
	case r.compat:
		call.Arguments = "null"
	}
	return call
}

// native keeps the content for later requests: verbatim, but without empty texts, which the
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

// object decodes an object.
func (r *reader) object(name string, raw json.RawMessage, target any) {
	if json.Unmarshal(raw, target) != nil {
		r.fail("%s: expected an object", name)
	}
}

// text decodes a text. An absent or null one is empty.
func (r *reader) text(name string, field json.RawMessage) (value string) {
	r.read(name, field, &value)
	return value
}

func (r *reader) read(name string, field json.RawMessage, value any) {
	if r.err != nil || !lenient.Present(field) {
		return
	}
	if err := json.Unmarshal(field, value); err != nil {
		r.fail("%s: %w", name, err)
	}
}

// fail records the first error.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}
