// Package google is the wire format of Gemini's generateContent, on AI Studio and on Vertex AI. It is pure.
package google

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// StudioURL is the address of AI Studio.
	StudioURL = "https://generativelanguage.googleapis.com/v1beta"
	// undescribed stands where an argument has no description; Vertex AI refuses to be without.
	undescribed = "Not described."
	// opening begins a conversation in which the model spoke first; the interface wants a user's text there.
	opening = "Hello."
	// blank stands for an empty text of somebody else, which the interface refuses.
	blank = " "
	// effortNone turns a model's thoughts off.
	effortNone = "none"

	roleUser  = "user"
	roleModel = "model"
	roleTool  = "tool"
)

// VertexURL returns the address of Vertex AI for a project and a region.
func VertexURL(project, region string) string {
	host := region + "-aiplatform.googleapis.com"
	if region == "global" {
		host = "aiplatform.googleapis.com"
	}
	return "https://" + host + "/v1beta1/projects/" + project + "/locations/" + region
}

type request struct {
	Contents          []content      `json:"contents"`
	SystemInstruction *content       `json:"systemInstruction,omitempty"`
	Tools             []toolSet      `json:"tools,omitempty"`
	GenerationConfig  map[string]any `json:"generationConfig,omitempty"`
}

// thinkingConfig has one of its fields.
type thinkingConfig struct {
	Level  string `json:"thinkingLevel,omitempty"`
	Budget *int32 `json:"thinkingBudget,omitempty"`
}

// content has parts that are part values, or raw ones as an earlier answer had them.
type content struct {
	Role  string `json:"role"`
	Parts any    `json:"parts"`
}

type part struct {
	Text             *string           `json:"text,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
}

type functionCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type toolSet struct {
	FunctionDeclarations []declaration `json:"functionDeclarations,omitempty"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Codec implements provider.Codec.
type Codec struct {
	// Vertex says that the requests go to Vertex AI and not to AI Studio.
	Vertex bool
}

// Encode implements provider.Codec.
func (c Codec) Encode(q *provider.Query) (*provider.Request, error) {
	contents, err := c.contents(q)
	if err != nil {
		return nil, err
	}
	body := request{Contents: contents, SystemInstruction: system(q.Transcript), GenerationConfig: generation(q)}
	if body.Tools, err = c.tools(q.Tools); err != nil {
		return nil, err
	}
	sent := &provider.Request{Path: "/models/" + q.Model.GetModel() + ":generateContent", Header: http.Header{}}
	if c.Vertex {
		sent.Path = "/publishers/google" + sent.Path
	}
	if sent.Body, err = json.Marshal(body); err != nil {
		return nil, fmt.Errorf("encode contents: %w", err)
	}
	return sent, nil
}

func generation(q *provider.Query) map[string]any {
	config := make(map[string]any)
	if q.Compat {
		config["temperature"], config["topK"], config["candidateCount"] = 0, 1, 1
	}
	if q.Model.Temperature != nil {
		config["temperature"] = q.Model.GetTemperature()
	}
	if n := q.Model.GetMaxTokens(); n > 0 {
		config["maxOutputTokens"] = n
	}
	switch budget, effort := q.Model.GetThinkingBudget(), q.Model.GetReasoningEffort(); {
	case budget > 0 || effort == effortNone:
		config["thinkingConfig"] = thinkingConfig{Budget: &budget}
	case effort != "":
		config["thinkingConfig"] = thinkingConfig{Level: effort}
	}
	return config
}

// system returns the system texts that stand before anything else, one part each. Later ones are not sent, as in the original.
func system(transcript []conversation.Entry) *content {
	var parts []part
	for _, entry := range transcript {
		if entry.Kind != conversation.System {
			break
		}
		parts = append(parts, textPart(entry.Text))
	}
	if len(parts) == 0 {
		return nil
	}
	return &content{Role: roleUser, Parts: parts}
}

func textPart(text string) part { return part{Text: &text} }

// contents translates a transcript without its system texts. Consecutive calls are one content, consecutive results too. A turn
// that is known in the provider's own form is sent in it.
func (c Codec) contents(q *provider.Query) ([]content, error) {
	list := make([]content, 0, len(q.Transcript))
	var open conversation.Kind
	var parts []part // of the last content
	var ids map[string]bool
	native, strict := false, q.Own && !q.Compat // Google itself refuses empty texts
	add := func(kind conversation.Kind, role string, p part) {
		if kind == open && (kind == conversation.Calling || kind == conversation.Result) {
			parts = append(parts, p)
			list[len(list)-1].Parts = parts
			return
		}
		open, parts = kind, []part{p}
		list = append(list, content{Role: role, Parts: parts})
	}
	for _, entry := range q.Transcript {
		if native && entry.Kind == conversation.Calling {
			continue // a part of the turn that was sent as a whole
		}
		native = false
		raw, known := q.Native[entry.Index]
		switch {
		case known && entry.Own():
			var err error
			if ids, err = callIDs(raw); err != nil {
				return nil, err
			}
			list = append(list, content{Role: roleModel, Parts: json.RawMessage(raw)})
			native, open = true, 0
		case entry.Kind == conversation.User:
			if entry.Text == "" && strict {
				entry.Text = blank
			}
			add(entry.Kind, roleUser, textPart(entry.Text))
		case entry.Kind == conversation.Assistant:
			if q.Flipped && len(list) == 0 {
				list = append(list, content{Role: roleUser, Parts: []part{textPart(opening)}})
			}
			if entry.Text != "" || !strict { // there is nothing to be said about an empty text
				add(entry.Kind, roleModel, textPart(entry.Text))
			}
		case entry.Kind == conversation.Calling:
			add(entry.Kind, roleModel, part{FunctionCall: &functionCall{Name: entry.Name, Args: json.RawMessage(entry.Object(false))}})
		case entry.Kind == conversation.Result:
			add(entry.Kind, c.resultRole(), part{FunctionResponse: response(entry, ids)})
		}
	}
	return list, nil
}

// resultRole is who tools speak as; AI Studio knows user and model only.
func (c Codec) resultRole() string {
	if c.Vertex {
		return roleTool
	}
	return roleUser
}

// response translates a result. Its id is sent only if the provider had given the call one.
func response(entry conversation.Entry, ids map[string]bool) *functionResponse {
	answered := &functionResponse{Name: entry.Name, Response: map[string]string{"content": entry.Text}}
	if entry.RowID != nil && ids[*entry.RowID] {
		answered.ID = *entry.RowID
	}
	return answered
}

// callIDs returns the ids that the provider itself gave to the calls of a turn.
func callIDs(raw []byte) (map[string]bool, error) {
	var parts []answeredPart
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("recorded turn: %w", err)
	}
	ids := make(map[string]bool)
	for _, p := range parts {
		if p.FunctionCall != nil && p.FunctionCall.ID != nil && *p.FunctionCall.ID != "" {
			ids[*p.FunctionCall.ID] = true
		}
	}
	return ids, nil
}

