// Package google is the wire format of Gemini's generateContent, on AI Studio and on Vertex AI. It
// is pure.
package google

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const (
	// models is the collection of all models. Google's lists include it in a model's name.
	models = "models/"
)

// Codec implements provider.Codec.
type Codec struct {
	// Vertex: requests go to Vertex AI and not to AI Studio.
	Vertex bool
	// Compat runs a call that a limit of tokens cut off, as the original does.
	Compat bool
}

// Encode implements provider.Codec.
func (c Codec) Encode(q *provider.Query) (*provider.Request, error) {
	contents, err := c.contents(q)
	if err != nil {
		return nil, err
	}
	body := request{Contents: contents, SystemInstruction: system(q), GenerationConfig: generation(q)}
	if body.Tools, err = c.tools(q); err != nil {
		return nil, err
	}
	sent := &provider.Request{Path: "/" + models + strings.TrimPrefix(q.Model.GetModel(), models) + ":generateContent", Header: http.Header{}}
	if c.Vertex {
		sent.Path = "/publishers/google" + sent.Path
	}
	if sent.Body, err = json.Marshal(body); err != nil {
		return nil, fmt.Errorf("encode contents: %w", err)
	}
	return sent, nil
}

// strict reports whether the request goes to Google itself, which refuses more than compatible
// servers do.
func strict(q *provider.Query) bool { return q.Official && !q.Compat }

func generation(q *provider.Query) generationConfig {
	config := generationConfig{MaxOutputTokens: q.Model.GetMaxTokens(), Stop: q.Model.GetStop(), Seed: q.Seed}
	if q.Compat {
		config.Temperature, config.TopK, config.CandidateCount = new(float32(0)), 1, 1
	}
	if q.Model.Temperature != nil {
		config.Temperature = new(float32(q.Model.GetTemperature()))
	}
	if q.Schema != nil {
		config.ResponseMIMEType, config.ResponseSchema = mimeJSON, json.RawMessage(q.Schema.JSON)
	}
	switch budget, effort := q.Model.GetThinkingBudget(), q.Model.GetReasoningEffort(); {
	case budget > 0 || effort == provider.EffortNone:
		config.ThinkingConfig = &thinkingConfig{ThinkingBudget: &budget}
	case effort != "":
		config.ThinkingConfig = &thinkingConfig{ThinkingLevel: strings.ToUpper(effort)}
	}
	return config
}
