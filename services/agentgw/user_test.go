package agentgw_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// fifthRequest returns a request after four empty turns of the role.
func fifthRequest(player *agentgwv1.Player, role worldv1.Role, compat bool) *agentgwv1.RespondRequest {
	other := agent
	if role == agent {
		other = user
	}
	request := &agentgwv1.RespondRequest{Player: player, Role: role, Compat: compat, RolloutId: fmt.Sprintf("fifth.%s.%t", role, compat)}
	for i := range int32(4) {
		request.View = append(request.View, message(2*i, other, role, "hello?"), message(2*i+1, role, other, ""))
	}
	request.View = append(request.View, message(8, other, role, "hello?"))
	request.Index = int32(len(request.View))
	return request
}

// TestFailingUser fails the user simulator. The rollout ends without a fault of the agent, the
// spending is stored, and the turn is asked anew when the rollout is played again. Compat records
// the failure, as it does that of an agent.
func TestFailingUser(t *testing.T) {
	const detail = "the simulated user: 5 turns in a row could not be used; the last: the answer has neither text nor calls"
	for _, test := range []struct {
		role   worldv1.Role
		compat bool
		want   string
	}{
		{user, false, "USER " + detail + " 1, then hello 2"},
		{user, true, "MODEL " + detail + " 1, then MODEL " + detail + " 1"},
		{agent, false, "MODEL " + strings.TrimPrefix(detail, "the simulated user: ") + " 1, then MODEL " + strings.TrimPrefix(detail, "the simulated user: ") + " 1"},
	} {
		b := natstest.Start(t)
		client := serve(t, withKeys(nil), b)
		f := startProvider(t, func(n int) (int, string) {
			if n == 1 {
				return http.StatusOK, `{"choices":[{"message":{"content":null}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}`
			}
			return http.StatusOK, textAnswer(openaiModel, "hello")
		})
		request := fifthRequest(askModel(openaiModel, f.URL).GetPlayer(), test.role, test.compat)
		var got []string
		for range 2 {
			response, err := client.Respond(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			said := strings.TrimPrefix(response.GetFailure().GetClass().String(), "FAILURE_CLASS_") + " " + response.GetFailure().GetDetail()
			if response.GetFailure() == nil {
				said = messagetext.Content(response.GetMessages()[0])
			} else if n := response.GetUsage().GetInputTokens(); n != 7 {
				t.Errorf("%s: got %d tokens in, want the 7 that were paid for", test.role, n)
			}
			got = append(got, fmt.Sprint(said, " ", f.count()))
		}
		if text := strings.Join(got, ", then "); text != test.want {
			t.Errorf("%s, compat %t: got %s, want %s", test.role, test.compat, text, test.want)
		}
		if n, tries := f.count(), exchangeOf(t, b, request).GetAttempts(); len(tries) != n || (tries[0].GetFailure() != "") != (n == 2) {
			t.Errorf("%s, compat %t: got tries %v, want %d, the first one marked as failed if there is another", test.role, test.compat, tries, n)
		}
	}
}

// TestFailingUserPlugin checks that a failing plug-in as the user does not count against the agent.
func TestFailingUserPlugin(t *testing.T) {
	for role, want := range map[worldv1.Role]agentgwv1.FailureClass{
		agent: agentgwv1.FailureClass_FAILURE_CLASS_MODEL, user: agentgwv1.FailureClass_FAILURE_CLASS_USER,
	} {
		address, _ := servePlugin(t, answering(calls(slices.Repeat([]*agentv1.ToolCall{{Name: "end_conversation"}}, 1000)...)))
		response, err := serve(t, withKeys(nil), natstest.Start(t)).Respond(t.Context(), fifthRequest(plugin(address, 0), role, false))
		if err != nil || response.GetFailure().GetClass() != want {
			t.Errorf("%s: got %v and %v, want a failure of class %s", role, response, err, want)
		}
	}
}
