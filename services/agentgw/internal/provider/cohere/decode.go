package cohere

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// empty reports whether a part has no content to send back. Parts of unknown types count as
// non-empty.
func (p part) empty() bool {
	switch p.Type {
	case typeText:
		return p.Text == nil || *p.Text == ""
	case typeThinking:
		return p.Thinking == ""
	default:
		return p.Type == ""
	}
}

// Decode implements provider.Codec. It keeps the native form of a turn with a plan or reasoning.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	var read response
	if err := lenient.Unmarshal(body, &read, joinEvents); err != nil {
		return nil, fmt.Errorf("%w: no chat answer: %w", provider.ErrAnswer, err)
	}
	reason := strings.ToUpper(string(read.FinishReason))
	if !isComplete(reason) {
		return nil, fmt.Errorf("%w: %w: the provider broke it off: %s", provider.ErrAnswer, provider.ErrServer, reason)
	}
	refusal := lenient.Refusal(reason)
	if read.Message == nil && refusal != "" {
		return &provider.Answer{Usage: read.usage(), Refusal: refusal, EmptyReason: "the answer has no message: " + refusal}, nil
	}
	if read.Message == nil {
		return nil, fmt.Errorf("%w: a chat answer without a message", provider.ErrAnswer)
	}
	var reply responseMessage
	if err := json.Unmarshal(*read.Message, &reply); err != nil {
		return nil, fmt.Errorf("%w: a chat answer whose message cannot be read: %w", provider.ErrAnswer, err)
	}
	answer := &provider.Answer{Usage: read.usage(), Calls: reply.calls(), Refusal: refusal}
	if lenient.CutOff(reason) {
		lenient.MarkCut(answer.Calls)
	}
	text, hasText, reasoned := reply.text()
	switch {
	case len(answer.Calls) > 0:
	case hasText:
		answer.Text = text
	default:
		answer.EmptyReason = "the answer has neither text nor calls: " + reason
	}
	if (reasoned || reply.ToolPlan != "") && (len(answer.Calls) > 0 || answer.Text != "") && canReplay(answer.Calls) {
		var err error
		if answer.Native, err = native(*read.Message, reply.Content); err != nil {
			return nil, fmt.Errorf("%w: %w", provider.ErrAnswer, err)
		}
	}
	return answer, nil
}

// isComplete reports whether an answer with this finish reason is the model's turn, which a filter
// may have blocked. Any other reason, such as ERROR or TIMEOUT, means that the provider gave up.
func isComplete(reason string) bool {
	switch reason {
	case "", finishComplete, finishStopSequence, finishMaxTokens, finishToolCall:
		return true
	default:
		return lenient.Refusal(reason) != ""
	}
}

// calls returns the message's calls.
func (m *responseMessage) calls() []turn.Call {
	var list []turn.Call
	for _, call := range m.ToolCalls {
		read := turn.Call{ID: lenient.ReadID(call.ID), Arguments: cmp.Or(lenient.ReadArguments(call.Function.Arguments), noArguments)}
		if call.Function.Name != nil {
			read.Name = *call.Function.Name
		}
		list = append(list, read)
	}
	return list
}

// text joins the message's texts. It also reports whether there are texts and whether there is
// reasoning.
func (m *responseMessage) text() (text string, hasText, reasoned bool) {
	var joined strings.Builder
	for _, p := range m.Content {
		switch p.Type {
		case typeText:
			if p.Text != nil {
				hasText = true
				joined.WriteString(*p.Text)
			}
		case typeThinking:
			reasoned = reasoned || !p.empty()
		}
	}
	return joined.String(), hasText, reasoned
}

// canReplay reports whether the provider accepts the calls in later requests: with ids, names, and
// objects as arguments.
func canReplay(calls []turn.Call) bool {
	for _, call := range calls {
		var object map[string]json.RawMessage
		if call.ID == nil || *call.ID == "" || call.Name == "" || json.Unmarshal([]byte(call.Arguments), &object) != nil || object == nil {
			return false
		}
	}
	return true
}

// native returns the part of a message that the provider wants back. parts are the decoded parts of
// raw. It returns nil if the provider would refuse it.
func native(raw json.RawMessage, parts []part) ([]byte, error) {
	var result nativeMessage
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, err
	}
	content := make([]json.RawMessage, 0, len(result.Content))
	for i, written := range result.Content {
		if written[0] == '"' {
			return nil, nil // a text, which the interface refuses in place of a part
		}
		if !parts[i].empty() {
			content = append(content, written)
		}
	}
	result.Role, result.Content = roleAssistant, content
	return json.Marshal(result)
}

// usage returns the token counts. Billed units would omit what is not charged.
func (r *response) usage() *agentgwv1.Usage {
	return cmp.Or(usageFields.Read(r.Usage), billedFields.Read(r.Usage))
}
