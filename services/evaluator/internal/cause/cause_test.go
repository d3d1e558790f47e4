package cause_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/cause"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

const (
	user  = worldv1.Role_ROLE_USER
	agent = worldv1.Role_ROLE_AGENT
	env   = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

func call(id, tool string) *worldv1.Message {
	return &worldv1.Message{Sender: agent, Recipient: env, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: &id, Tool: tool}}}
}

func noJSON(id, arguments string, cut bool) *worldv1.Message {
	m := call(id, "f")
	m.GetCall().ArgumentsText, m.GetCall().ArgumentsCut = &arguments, cut
	return m
}

func raised(id, exception string) *worldv1.Message {
	return &worldv1.Message{Sender: env, Recipient: agent, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{Id: &id, Exception: &exception}}}
}

func remark(role worldv1.Role, index int32, kind agentgwv1.RemarkKind, detail string) assemble.Remark {
	return assemble.Remark{Role: role, Index: index, Remark: &agentgwv1.Remark{Kind: kind, Detail: detail}}
}

// TestOmittedMessages finds no lack of calls in messages that nobody has read.
func TestOmittedMessages(t *testing.T) {
	failed := &busv1.End{Reason: busv1.EndReason_END_REASON_MODEL_FAILURE, ExceptionType: "KeyError"}
	want := []*busv1.Cause{{Role: agent, Kind: busv1.CauseKind_CAUSE_KIND_MODEL_FAILURE, Count: 1, Index: 40, Detail: "KeyError"}}
	got := cause.Find(&assemble.Trajectory{Omitted: 40, Starting: 2, End: failed}, &busv1.Result{}, nil, nil)
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// findTest is a trajectory with its result and the wanted causes.
type findTest struct {
	messages []*worldv1.Message // after one of the user
	remarks  []assemble.Remark
	end      *busv1.End
	result   *busv1.Result
	want     []*busv1.Cause
}

func (test findTest) run(t *testing.T) {
	t.Helper()
	trajectory := &assemble.Trajectory{
		Messages: append([]*worldv1.Message{{Sender: user, Recipient: agent}}, test.messages...), Starting: 1, Remarks: test.remarks, End: test.end,
	}
	for i, m := range trajectory.Messages {
		m.Index = int32(i)
	}
	if diff := cmp.Diff(test.want, cause.Find(trajectory, test.result, nil, nil), protocmp.Transform()); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// one returns a cause of the agent that happened once.
func one(kind busv1.CauseKind, index int32, detail string) *busv1.Cause {
	return &busv1.Cause{Role: agent, Kind: kind, Count: 1, Index: index, Detail: detail}
}

func TestFind(t *testing.T) {
	for name, test := range map[string]findTest{
		"nothing said":      {nil, nil, nil, &busv1.Result{Similarity: 0.5}, []*busv1.Cause{one(busv1.CauseKind_CAUSE_KIND_NO_TOOL_CALLED, 1, "")}},
		"no call was right": {nil, nil, nil, &busv1.Result{Similarity: 1}, nil},
		"a good call":       {[]*worldv1.Message{call("a", "f")}, nil, nil, &busv1.Result{}, nil},
		"errors": {
			[]*worldv1.Message{
				call("a", "fly"), raised("a", "NameError: name 'fly' is not defined"), call("b", "f"), raised("b", "TypeError: missing a required argument: 'x'"),
				call("c", "f"), raised("c", "ValueError: no"), call("d", "f"), raised("d", "ValueError: not that"), call("e", "f"), raised("e", "NameError: name 'x' is not defined"),
			}, nil, nil, &busv1.Result{}, []*busv1.Cause{
				one(busv1.CauseKind_CAUSE_KIND_UNKNOWN_TOOL, 2, "fly"), one(busv1.CauseKind_CAUSE_KIND_WRONG_ARGUMENTS, 4, "missing a required argument: 'x'"),
				{Role: agent, Kind: busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, Count: 2, Index: 6, Detail: "ValueError"}, one(busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, 10, "NameError"),
			},
		},
		"no JSON": {
			[]*worldv1.Message{noJSON("a", "{", false), raised("a", "TypeError: x"), noJSON("b", "{", true), raised("b", "ValueError: cut")},
			[]assemble.Remark{remark(agent, 3, agentgwv1.RemarkKind_REMARK_KIND_CUT_OFF, "f")}, nil, &busv1.Result{},
			[]*busv1.Cause{one(busv1.CauseKind_CAUSE_KIND_ARGUMENTS_NO_JSON, 1, "f"), one(busv1.CauseKind_CAUSE_KIND_CUT_OFF, 3, "f")},
		},
		"remarks": {
			[]*worldv1.Message{call("a", "f")}, []assemble.Remark{
				remark(agent, 1, agentgwv1.RemarkKind_REMARK_KIND_EMPTY, "blocked"), remark(user, 2, agentgwv1.RemarkKind_REMARK_KIND_EMPTY, ""),
				remark(agent, 3, agentgwv1.RemarkKind_REMARK_KIND_CALL_AS_TEXT, "f"), remark(agent, 5, agentgwv1.RemarkKind_REMARK_KIND_CALL_AS_TEXT, "g"),
			}, nil, &busv1.Result{UserFlags: []*busv1.UserFlag{{Rule: "early_end", Index: 6, Evidence: "Bye."}}}, []*busv1.Cause{
				one(busv1.CauseKind_CAUSE_KIND_EMPTY_ANSWER, 1, "blocked"), {Role: user, Kind: busv1.CauseKind_CAUSE_KIND_EMPTY_ANSWER, Count: 1, Index: 2}, {Role: agent, Kind: busv1.CauseKind_CAUSE_KIND_CALL_AS_TEXT, Count: 2, Index: 3, Detail: "f"},
				{Role: user, Kind: busv1.CauseKind_CAUSE_KIND_EARLY_END, Count: 1, Index: 6, Detail: "Bye."},
			},
		},
		"refused": {
			[]*worldv1.Message{call("a", "f")}, []assemble.Remark{remark(agent, 2, agentgwv1.RemarkKind_REMARK_KIND_REFUSED, "SAFETY")}, nil, &busv1.Result{},
			[]*busv1.Cause{one(busv1.CauseKind_CAUSE_KIND_REFUSED, 2, "SAFETY")},
		},
	} {
		t.Run(name, test.run)
	}
}

// TestFindEnds finds causes in the score and in the end of the rollout.
func TestFindEnds(t *testing.T) {
	for name, test := range map[string]findTest{
		"minefield": {
			[]*worldv1.Message{call("a", "f")}, nil, nil, &busv1.Result{Minefields: []*busv1.Match{{Index: 1, Similarity: 1}, {Index: 1}}},
			[]*busv1.Cause{one(busv1.CauseKind_CAUSE_KIND_MINEFIELD, 1, "")},
		},
		"context": {
			[]*worldv1.Message{call("a", "f")}, nil, &busv1.End{Reason: busv1.EndReason_END_REASON_MODEL_FAILURE, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_CONTEXT, Detail: "too long"},
			&busv1.Result{}, []*busv1.Cause{one(busv1.CauseKind_CAUSE_KIND_CONTEXT_OVERFLOW, 2, "too long")},
		},
		"repeated": {
			[]*worldv1.Message{call("a", "f")}, nil, &busv1.End{Reason: busv1.EndReason_END_REASON_REPEATED_TURN}, &busv1.Result{},
			[]*busv1.Cause{one(busv1.CauseKind_CAUSE_KIND_REPEATED_TURN, 2, "")},
		},
	} {
		t.Run(name, test.run)
	}
}

// TestUpdate scores a trajectory again: causes of messages and score are found anew, and those that
// only answers and the end show stay.
func TestUpdate(t *testing.T) {
	recorded := []*busv1.Cause{
		{Role: agent, Kind: busv1.CauseKind_CAUSE_KIND_MINEFIELD, Count: 1, Index: 3}, {Role: user, Kind: busv1.CauseKind_CAUSE_KIND_LEAK, Count: 1, Index: 2},
		{Role: user, Kind: busv1.CauseKind_CAUSE_KIND_REFUSED, Count: 2, Index: 2, Detail: "SAFETY"}, {Role: agent, Kind: busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT, Count: 1, Index: 4},
	}
	text := call("b", "f") // as files hold arguments that are no JSON
	text.GetCall().ArgumentsJson = `"{"`
	messages := []*worldv1.Message{{Sender: user, Recipient: agent}, call("a", "fly"), raised("a", "ValueError: no"), text, raised("b", "TypeError: x")}
	for i, m := range messages {
		m.Index = int32(i)
	}
	got := cause.Update(&assemble.Trajectory{Messages: messages, Starting: 1}, &busv1.Result{}, nil, nil, recorded)
	want := []*busv1.Cause{{Role: agent, Kind: busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, Count: 1, Index: 2, Detail: "ValueError"}, recorded[2], recorded[3]}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// TestFlags finds a cause of its own for every rule of the check of users.
func TestFlags(t *testing.T) {
	for _, rule := range []string{usercheck.Leak, usercheck.Assistant, usercheck.EarlyEnd, usercheck.Invented, usercheck.Unasked, usercheck.Repeats, usercheck.NeverEnds} {
		result := &busv1.Result{Similarity: 1, UserFlags: []*busv1.UserFlag{{Rule: rule}}}
		got := cause.Find(&assemble.Trajectory{}, result, nil, nil)
		if len(got) != 1 || got[0].GetKind().String() != "CAUSE_KIND_"+strings.ToUpper(rule) || got[0].GetRole() != user {
			t.Errorf("%s: got %v, want the cause of that name of the user", rule, got)
		}
	}
}
