package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// The ways in which a role case is compared.
const (
	// expectEqual: the request and the messages agree.
	expectEqual = "equal"
	// expectModelError: the request agrees; the original aborts, as ours does in compatible mode
	// only.
	expectModelError = "model_error"
	// expectProvider: the first request agrees; the end is a failure of the provider, or the
	// original's messages.
	expectProvider = "provider"
	// expectFault: nothing is compared.
	expectFault = "fault"
)

// roleKind is one of the original's roles that ask a model.
type roleKind struct {
	// file is the base name of its vectors.
	file string
	role worldv1.Role
	// player returns who plays it here, with the model that a request names, against a server at an
	// address.
	player func(address string, want *roleRequest) *agentgwv1.Player
	// unordered says that the order of mappings is not the original's but its library's, and that
	// ids of calls were drawn.
	unordered bool
	// sampling are the fields of a request's body that need to agree in compatible mode only.
	sampling []string
	// prompt rewrites the fields of recorded and sent prompts so that they can be compared; nil
	// leaves them.
	prompt func(request *roleRequest, want, got map[string]any) error
}

// completion returns the sampling fields of requests with a prompt.
func completion() []string { return []string{"max_tokens", "temperature"} }

// roleKinds lists what is known. A new wire format of the gateway gets its line here.
func roleKinds() []roleKind {
	const agent, user = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	return []roleKind{
		{file: "openai_agent.jsonl", role: agent, player: byBody("openai", "/v1"), sampling: []string{"temperature"}},
		{file: "openai_user.jsonl", role: user, player: byBody("openai", "/v1"), sampling: []string{"temperature"}},
		{file: "anthropic.jsonl", role: agent, player: byBody("anthropic", ""), sampling: []string{"max_tokens", "temperature"}},
		{file: "gemini.jsonl", role: agent, player: byPath, unordered: true, sampling: []string{"generationConfig"}},
		{file: "hermes.jsonl", role: agent, player: byBody("hermes", "/v1"), sampling: completion()},
		{file: "gorilla.jsonl", role: agent, player: byBody("gorilla", "/v1"), sampling: completion()},
		{file: "mistral.jsonl", role: agent, player: byBody("mistral", "/v1"), sampling: completion(), prompt: plainPrompt},
		{file: "cohere.jsonl", role: agent, player: byBody("cohere-prompted", "/v1"), sampling: completion(), prompt: templatePrompt},
	}
}

// roles lists the kinds of role vectors.
func roles() []kind {
	var list []kind
	for _, k := range roleKinds() {
		list = append(list, kind{
			name: strings.TrimSuffix(k.file, vectorSuffix), file: k.file,
			fields: []string{"case", "expect", "conversation", "request", "response", "result"},
			open: func(_ context.Context, r *Runner, _ string) (player, error) {
				if r.services.AgentGateway == nil {
					return player{}, fmt.Errorf("%s needs an agent gateway", k.file)
				}
				return r.perCase(func(ctx context.Context, l line) outcome { return r.playRole(ctx, k, l) }), nil
			},
		})
	}
	return list
}

// placeholderModel replaces the model of a case whose requests name none.
const placeholderModel = "model"

// byBody makes players of providers whose requests name the model in their body.
func byBody(provider string, path string) func(string, *roleRequest) *agentgwv1.Player {
	return func(address string, want *roleRequest) *agentgwv1.Player {
		var body struct{ Model string }
		if want != nil {
			_ = json.Unmarshal(want.Body, &body) // a request without a model differs later
		}
		if body.Model == "" {
			body.Model = placeholderModel
		}
		return modelPlayer(&agentgwv1.Model{Provider: provider, Model: body.Model, BaseUrl: address + path})
	}
}

// byPath makes players of Vertex AI, whose requests name project, location and model in their path.
func byPath(address string, want *roleRequest) *agentgwv1.Player {
	base, model := "/v1beta1/projects/p/locations/l", placeholderModel
	if want != nil {
		if before, after, ok := strings.Cut(want.Path, "/publishers/google/models/"); ok {
			base = before
			model, _, _ = strings.Cut(after, ":")
		}
	}
	return modelPlayer(&agentgwv1.Model{Provider: "vertex", Model: model, BaseUrl: address + base})
}

func modelPlayer(model *agentgwv1.Model) *agentgwv1.Player {
	return &agentgwv1.Player{Name: "conformance", Kind: &agentgwv1.Player_Model{Model: model}}
}

// roleRequest is an HTTP request.
type roleRequest struct {
	Method, Path string
	Headers      map[string]string
	Body         json.RawMessage
	// BeforeTemplate is what a tokenizer made the prompt of.
	BeforeTemplate json.RawMessage `json:"before_template"`
}

// roleAnswer is what a provider answers.
type roleAnswer struct {
	Status       int
	Headers      map[string]string
	Body         json.RawMessage
	Text         *string
	NetworkError string `json:"network_error"`
}

// roleRow is a SANDBOX row; fields that are left out are null.
type roleRow struct {
	Index        int32
	Sender       string
	Recipient    string
	Content      *string
	Active       *bool    `json:"conversation_active"`
	ToolCallID   *string  `json:"openai_tool_call_id"`
	FunctionName *string  `json:"openai_function_name"`
	Exception    *string  `json:"tool_call_exception"`
	VisibleTo    []string `json:"visible_to"`
}