// tools returns one set of all declarations. Without tools Vertex AI gets an empty set, as from the original; AI Studio refuses it.
func (c Codec) tools(list []*worldv1.Tool) ([]toolSet, error) {
	if list == nil || len(list) == 0 && !c.Vertex {
		return nil, nil
	}
	var set toolSet
	for _, t := range list {
		schema, err := python.ParseJSON(t.GetParametersJson())
		if err != nil {
			return nil, fmt.Errorf("parameters of tool %s: %w", t.GetName(), err)
		}
		set.FunctionDeclarations = append(set.FunctionDeclarations, declaration{
			Name: t.GetName(), Description: oneLine(t.GetDescription()), Parameters: json.RawMessage(python.JSON(parameters(schema))),
		})
	}
	return []toolSet{set}, nil
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }

// parameters translates the schema of a tool's arguments. Empty lists and objects are left out.
func parameters(schema python.Value) python.Value {
	translated := &python.Dict{}
	translated.Set("type", python.Str("OBJECT"))
	object, _ := schema.AsDict()
	if properties, ok := object.Get("properties"); ok {
		named := &python.Dict{}
		list, _ := properties.AsDict()
		for _, item := range list.Items() {
			named.Set(item.Key, property(item.Value))
		}
		if named.Len() > 0 {
			translated.Set("properties", named.Value())
		}
	}
	if required, ok := object.Get("required"); ok {
		if names, _ := required.AsList(); len(names) > 0 {
			translated.Set("required", required)
		}
	}
	return translated.Value()
}

func property(schema python.Value) python.Value {
	object, _ := schema.AsDict()
	kind, description := "object", undescribed
	if v, ok := object.Get("type"); ok {
		if text, ok := v.AsStr(); ok {
			kind = text
		}
	}
	if v, ok := object.Get("description"); ok {
		if text, ok := v.AsStr(); ok && text != "" {
			description = oneLine(text)
		}
	}
	return python.DictOf(
		python.Item{Key: "type", Value: python.Str(strings.ToUpper(kind))},
		python.Item{Key: "description", Value: python.Str(description)},
	)
}
