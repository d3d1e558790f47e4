// Package dialect plays models without native tool calling. It renders the conversation and the
// tools into one prompt, in the form of the model's training data, and parses calls out of the
// answer. Users can replace the prompt templates. The codecs are pure; only Load reads files.
package dialect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/template"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// The names of the templates.
const (
	Hermes  = "hermes"
	Gorilla = "gorilla"
	Mistral = "mistral"
	Cohere  = "cohere"
	Plain   = "plain"
)

// Default token limits. Servers without a limit stop after a few words.
const (
	longAnswer  = 2048
	shortAnswer = 1024
)

// Codec is one dialect over the completions of an OpenAI-compatible server. It implements
// provider.Codec. It is immutable and safe for concurrent use.
type Codec struct {
	template  *template.Template
	maxTokens int32
	// shape rewrites the template's input. Nil leaves it as it is.
	shape func(p *Prompt)
	// parse parses the model's text.
	parse func(text string) *provider.Answer
	// compat parses reasoning within the text too, as the original does.
	compat bool
}

// request is the body of a request for a completion.
type request struct {
	Model       string   `json:"model"`
	Prompt      string   `json:"prompt"`
	MaxTokens   int32    `json:"max_tokens"`
	Temperature *float64 `json:"temperature,omitempty"`
	Stop        []string `json:"stop,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
}

// Encode implements provider.Codec. The error is a *provider.Failure if the template fails, so that
// the request is not retried.
func (c Codec) Encode(q *provider.Query) (*provider.Request, error) {
	prompt, err := c.prompt(q)
	if err != nil {
		return nil, &provider.Failure{Detail: err.Error()}
	}
	body := request{
		Model: q.Model.GetModel(), Prompt: prompt, MaxTokens: q.Model.GetMaxTokens(), Temperature: q.Model.Temperature,
		Stop: q.Model.GetStop(), Seed: q.Seed,
	}
	if body.MaxTokens == 0 {
		body.MaxTokens = c.maxTokens
	}
	if body.Temperature == nil && q.Compat {
		body.Temperature = new(float64)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode completion: %w", err)
	}
	return &provider.Request{Path: "/completions", Header: http.Header{}, Body: raw}, nil
}

// prompt renders the prompt. The error names the template's file and line.
func (c Codec) prompt(q *provider.Query) (string, error) {
	prompt := newPrompt(q)
	if c.shape != nil {
		c.shape(prompt)
	}
	var b strings.Builder
	if err := c.template.Execute(&b, prompt); err != nil {
		return "", templateError(err)
	}
	return b.String(), nil
}
