package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestArgumentsComeBackAsJSON composes calls and checks how the agent sees them later.
func TestArgumentsComeBackAsJSON(t *testing.T) {
	for written, want := range map[string]string{
		`{"on": true}`:              `{"on": true}`,
		`{}`:                        `{}`,
		`null`:                      `null`,
		`"s"`:                       `"s"`,
		`"{\"a\": 1}"`:              `{"a": 1}`,
		`s`:                         `"s"`,
		`{'on': True}`:              `"{'on': True}"`,
		``:                          `{}`,
		`{"n": 1e400}`:              `{"n": 1e999}`,
		`{"n": [-1e400, 2, "ä"]}`:   `{"n": [-1e999, 2, "ä"]}`,
		`{"a": Infinity, "b\"": 1}`: `{"a": 1e999, "b\"": 1}`,
		`{"n": NaN}`:                `{"n": "NaN"}`,
	} {
		composer := turn.Composer{Role: worldv1.Role_ROLE_AGENT}
		made, _, err := composer.Calls([]turn.Call{{IDRule: turn.IndexID, Tool: "tool", Arguments: written}}, turn.AnyTools())
		if err != nil {
			t.Fatal(err)
		}
		shown := messages(worldv1.Role_ROLE_AGENT, made)[0]
		if len(shown.GetCalls()) != 1 {
			t.Errorf("%s: got %v, want a call", written, shown)
			continue
		}
		if got := shown.GetCalls()[0].GetArgumentsJson(); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s: got %s, want %s", written, got, want)
		}
	}
}

// failingAgents fails each turn with one error.
type failingAgents struct{ err error }

func (a failingAgents) Act(context.Context, attach.Address, *agentv1.ActRequest) (*agentv1.ActResponse, *agentgwv1.Instance, error) {
	return nil, &agentgwv1.Instance{Id: "a"}, a.err
}

// TestAttachedFailures maps the errors of an attached agent's turn.
func TestAttachedFailures(t *testing.T) {
	for _, test := range []struct {
		err, want error
		failure   string
		own       bool // the agent's own code failed
	}{
		{err: attach.ErrRetriesExhausted, want: ErrRetriesExhausted},
		{err: attach.ErrNotAttached, want: ErrTimeout},
		{err: attach.ErrNoAnswer, want: ErrTimeout},
		{err: status.Error(codes.Unknown, "boom"), failure: "the agent failed: mine, turn 3: Unknown: rpc error: code = Unknown desc = boom: why", own: true},
		{err: status.Error(codes.Aborted, "enough"), failure: "the agent ended the conversation, turn 3: rpc error: code = Aborted desc = enough: why"},
		{err: status.Error(codes.PermissionDenied, "no"), failure: "the agent cannot be asked: mine, turn 3: PermissionDenied: rpc error: code = PermissionDenied desc = no: why"},
		{err: status.Error(codes.DeadlineExceeded, "slow"), want: ErrTimeout},
		{err: attach.ErrUnsendable, failure: "the agent cannot be asked: mine, turn 3: the conversation cannot be sent: why"},
	} {
		d := NewDialer(Config{Connections: 1}, failingAgents{fmt.Errorf("%w: why", test.err)})
		req := &agentgwv1.RespondRequest{Role: worldv1.Role_ROLE_AGENT, Turn: 3, Player: &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{
			Plugin: &agentgwv1.Plugin{Attached: "mine"},
		}}}
		got, err := d.Respond(t.Context(), req, turn.NewTools(nil))
		if !errors.Is(err, test.want) || got.GetFailure().GetDetail() != test.failure {
			t.Errorf("%v: got %v, %v, want failure %q, error %v", test.err, got, err, test.failure, test.want)
		}
		if by := got.GetAnsweredBy().GetId(); (by == "a") != (got.GetFailure() != nil && !errors.Is(test.err, attach.ErrUnsendable)) {
			t.Errorf("%v: got answered by %q", test.err, by)
		}
		if own := got.GetFailure().GetClass() == agentgwv1.FailureClass_FAILURE_CLASS_MODEL; own != test.own {
			t.Errorf("%v: got class %s, want the agent's own: %t", test.err, got.GetFailure().GetClass(), test.own)
		}
	}
}

// TestValues checks which results have a value: those of successful calls, as standard JSON.
func TestValues(t *testing.T) {
	const self, environment = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	call := func(id string) *worldv1.Message {
		return &worldv1.Message{Sender: self, Recipient: environment, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: &id, Tool: "f"}}}
	}
	code := func(id string) *worldv1.Message {
		return &worldv1.Message{Sender: self, Recipient: environment, Body: &worldv1.Message_Code{Code: &worldv1.Code{Id: &id, Source: "f()"}}}
	}
	result := func(id, value string, exception *string) *worldv1.Message {
		return &worldv1.Message{Sender: environment, Recipient: self, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{
			Id: &id, Text: &value, Exception: exception, Traces: []*worldv1.ToolTrace{{Tool: "f", ArgumentsJson: "{}", ResultJson: value}},
		}}}
	}
	failed := "E: x"
	shown := messages(self, []*worldv1.Message{
		call("a"), call("b"), call("c"), result("a", `{"x": 1.0}`, nil), result("b", `[NaN, -Infinity]`, nil), result("c", "1", &failed),
		code("d"), result("d", "1", nil),
	})
	var got []string
	for _, m := range shown {
		if m.GetSpeaker() == agentv1.Speaker_SPEAKER_TOOL {
			got = append(got, m.GetValueJson())
		}
	}
	if want := []string{`{"x": 1.0}`, `["NaN", -1e999]`, "", ""}; !slices.Equal(got, want) {
		t.Errorf("values: got %q, want %q", got, want)
	}
	if code := shown[len(shown)-2]; code.GetCode() != "f()" || len(code.GetCalls()) != 0 {
		t.Errorf("code: got %v, want f() and no call", code)
	}
}

// TestNotification gives a plug-in an event as a message of its own kind, whichever role it plays.
func TestNotification(t *testing.T) {
	for _, role := range []worldv1.Role{worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER} {
		view := []*worldv1.Message{{Sender: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, Recipient: role, Body: &worldv1.Message_Text{Text: "Timer: eggs"}}}
		want := []*agentv1.Message{{Speaker: agentv1.Speaker_SPEAKER_NOTIFICATION, Text: "Timer: eggs"}}
		if diff := cmp.Diff(want, messages(role, view), protocmp.Transform()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", role, diff)
		}
	}
}

// TestConversationsOfRoles gives each role of a rollout an id of its own, because one program may
// play both: their turns have the same numbers.
func TestConversationsOfRoles(t *testing.T) {
	ids := make(map[string]bool)
	for _, rollout := range []string{"sweep.0", "sweep.1"} {
		for _, role := range []worldv1.Role{worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER} {
			for turns := range int32(2) {
				ids[actRequest(&agentgwv1.RespondRequest{RolloutId: rollout, Role: role, Turn: turns}, turn.AnyTools()).GetConversationId()] = true
			}
		}
	}
	if len(ids) != 4 {
		t.Errorf("two roles of two rollouts: got %d conversations, want 4", len(ids))
	}
}
