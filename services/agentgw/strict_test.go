package agentgw_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const mustAlternate = "Conversation roles must alternate user/assistant/user/assistant/..."

// sentMessage is a message of a request, as far as templates look at it.
type sentMessage struct {
	Role      string            `json:"role"`
	Content   string            `json:"content"`
	ToolCalls []json.RawMessage `json:"tool_calls"`
}

// rules says why a template refuses a conversation, "" if it takes it.
type rules func(messages []sentMessage) string

// alternates is the rule of most templates. It skips calls and results if the template knows tools.
func alternates(messages []sentMessage, tools bool) string {
	speaker := 0
	for _, m := range messages {
		if tools && (m.Role == "tool" || len(m.ToolCalls) > 0) {
			continue
		}
		if (m.Role == "user") != (speaker%2 == 0) {
			return mustAlternate
		}
		speaker++
	}
	return ""
}

// withoutSystem returns the messages after a system message.
func withoutSystem(messages []sentMessage) []sentMessage {
	if len(messages) > 0 && messages[0].Role == "system" {
		return messages[1:]
	}
	return messages
}

// templates are the rules of known templates.
func templates() map[string]rules {
	return map[string]rules{
		"Gemma 2": func(messages []sentMessage) string {
			if messages[0].Role == "system" {
				return "System role not supported"
			}
			return alternates(messages, false)
		},
		"Gemma 3":     func(messages []sentMessage) string { return alternates(withoutSystem(messages), false) },
		"Mistral 0.1": func(messages []sentMessage) string { return alternates(messages, false) },
		"Mistral 0.3": func(messages []sentMessage) string { return alternates(withoutSystem(messages), true) },
		"Llama 3.1": func(messages []sentMessage) string {
			if slices.ContainsFunc(messages, func(m sentMessage) bool { return len(m.ToolCalls) > 1 }) {
				return "This model only supports single tool-calls at once!"
			}
			return ""
		},
		"Qwen 2.5": func([]sentMessage) string { return "" },
	}
}

// strictServer is a server whose template refuses some conversations.
type strictServer struct {
	*fakeProvider
	refused int
	// accepted are the bodies of the requests that it answered.
	accepted []string
}

func startStrict(t *testing.T, status int, refuse rules) *strictServer {
	t.Helper()
	s := &strictServer{}
	s.fakeProvider = startProvider(t, func(n int) (int, string) {
		var request struct{ Messages []sentMessage }
		body := s.bodies[n-1]
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			t.Error(err)
		}
		if reason := refuse(request.Messages); reason != "" {
			s.refused++
			return status, fmt.Sprintf(`{"error": {"message": %q}}`, reason)
		}
		s.accepted = append(s.accepted, body)
		return http.StatusOK, textAnswer(openaiModel, "hello")
	})
	return s
}

// strictViews returns turns of a user and of an agent.
func strictViews() []*agentgwv1.RespondRequest {
	result := func(index int32, id string) *worldv1.Message {
		return &worldv1.Message{Index: index, Sender: environment, Recipient: agent, VisibleTo: []worldv1.Role{agent},
			Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{Id: &id, Text: new("done " + id)}}}
	}
	first := []*worldv1.Message{message(0, system, agent, "s"), message(1, user, agent, "u")}
	called := append(slices.Clone(first), call(2, agent, "x()", "call_x", "x"), call(3, agent, "y()", "call_y", "y"), result(4, "call_x"), result(5, "call_y"))
	return []*agentgwv1.RespondRequest{
		{Role: agent, View: first},
		{Role: agent, View: called},
		{Role: agent, View: append(slices.Clone(called), message(6, environment, agent, "timer rings"))},
		{Role: agent, View: append(slices.Clone(called), message(6, agent, user, "a"), message(7, user, agent, "b"))},
		{Role: agent, View: append(slices.Clone(called[:3]), result(4, "call_x"))},
		{Role: agent, View: []*worldv1.Message{message(0, user, agent, "u"), message(1, user, agent, "v")}},
		{Role: user, View: []*worldv1.Message{message(0, system, user, "s"), message(1, user, agent, "u"), message(2, agent, user, "a")}},
		{Role: user, View: []*worldv1.Message{message(0, system, user, "s"), message(1, user, agent, "u"), message(2, user, agent, "v"), message(3, agent, user, "a")}},
	}
}

// strictRequest returns a view as the request of a rollout.
func strictRequest(view *agentgwv1.RespondRequest, rollout, address string) *agentgwv1.RespondRequest {
	request := askModel(openaiModel, address)
	request.RolloutId, request.Role, request.View = rollout, view.GetRole(), view.GetView()
	request.Index = view.GetView()[len(view.GetView())-1].GetIndex() + 1
	return request
}

