package agentgw_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const openaiModel = "openai"

// exchangeOf returns the stored exchange of a turn.
func exchangeOf(t *testing.T, b *bus.Bus, request *agentgwv1.RespondRequest) *agentgwv1.Exchange {
	t.Helper()
	raw, _, err := b.Turn(t.Context(), request.GetRolloutId(), request.GetIndex())
	if err != nil {
		t.Fatal(err)
	}
	turn := &agentgwv1.RecordedTurn{}
	if err := proto.Unmarshal(raw, turn); err != nil {
		t.Fatal(err)
	}
	return turn.GetExchange()
}

// TestExchange fails a provider once. Both tries are stored with the request, and without the key.
func TestExchange(t *testing.T) {
	b := natstest.Start(t)
	answer := textAnswer(openaiModel, "hello "+modelKey)
	f := startProvider(t, func(n int) (int, string) {
		if n == 1 {
			return http.StatusServiceUnavailable, `{"error":{"message":"busy with ` + modelKey + `"}}`
		}
		return http.StatusOK, answer
	})
	request := askModel(openaiModel, f.URL)
	if _, err := serve(t, allKeys(), b).Respond(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	answer = strings.ReplaceAll(answer, modelKey, "[key]")
	want := &agentgwv1.Exchange{
		Provider: openaiModel, Model: "m", Path: "/chat/completions", Request: []byte(f.bodies[0]), RequestBytes: int64(len(f.bodies[0])),
		Attempts: []*agentgwv1.Attempt{
			{Status: 503, Failure: "HTTP 503: busy with [key] (at " + f.URL + "/chat/completions)"},
			{Status: 200, Answer: []byte(answer), AnswerBytes: int64(len(answer))},
		},
		Usage: &agentgwv1.Usage{InputTokens: 3, OutputTokens: 2},
	}
	if diff := cmp.Diff(want, exchangeOf(t, b, request), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExchangeContinues fails all tries of a turn and then succeeds. The stored exchange begins
// with the earlier tries.
func TestExchangeContinues(t *testing.T) {
	b := natstest.Start(t)
	f := startProvider(t, func(n int) (int, string) {
		if n <= 2 {
			return http.StatusServiceUnavailable, `{"error":{"message":"busy"}}`
		}
		return http.StatusOK, textAnswer(openaiModel, "anew")
	})
	client := serve(t, allKeys(), b)
	request := askModel(openaiModel, f.URL)
	request.GetPlayer().GetModel().Attempts = 2
	if got, err := client.Respond(t.Context(), request); status.Code(err) != codes.Aborted {
		t.Fatalf("got %v and %v, want ABORTED", got, err)
	}
	if got := len(exchangeOf(t, b, request).GetAttempts()); got != 2 {
		t.Errorf("after the failure: got %d tries, want 2", got)
	}
	response, err := client.Respond(t.Context(), request)
	if err != nil || messagetext.Content(response.GetMessages()[0]) != "anew" {
		t.Fatalf("got %v and %v, want an answer", response, err)
	}
	tries := exchangeOf(t, b, request).GetAttempts()
	if len(tries) != 3 || tries[0].GetFailure() == "" || tries[2].GetFailure() != "" {
		t.Errorf("after the answer: got %v, want two failures and the answer", tries)
	}
}

// TestReplyToAnotherConversation stores a reply to another conversation, as after a log has lost
// its tail. The turn is asked for, and the new reply replaces it.
func TestReplyToAnotherConversation(t *testing.T) {
	var asked int
	f := startProvider(t, func(int) (int, string) {
		asked++
		return http.StatusOK, textAnswer(openaiModel, fmt.Sprint("answer ", asked))
	})
	client := serve(t, allKeys(), natstest.Start(t))
	request := askModel(openaiModel, f.URL)
	for _, c := range []struct{ conversation, text, want string }{
		{"one", "hello", "answer 1"}, {"one", "hello", "answer 1"}, {"other", "goodbye", "answer 2"}, {"other", "goodbye", "answer 2"},
	} {
		turn := proto.CloneOf(request)
		turn.ConversationDigest = []byte(c.conversation)
		turn.View[len(turn.GetView())-1].Body = &worldv1.Message_Text{Text: c.text}
		response, err := client.Respond(t.Context(), turn)
		if err != nil {
			t.Fatal(err)
		}
		if got := messagetext.Content(response.GetMessages()[0]); got != c.want {
			t.Errorf("conversation %s: got %q, want %q", c.conversation, got, c.want)
		}
	}
}

// TestExchangeIsTruncated keeps the beginning of a too long exchange. The reply stays whole.
func TestExchangeIsTruncated(t *testing.T) {
	const limit = 2048
	for _, c := range []struct {
		name            string
		asked, answered int
	}{{"request", 3 * limit, 10}, {"answer", 10, 3 * limit}, {"both", 3 * limit, 3 * limit}} {
		b := natstest.Start(t)
		f := startProvider(t, always(http.StatusOK, textAnswer(openaiModel, strings.Repeat("a", c.answered))))
		cfg := allKeys()
		cfg.ModelExchangeBytes = limit
		request := askModel(openaiModel, f.URL)
		question := strings.Repeat("q", c.asked)
		request.GetView()[len(request.GetView())-1].Body = &worldv1.Message_Text{Text: question}
		response, err := serve(t, cfg, b).Respond(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(messagetext.Content(response.GetMessages()[0])); got != c.answered {
			t.Errorf("%s: got an answer of %d, want %d", c.name, got, c.answered)
		}
		got := exchangeOf(t, b, request)
		try := got.GetAttempts()[0]
		if kept := len(got.GetRequest()) + len(try.GetAnswer()); kept > limit {
			t.Errorf("%s: got %d bytes, want at most %d", c.name, kept, limit)
		}
		if !strings.HasPrefix(f.bodies[0], string(got.GetRequest())) || got.GetRequestBytes() != int64(len(f.bodies[0])) {
			t.Errorf("%s: got %d of %d bytes of the request, want the beginning of %d", c.name, len(got.GetRequest()), got.GetRequestBytes(), len(f.bodies[0]))
		}
		if want := int64(len(textAnswer(openaiModel, strings.Repeat("a", c.answered)))); try.GetAnswerBytes() != want {
			t.Errorf("%s: got an answer of %d bytes, want %d", c.name, try.GetAnswerBytes(), want)
		}
	}
}

// TestReplay answers from the record alone.
func TestReplay(t *testing.T) {
	b := natstest.Start(t)
	f := startProvider(t, always(http.StatusOK, textAnswer(openaiModel, "hello")))
	client := serve(t, withKeys(nil), b)
	request := askModel(openaiModel, f.URL)
	request.Replay = true
	const missing = "replay: nothing is recorded for message 2 of rollout "
	for range 2 { // the failure is not recorded
		response, err := client.Respond(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		want := &agentgwv1.RespondResponse{Failure: &agentgwv1.Failure{
			Class: agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL, ExceptionType: "LookupError", Detail: missing + request.GetRolloutId(),
		}}
		if diff := cmp.Diff(want, response, protocmp.Transform()); diff != "" {
			t.Errorf("nothing recorded (-want +got):\n%s", diff)
		}
	}
	plugin := ask(play(t, "grpc://127.0.0.1:1"))
	plugin.Replay, plugin.RolloutId = true, "plugin"
	if response, err := client.Respond(t.Context(), plugin); err != nil || response.GetFailure().GetDetail() != missing+"plugin" {
		t.Errorf("plug-in: got %v and %v, want a failure", response, err)
	}
	text := "recorded"
	reply := &agentgwv1.Reply{Messages: ask(nil).GetView()[:1], Usage: &agentgwv1.Usage{InputTokens: 7}}
	reply.Messages[0].Body = &worldv1.Message_Text{Text: text}
	raw, err := proto.Marshal(&agentgwv1.RecordedTurn{Reply: reply})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.PutTurn(t.Context(), request.GetRolloutId(), request.GetIndex(), raw); err != nil {
		t.Fatal(err)
	}
	response, err := client.Respond(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	want := &agentgwv1.RespondResponse{Messages: reply.GetMessages(), Usage: reply.GetUsage()}
	if diff := cmp.Diff(want, response, protocmp.Transform()); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if n := f.count(); n != 0 {
		t.Errorf("requests: got %d, want none", n)
	}
}