func (r *roleRow) message(index int32) (*worldv1.Message, error) {
	m := &worldv1.Message{
		Index: index, ConversationActive: r.Active,
	}
	var ok bool
	if m.Sender, ok = world.RoleByText(r.Sender); !ok {
		return nil, fmt.Errorf("message %d: unknown sender %q", index, r.Sender)
	}
	if m.Recipient, ok = world.RoleByText(r.Recipient); !ok {
		return nil, fmt.Errorf("message %d: unknown recipient %q", index, r.Recipient)
	}
	for _, name := range r.VisibleTo {
		role, ok := world.RoleByText(name)
		if !ok {
			return nil, fmt.Errorf("message %d: visible_to: unknown role %q", index, name)
		}
		m.VisibleTo = append(m.VisibleTo, role)
	}
	row := sandbox.Row{Content: r.Content, ToolCallID: r.ToolCallID, FunctionName: r.FunctionName, Exception: r.Exception}
	if err := row.SetBody(m); err != nil {
		return nil, fmt.Errorf("message %d: %w", index, err)
	}
	return m, nil
}

// roleResult is what a role or the environment did: rows, or an exception.
type roleResult struct {
	messages  []*worldv1.Message
	exception string
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *roleResult) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		var raised struct {
			ExceptionType string `json:"exception_type"`
		}
		err := json.Unmarshal(raw, &raised)
		r.exception = raised.ExceptionType
		return err
	}
	var rows []roleRow
	if err := json.Unmarshal(raw, &rows); err != nil {
		return err
	}
	for i := range rows {
		m, err := rows[i].message(rows[i].Index)
		if err != nil {
			return err
		}
		r.messages = append(r.messages, m)
	}
	return nil
}

// roleTurn is one answer of the model and what it became.
type roleTurn struct {
	Response json.RawMessage
	Result   roleResult
}

// roleCase is one case.
type roleCase struct {
	Case, Expect  string
	ExpectThen    string `json:"expect_then"`
	Tools         *[]string
	Denied        []string
	Augmentations []string
	Conversation  []roleRow
	Request       *roleRequest
	Response      json.RawMessage
	HTTP          *struct{ Answers []roleAnswer }
	roleRecord    `json:"-"`

	// rows is the conversation, decoded.
	rows []*worldv1.Message
}

// roleRecord is what the original's role and environment did.
type roleRecord struct {
	Earlier []roleTurn
	Result  roleResult
	Then    *roleResult
}

// decodeRole reads a case. Of one that is not compared, what the original did need not be readable.
func decodeRole(raw []byte) (*roleCase, error) {
	raw = quoteNumbers(raw)
	c := &roleCase{}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("decode role case: %w", err)
	}
	if err := json.Unmarshal(raw, &c.roleRecord); err != nil {
		if c.Expect != expectFault {
			return nil, fmt.Errorf("decode role case: %w", err)
		}
		c.roleRecord = roleRecord{}
	}
	for i := range c.Conversation {
		m, err := c.Conversation[i].message(int32(i))
		if err != nil {
			return nil, fmt.Errorf("decode role case: %w", err)
		}
		c.rows = append(c.rows, m)
	}
	if len(c.rows) == 0 && c.Expect != expectFault {
		return nil, fmt.Errorf("decode role case: %s has no conversation", c.Case)
	}
	switch c.Expect {
	case expectEqual, expectModelError, expectProvider, expectFault:
		return c, nil
	default:
		return nil, fmt.Errorf("decode role case: unknown expect %q", c.Expect)
	}
}

// answers returns what the provider answers, in order; the last one is repeated.
func (c *roleCase) answers() []roleAnswer {
	if c.HTTP != nil && len(c.HTTP.Answers) > 0 {
		return c.HTTP.Answers
	}
	return []roleAnswer{{Body: c.Response}}
}

// setup returns the world of a case: all services on, two contacts.
func (c *roleCase) setup(role worldv1.Role) (*setupv1.Setup, error) {
	selection := &setupv1.ToolSelection{Deny: c.Denied}
	if c.Tools != nil {
		selection.Allow = *c.Tools
		if len(selection.GetAllow()) == 0 { // which allows all: allow what the role does not see anyway
			selection.Allow = []string{"end_conversation"}
			if role == worldv1.Role_ROLE_USER {
				selection.Allow = []string{"get_wifi_status"}
			}
		}
	}
	for _, text := range c.Augmentations {
		number, ok := setupv1.Augmentation_value["AUGMENTATION_"+text]
		if !ok {
			return nil, fmt.Errorf("unknown augmentation %q", text)
		}
		selection.Augmentations = append(selection.Augmentations, setupv1.Augmentation(number))
	}
	return &setupv1.Setup{
		Name: "role", MaxMessages: maxMessages, Clock: &setupv1.Clock{Now: now, TimeZone: defaultZone},
		Tools: selection, Messages: c.rows, Tables: []*worldv1.Table{
			roleTable(world.Setting, []*worldv1.Value{
				world.Text("device"), world.Bool(true), world.Bool(true), world.Bool(true), world.Bool(false),
				world.Number(37.334606), world.Number(-122.009102),
			}),
			roleTable(world.Contact,
				[]*worldv1.Value{world.Text("p-self"), world.Text("Tomás Ünal"), world.Text("+11234567890"), world.Text("self"), world.Bool(true)},
				[]*worldv1.Value{world.Text("p-1"), world.Text("Jane “Q” Doe"), world.Text("+15550001111"), world.Text("friend"), world.Bool(false)}),
			roleTable(world.Messaging),
			roleTable(world.Reminder),
		},
	}, nil
}

func roleTable(name string, rows ...[]*worldv1.Value) *worldv1.Table {
	table := &worldv1.Table{Name: name}
	for _, cells := range rows {
		table.Rows = append(table.Rows, &worldv1.Row{Cells: cells})
	}
	return table
}
