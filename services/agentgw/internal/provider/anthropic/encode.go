// Package anthropic is the wire format of Anthropic's messages, in the types of Anthropic's SDK. It
// is pure.
package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// BaseURL is Anthropic's own address.
const BaseURL = "https://api.anthropic.com"

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

// The SDK's fields without its MarshalJSON: each of those writes its value into a buffer of its
// own, which is most of the time where there are many of them.
type (
	requestFields sdk.MessageNewParams
	toolFields    sdk.ToolParam
)

// request is the SDK's request but for three of its fields.
type request struct {
	requestFields
	// System is a text, of which the SDK makes a list of blocks; the original and other servers
	// have a text.
	System   *string          `json:"system,omitempty"`
	Messages []message        `json:"messages"`
	Tools    provider.Written `json:"tools,omitempty"`
}

// tool is the SDK's tool, with a schema as it is written: the SDK's map would lose the order of its
// keys.
type tool struct {
	toolFields
	InputSchema json.RawMessage `json:"input_schema"`
}

// Codec implements provider.Codec.
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	transcript := q.Transcript
	if strict(q) {
		transcript = paired(q)
	}
	body := request{System: system(q), Messages: messages(q, transcript)}
	body.Model, body.MaxTokens = q.Model.GetModel(), int64(q.Model.GetMaxTokens())
	if q.Model.Temperature != nil {
		body.Temperature = param.NewOpt(q.Model.GetTemperature())
	}
	sent := &provider.Request{Path: "/v1/messages", Header: http.Header{"Anthropic-Version": {version}}}
	if q.Compat {
		sent.Path += compatQuery
		sent.Header.Set("Anthropic-Beta", compatBeta)
		body.Temperature = param.NewOpt(q.Model.GetTemperature())
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
	var err error
	if body.Tools, err = tools(q); err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	// The SDK's encoder takes what its own types write as it is, where that of the standard library
	// reads it all once more.
	if sent.Body, err = param.MarshalObject(sdk.MessageNewParams{}, &body); err != nil {
		return nil, fmt.Errorf("encode messages: %w", err)
	}
	return sent, nil
}

// think says how the model thinks: within a budget, which newer models do not take, or as it sees
// fit with an effort, which older ones do not.
func think(body *request, q *provider.Query, transcript []conversation.Entry) {
	effort, budget := q.Model.GetReasoningEffort(), int64(q.Model.GetThinkingBudget())
	if effort == "" && budget == 0 {
		return
	}
	body.Temperature = param.Opt[float64]{} // refused with thinking
	if effort != "" {
		body.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{}}
		body.OutputConfig = sdk.OutputConfigParam{Effort: sdk.OutputConfigEffort(effort)}
		return
	}
	if q.Model.GetMaxTokens() == 0 {
		body.MaxTokens += budget // which counts as a part of the answer
	}
	if thinks(q, transcript) {
		body.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
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
			list[i].Name, list[i].Description = t.GetName(), param.NewOpt(t.GetDescription())
			list[i].InputSchema = json.RawMessage(t.GetParametersJson())
		}
		return param.MarshalObject(sdk.ToolParam{}, &list)
	})
}
