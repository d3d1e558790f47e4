package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// These are the ways to compare a role case.
const (
	// expectEqual: request and messages must be equal.
	expectEqual = "equal"
	// expectModelError: the request must be equal. The original aborts; the gateway does so only in
	// compatible mode.
	expectModelError = "model_error"
	// expectProvider: the first request must be equal. The result is a failure of the provider, or the
	// original's messages.
	expectProvider = "provider"
	// expectFault: the original is wrong, so the case runs without a comparison.
	expectFault = "fault"
)

// roleKind is a role of the original that calls a model.
type roleKind struct {
	// file is the base name of its vectors.
	file string
	role worldv1.Role
	// player returns the player of the role. Its model is that of the request, its server is at
	// address.
	player func(address string, want *roleRequest) *agentgwv1.Player
	// unordered reports that the original's library determined the order of mappings, and that ids of
	// calls are random.
	unordered bool
	// sampling lists fields of the request's body that are compared in compatible mode only.
	sampling []string
	// prompt rewrites the prompts of recorded and actual requests for the comparison. It may be nil.
	prompt func(request *roleRequest, want, got map[string]any) error
}

// completion returns the sampling fields of completion requests.
func completion() []string { return []string{"max_tokens", "temperature"} }

// roleKinds lists the known kinds. Add a line for a new wire format of the gateway.
func roleKinds() []roleKind {
	const agent, user = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	return []roleKind{
		{file: "openai_agent.jsonl", role: agent, player: bodyModelPlayer("openai", "/v1"), sampling: []string{"temperature"}},
		{file: "openai_user.jsonl", role: user, player: bodyModelPlayer("openai", "/v1"), sampling: []string{"temperature"}},
		{file: "anthropic.jsonl", role: agent, player: bodyModelPlayer("anthropic", ""), sampling: []string{"max_tokens", "temperature"}},
		{file: "gemini.jsonl", role: agent, player: pathModelPlayer, unordered: true, sampling: []string{"generationConfig"}},
		{file: "hermes.jsonl", role: agent, player: bodyModelPlayer("hermes", "/v1"), sampling: completion()},
		{file: "gorilla.jsonl", role: agent, player: bodyModelPlayer("gorilla", "/v1"), sampling: completion()},
		{file: "mistral.jsonl", role: agent, player: bodyModelPlayer("mistral", "/v1"), sampling: completion(), prompt: normalizePrompt},
		{file: "cohere.jsonl", role: agent, player: bodyModelPlayer("cohere-prompted", "/v1"), sampling: completion(), prompt: templatePrompt},
	}
}

// roles lists the kinds of role vectors.
func roles() []kind {
	var list []kind
	for _, k := range roleKinds() {
		list = append(list, kind{
			name: strings.TrimSuffix(k.file, vectorSuffix), file: k.file,
			fields: []string{"case", "expect", "conversation", "request", "response", "result"},
			open: func(_ context.Context, r *Runner, _ string) (fileRunner, error) {
				if r.services.AgentGateway == nil {
					return fileRunner{}, fmt.Errorf("%s needs an agent gateway", k.file)
				}
				return r.perCase(func(ctx context.Context, l line) outcome { return r.runRole(ctx, k, l) }), nil
			},
		})
	}
	return list
}

// placeholderModel is the model of a case whose requests name none.
const placeholderModel = "model"