// TestLongStrictTemplates plays turns against each template, with one gateway in several orders and
// with a new gateway for each turn. Every turn is answered, the conversation that a model gets for
// a turn does not depend on the turns before, and a gateway is refused no turn that is like an
// earlier one.
func TestLongStrictTemplates(t *testing.T) {
	t.Parallel()
	views := strictViews()
	for name, refuse := range templates() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := natstest.Start(t)
			want := make([]string, len(views)) // of a gateway without memory
			for i, view := range views {
				s := startStrict(t, http.StatusBadRequest, refuse)
				if response, err := serve(t, allKeys(), b).Respond(t.Context(), strictRequest(view, fmt.Sprint("alone", i), s.URL)); err != nil || response.GetFailure() != nil {
					t.Fatalf("turn %d: got %v and %v, want an answer", i, response, err)
				}
				want[i] = s.accepted[0]
			}
			for start := 0; start < len(views); start += 3 {
				s := startStrict(t, http.StatusInternalServerError, refuse)
				client := serve(t, allKeys(), b)
				order := append(slices.Clone(views[start:]), views[:start]...)
				for i, view := range append(order, order...) {
					refused := s.refused
					response, err := client.Respond(t.Context(), strictRequest(view, fmt.Sprint("from", start, ".", i), s.URL))
					if err != nil || messagetext.Content(response.GetMessages()[0]) != "hello" {
						t.Fatalf("turn %d: got %v and %v, want an answer", i, response, err)
					}
					if diff := cmp.Diff(want[(start+i)%len(views)], s.accepted[i]); diff != "" {
						t.Errorf("turn %d after those from %d on: the conversation depends on them (-alone +got):\n%s", i, start, diff)
					}
					if i >= len(views) && s.refused != refused {
						t.Errorf("turn %d was refused once more", i)
					}
				}
			}
		})
	}
}

// TestStrictAtOnce plays all turns at once, several times, with one gateway. The model gets the
// same few conversations as one turn after the other.
func TestStrictAtOnce(t *testing.T) {
	t.Parallel()
	for name, refuse := range templates() {
		b := natstest.Start(t)
		ask := func(times int, atOnce bool) (conversations []string) {
			s := startStrict(t, http.StatusBadRequest, refuse)
			client := serve(t, allKeys(), b)
			var group sync.WaitGroup
			for i := range times {
				for j, view := range strictViews() {
					group.Go(func() {
						response, err := client.Respond(t.Context(), strictRequest(view, fmt.Sprintf("once.%t.%d.%d", atOnce, i, j), s.URL))
						if err != nil || response.GetFailure() != nil {
							t.Errorf("%s: turn %d: got %v and %v, want an answer", name, j, response, err)
						}
					})
					if !atOnce {
						group.Wait()
					}
				}
			}
			group.Wait()
			slices.Sort(s.accepted)
			return slices.Compact(s.accepted)
		}
		if diff := cmp.Diff(ask(1, false), ask(5, true)); diff != "" {
			t.Errorf("%s: (-one after the other +at once):\n%s", name, diff)
		}
	}
}

// TestStrictExchange checks what is recorded about a turn that was refused and about a later one,
// and that a replay plays the same.
func TestStrictExchange(t *testing.T) {
	b := natstest.Start(t)
	s := startStrict(t, http.StatusInternalServerError, templates()["Gemma 2"])
	client := serve(t, allKeys(), b)
	view := strictViews()[0]
	for i, want := range []string{"500 200", "200"} {
		request := strictRequest(view, fmt.Sprint("r", i), s.URL)
		request.GetPlayer().GetModel().Attempts = 1 // a refused form is no attempt
		response, err := client.Respond(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		exchange := exchangeOf(t, b, request)
		var got []string
		for _, try := range exchange.GetAttempts() {
			got = append(got, fmt.Sprint(try.GetStatus()))
		}
		if strings.Join(got, " ") != want || string(exchange.GetRequest()) != s.accepted[i] {
			t.Errorf("turn %d: got attempts %v and request %s, want %s and the one that was accepted", i, got, exchange.GetRequest(), want)
		}
		request.Replay = true
		again, err := client.Respond(t.Context(), request)
		if err != nil || messagetext.Content(again.GetMessages()[0]) != messagetext.Content(response.GetMessages()[0]) || s.count() != 2+i {
			t.Errorf("replay of turn %d: got %v and %v after %d requests, want the same without a request", i, again, err, s.count())
		}
	}
}

// TestStrictWithoutForm checks what is said where no form is accepted, and that nothing is sent
// again for another reason, or with compat.
func TestStrictWithoutForm(t *testing.T) {
	const remedy = "; the model's chat template refuses this conversation in every form: "
	for _, test := range []struct {
		name, refusal string
		status        int
		view          int
		compat        bool
		requests      int
		want          []string
	}{
		{"agent", mustAlternate, 500, 3, false, 3, []string{"HTTP 500: " + mustAlternate, remedy, "--chat-template", "--agent hermes:MODEL"}},
		{"user", "System role not supported", 400, 6, false, 2, []string{"HTTP 400: System role not supported", remedy, "--chat-template", "--user plain:MODEL"}},
		{"nothing to arrange", mustAlternate, 400, 0, false, 2, []string{remedy}},
		{"another reason", "Invalid value for messages[1].role", 400, 3, false, 1, []string{"HTTP 400: Invalid value for messages[1].role (at "}},
		{"compat", mustAlternate, 400, 3, true, 1, []string{"HTTP 400: " + mustAlternate + " (at "}},
	} {
		s := startStrict(t, test.status, func([]sentMessage) string { return test.refusal })
		request := strictRequest(strictViews()[test.view], "r", s.URL)
		request.Compat = test.compat
		response, err := serve(t, allKeys(), natstest.Start(t)).Respond(t.Context(), request)
		if err != nil || response.GetFailure().GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER || s.count() != test.requests {
			t.Errorf("%s: got %v and %v after %d requests, want a failure of the provider after %d", test.name, response, err, s.count(), test.requests)
		}
		detail := response.GetFailure().GetDetail()
		for _, want := range test.want {
			if !strings.Contains(detail, want) {
				t.Errorf("%s: got %q, want %q in it", test.name, detail, want)
			}
		}
		if len(test.want) == 1 && test.want[0] != remedy && strings.Contains(detail, remedy) {
			t.Errorf("%s: got %q, want no remedy", test.name, detail)
		}
	}
}
