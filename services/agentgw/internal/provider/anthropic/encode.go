// Package anthropic is the wire format of Anthropic's Messages API. It is pure.
package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	version = "2023-06-01"
	// defaultTokens is the default token limit; the interface requires one. The newest models think by
	// default, and thinking counts against it.
	defaultTokens = 16_000
	// oldTokens is the default for old models, whose limit is lower.
	oldTokens = 4096
	oldModels = "claude-3"
	// compatTokens, compatBeta and compatQuery are the original's values.
	compatTokens = 1024
	compatBeta   = "tools-2024-05-16"
	compatQuery  = "?beta=tools"
)

// Codec implements provider.Codec.
type Codec struct {
	// Compat takes a call without arguments for a mistake, as the original does.
	Compat bool
}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	transcript := q.Transcript
	if strict(q) {
		transcript = pairCalls(q)
	}
	body := request{
		MaxTokens: int64(q.Model.GetMaxTokens()), Model: q.Model.GetModel(), Temperature: q.Model.Temperature,
		Stop: q.Model.GetStop(), System: system(q), Messages: messages(q, transcript),
	}
	sent := &provider.Request{Path: "/v1/messages", Header: http.Header{"Anthropic-Version": {version}}}
	if q.Compat {
		sent.Path += compatQuery
		sent.Header.Set("Anthropic-Beta", compatBeta)
		body.Temperature = new(q.Model.GetTemperature())
	}
	switch {
	case body.MaxTokens > 0:
	case q.Compat:
		body.MaxTokens = compatTokens
	case strings.HasPrefix(body.Model, oldModels):
		body.MaxTokens = oldTokens
	default:
		body.MaxTokens = defaultTokens
	}
	setThinking(&body, q, transcript)
	tools, err := tools(q)
	if err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	if sent.Body, err = provider.MarshalWithTools(&body, tools); err != nil {
		return nil, fmt.Errorf("encode messages: %w", err)
	}
	return sent, nil
}

// setThinking sets how the model thinks: with a token budget, which newer models do not take, or
// adaptively with an effort, which older ones do not take.
func setThinking(body *request, q *provider.Query, transcript []conversation.Entry) {
	effort, budget := q.Model.GetReasoningEffort(), int64(q.Model.GetThinkingBudget())
	if effort == "" && budget == 0 {
		return
	}
	body.Temperature = nil // refused with thinking
	if effort != "" {
		body.Thinking, body.OutputConfig = thinking{Type: thinkingAdaptive}, outputConfig{Effort: effort}
		return
	}
	if q.Model.GetMaxTokens() == 0 {
		body.MaxTokens += budget // the limit includes the budget
	}
	if mayThink(q, transcript) {
		body.Thinking = thinking{BudgetTokens: budget, Type: thinkingEnabled}
	}
}

// mayThink reports whether a model with a budget may think in this turn. It may not while it waits
// for results of calls that it made without thinking, such as calls of a demonstration.
func mayThink(q *provider.Query, transcript []conversation.Entry) bool {
	i := len(transcript) - 1
	for i >= 0 && transcript[i].Kind == conversation.Result {
		i--
	}
	if i == len(transcript)-1 {
		return true
	}
	for i > 0 && transcript[i].Kind == conversation.ToolCall && transcript[i-1].Kind == conversation.ToolCall {
		i--
	}
	return i < 0 || len(q.Native[transcript[i].Index]) > 0
}

// strict reports whether to fix what Anthropic itself refuses: empty texts, calls without results,
// and invalid ids. Other servers, and the original's requests, get everything as it is.
func strict(q *provider.Query) bool { return q.Official && !q.Compat }

// blank reports whether Anthropic refuses a text as empty.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// system joins the system texts. It returns nil if there are none.
func system(q *provider.Query) *string {
	var texts []string
	for _, entry := range q.Transcript {
		if entry.Kind == conversation.System && !(strict(q) && blank(entry.Text)) {
			texts = append(texts, entry.Text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	joined := strings.Join(texts, "\n\n")
	return &joined
}

// tools encodes the tools. Nil stays nil and is omitted.
func tools(q *provider.Query) (provider.RawJSON, error) {
	if q.Tools == nil {
		return nil, nil
	}
	return q.EncodeTools("anthropic", func() ([]byte, error) {
		list := make([]tool, len(q.Tools))
		for i, t := range q.Tools {
			list[i] = tool{Name: t.GetName(), Description: t.GetDescription(), InputSchema: json.RawMessage(t.GetParametersJson())}
		}
		return provider.Marshal(list)
	})
}