// bodyModelPlayer returns a function that creates players of a provider whose requests name the
// model in the body.
func bodyModelPlayer(provider string, path string) func(string, *roleRequest) *agentgwv1.Player {
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

// pathModelPlayer returns a player of Vertex AI, whose requests name project, location and model in
// the path.
func pathModelPlayer(address string, want *roleRequest) *agentgwv1.Player {
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
	// BeforeTemplate is the tokenizer's input for the prompt.
	BeforeTemplate json.RawMessage `json:"before_template"`
}

// roleAnswer is a provider's HTTP response or network error.
type roleAnswer struct {
	Status       int
	Headers      map[string]string
	Body         json.RawMessage
	Text         *string
	NetworkError string `json:"network_error"`
}

// roleRow is a row of table SANDBOX. Missing fields are null.
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
	if m.Sender, ok = world.ParseRole(r.Sender); !ok {
		return nil, fmt.Errorf("message %d: unknown sender %q", index, r.Sender)
	}
	if m.Recipient, ok = world.ParseRole(r.Recipient); !ok {
		return nil, fmt.Errorf("message %d: unknown recipient %q", index, r.Recipient)
	}
	for _, name := range r.VisibleTo {
		role, ok := world.ParseRole(name)
		if !ok {
			return nil, fmt.Errorf("message %d: visible_to: unknown role %q", index, name)
		}
		m.VisibleTo = append(m.VisibleTo, role)
	}
	row := row.Row{Content: r.Content, ToolCallID: r.ToolCallID, FunctionName: r.FunctionName, Exception: r.Exception}
	if err := row.SetBody(m); err != nil {
		return nil, fmt.Errorf("message %d: %w", index, err)
	}
	return m, nil
}

// roleResult is the result of a role or of the environment: messages, or an exception.
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

// roleTurn is one response of the model and the role's result.
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

	// rows is the decoded conversation.
	rows []*worldv1.Message
}

// roleRecord is the recorded behaviour of the original's role and environment.
type roleRecord struct {
	Earlier []roleTurn
	Result  roleResult
	Then    *roleResult
}

// decodeRole decodes a case. If the case is not compared, the original's results may be
// undecodable.
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

// answers returns the provider's answers in order. The server repeats the last one.
func (c *roleCase) answers() []roleAnswer {
	if c.HTTP != nil && len(c.HTTP.Answers) > 0 {
		return c.HTTP.Answers
	}
	return []roleAnswer{{Body: c.Response}}
}

// setup returns the setup of a case: all services are on, and there are two contacts.
func (c *roleCase) setup(role worldv1.Role) (*setupv1.Setup, error) {
	selection := &setupv1.ToolSelection{Deny: c.Denied}
	if c.Tools != nil {
		selection.Allow = *c.Tools
		if len(selection.GetAllow()) == 0 { // an empty list allows all tools: allow one that the role cannot see
			selection.Allow = []string{world.EndTool}
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
		if augmentation := setupv1.Augmentation(number); row.HasEffect(augmentation) {
			selection.Augmentations = append(selection.Augmentations, augmentation)
		}
	}
	return &setupv1.Setup{
		Name: "role", MaxMessages: maxMessages, Clock: &setupv1.Clock{Now: caseTime, TimeZone: defaultZone},
		Tools: selection, Messages: c.rows, Tables: []*worldv1.Table{
			roleTable(world.Setting, roleCells{
				"device_id": world.Text("device"), "cellular": world.Bool(true), "wifi": world.Bool(true), "location_service": world.Bool(true),
				"low_battery_mode": world.Bool(false), "latitude": world.Number(37.334606), "longitude": world.Number(-122.009102),
			}),
			roleTable(world.Contact, roleCells{
				"person_id": world.Text("p-self"), "name": world.Text("Tomás Ünal"), "phone_number": world.Text("+11234567890"),
				"relationship": world.Text("self"), "is_self": world.Bool(true),
			}, roleCells{
				"person_id": world.Text("p-1"), "name": world.Text("Jane “Q” Doe"), "phone_number": world.Text("+15550001111"),
				"relationship": world.Text("friend"), "is_self": world.Bool(false),
			}),
			roleTable(world.Messaging),
			roleTable(world.Reminder),
		},
	}, nil
}

// roleCells are cells of a row by column.
type roleCells = map[string]*worldv1.Value

func roleTable(name string, rows ...roleCells) *worldv1.Table {
	schema, _ := world.Builtin().Table(name)
	table := &worldv1.Table{Name: name}
	for _, cells := range rows {
		table.Rows = append(table.Rows, schema.NewRow(cells))
	}
	return table
}
