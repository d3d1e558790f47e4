package agentgw_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// slowModel is a provider that announces each request and answers on command. Its n-th answer is
// "answer n".
type slowModel struct {
	address string
	asked   chan struct{}
	answer  chan struct{}
}

func startSlow(t *testing.T) *slowModel {
	t.Helper()
	m := &slowModel{asked: make(chan struct{}, 10), answer: make(chan struct{}, 10)}
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else nobody notices that the caller has gone
		n := requests.Add(1)
		m.asked <- struct{}{}
		select {
		case <-m.answer:
			_, _ = io.WriteString(w, textAnswer(openaiModel, fmt.Sprint("answer ", n)))
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	m.address = server.URL
	return m
}

// turnResult is the result of a call.
type turnResult struct {
	response *agentgwv1.RespondResponse
	err      error
}

func respond(ctx context.Context, client agentgwv1.AgentGatewayServiceClient, request *agentgwv1.RespondRequest) <-chan turnResult {
	done := make(chan turnResult, 1)
	go func() {
		response, err := client.Respond(ctx, request)
		done <- turnResult{response, err}
	}()
	return done
}

// TestTurnAskedTwice moves a rollout to another worker while its turn is in flight. Both get the
// one answer that is paid for.
func TestTurnAskedTwice(t *testing.T) {
	m := startSlow(t)
	client := serve(t, withKeys(nil), natstest.Start(t))
	request := askModel(openaiModel, m.address)
	request.Fresh = true
	first := respond(t.Context(), client, request)
	<-m.asked
	request = proto.CloneOf(request)
	request.Fresh = false // it is not the first who plays the rollout
	second := respond(t.Context(), client, request)
	leaving, leave := context.WithCancel(t.Context())
	third := respond(leaving, client, request)
	leave()
	if got := <-third; status.Code(got.err) != codes.Canceled {
		t.Errorf("who leaves: got %v, want %s", got.err, codes.Canceled)
	}
	m.answer <- struct{}{}
	for name, done := range map[string]<-chan turnResult{"first": first, "second": second} {
		if got := <-done; got.err != nil || messagetext.Content(got.response.GetMessages()[0]) != "answer 1" {
			t.Errorf("%s: got %v and %v, want the first answer", name, got.response, got.err)
		}
	}
	if len(m.asked) > 0 {
		t.Error("the provider was asked twice")
	}
}

// TestCallerGone cancels the call of a turn in flight, as a killed worker does. The next call gets
// its answer.
func TestCallerGone(t *testing.T) {
	m := startSlow(t)
	client := serve(t, withKeys(nil), natstest.Start(t))
	request := askModel(openaiModel, m.address)
	request.Fresh = true
	ctx, leave := context.WithCancel(t.Context())
	first := respond(ctx, client, request)
	<-m.asked
	leave()
	if got := <-first; status.Code(got.err) != codes.Canceled {
		t.Errorf("who leaves: got %v, want %s", got.err, codes.Canceled)
	}
	request = proto.CloneOf(request)
	request.Fresh = false
	second := respond(t.Context(), client, request)
	m.answer <- struct{}{}
	if got := <-second; got.err != nil || messagetext.Content(got.response.GetMessages()[0]) != "answer 1" {
		t.Errorf("got %v and %v, want the answer to the request of who left", got.response, got.err)
	}
	if len(m.asked) > 0 {
		t.Error("the provider was asked twice")
	}
}

// TestTurnAtTwoGateways asks two gateways at once. Both return the recorded answer.
func TestTurnAtTwoGateways(t *testing.T) {
	m, b := startSlow(t), natstest.Start(t)
	request := askModel(openaiModel, m.address)
	request.Fresh = true
	first := respond(t.Context(), serve(t, withKeys(nil), b), request)
	second := respond(t.Context(), serve(t, withKeys(nil), b), request)
	<-m.asked
	<-m.asked
	m.answer <- struct{}{}
	m.answer <- struct{}{}
	one, two := <-first, <-second
	if err := errors.Join(one.err, two.err); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one.response, two.response, protocmp.Transform()); diff != "" {
		t.Errorf("the answers of two gateways differ:\n%s", diff)
	}
	text := messagetext.Content(one.response.GetMessages()[0])
	tries := exchangeOf(t, b, request).GetAttempts()
	if len(tries) != 1 || string(tries[0].GetAnswer()) != textAnswer(openaiModel, text) {
		t.Errorf("got tries %v in the record, want the one that said %q", tries, text)
	}
}

// unreadableTurns holds a turn of another gateway that cannot be read yet.
type unreadableTurns struct{ *bus.Bus }

func (unreadableTurns) Turn(context.Context, string, int32) ([]byte, uint64, error) {
	return nil, 0, bus.ErrNotFound
}

func (unreadableTurns) RecordTurn(context.Context, bus.TurnRecord) error {
	return bus.ErrExists
}

// TestTurnUnrecorded returns no answer that may differ from the recorded one.
func TestTurnUnrecorded(t *testing.T) {
	f := startProvider(t, always(http.StatusOK, textAnswer(openaiModel, "hello")))
	server, err := agentgw.NewServer(withKeys(nil), unreadableTurns{natstest.Start(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	request := askModel(openaiModel, f.URL)
	if got, err := server.Respond(t.Context(), request); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v and %v, want %s", got, err, codes.Unavailable)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
