// Package anthropic is the wire format of Anthropic's messages. It is pure.
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
	// defaultTokens is the longest answer if nobody says; the interface wants a number. The newest
	// models think without being asked, and their thoughts count.
	defaultTokens = 16_000
	// oldTokens is the same for old models, which give no longer ones.
	oldTokens = 4096
	oldModels = "claude-3"
	// compatTokens, compatBeta and compatQuery are what the original sends.
	compatTokens = 1024
	compatBeta   = "tools-2024-05-16"
	compatQuery  = "?beta=tools"
)

// Codec implements provider.Codec.
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	transcript := q.Transcript
	if strict(q) {
		transcript = paired(q)
	}
	body := request{
		MaxTokens: int64(q.Model.GetMaxTokens()), Model: q.Model.GetModel(), Temperature: q.Model.Temperature,
		System: system(q), Messages: messages(q, transcript),
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
	think(&body, q, transcript)
	tools, err := tools(q)
	if err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	raw, err := json.Marshal(&body)
	if err != nil {
		return nil, fmt.Errorf("encode messages: %w", err)
	}
	sent.Body = provider.WithTools(raw, tools)
	return sent, nil
}

// think says how the model thinks: within a budget, which newer models do not take, or as it sees
// fit with an effort, which older ones do not.
func think(body *request, q *provider.Query, transcript []conversation.Entry) {
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
		body.MaxTokens += budget // which counts as a part of the answer
	}
	if thinks(q, transcript) {
		body.Thinking = thinking{BudgetTokens: budget, Type: thinkingEnabled}
	}
}

// thinks says whether a model with a budget may think in this turn: not while it waits for results
// of calls that it made without thinking, which another agent did or a demonstration shows.
func thinks(q *provider.Query, transcript []conversation.Entry) bool {
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

// strict says whether what Anthropic itself refuses has to be mended: empty texts, calls without
// results, ids of another shape. Other servers, and the original's, get everything as it is.
func strict(q *provider.Query) bool { return q.Own && !q.Compat }

// blank says whether a text is refused as empty.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// system joins the system texts; nil if there are none.
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

// tools translates tools; nil stays nil and is left out.
func tools(q *provider.Query) (provider.Written, error) {
	if q.Tools == nil {
		return nil, nil
	}
	return q.WriteTools("anthropic", func() ([]byte, error) {
		list := make([]tool, len(q.Tools))
		for i, t := range q.Tools {
			list[i] = tool{Name: t.GetName(), Description: t.GetDescription(), InputSchema: json.RawMessage(t.GetParametersJson())}
		}
		return json.Marshal(list)
	})
}
