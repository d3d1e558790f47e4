package attach_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
)

// openStream opens a stream under the name mine. The test itself sends and receives every message.
func openStream(t *testing.T, r replica) (stream agentv1.AttachService_AttachClient, leave context.CancelFunc) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	stream, err := r.client.Attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: "mine"}}); err != nil {
		t.Fatal(err)
	}
	return stream, leave
}

func answer(id int64, text string) *agentv1.AttachRequest {
	return &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Answer{Answer: &agentv1.AttachAnswer{
		RequestId: id, Response: &agentv1.ActResponse{Text: text},
	}}}
}

func receive(t *testing.T, stream agentv1.AttachService_AttachClient) *agentv1.AttachResponse {
	t.Helper()
	request, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// TestUnsolicitedAnswers uses a stream with a full window that sends unsolicited answers. Its turns
// move to another stream.
func TestUnsolicitedAnswers(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	flooding, leave := openStream(t, r)
	if _, _, err := r.Act(askedContext(t, flooding), attach.Address{Name: "mine"}, &agentv1.ActRequest{ConversationId: "first"}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			act := &agentv1.ActRequest{ConversationId: fmt.Sprint(i), Messages: []*agentv1.Message{{Text: strings.Repeat("x", 256<<10)}}}
			ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
			defer cancel()
			if got, _, err := r.Act(ctx, attach.Address{Name: "mine"}, act); err != nil || got.GetText() != fmt.Sprint("b ", i) {
				t.Errorf("Act(%d): got %q, %v, want it from b", i, got.GetText(), err)
			}
		})
	}
	receive(t, flooding) // what follows does not fit into the window
	var strays sync.WaitGroup
	strays.Go(func() {
		for sent := error(nil); sent == nil; { // until the stream ends or nothing more fits
			sent = flooding.Send(answer(99, "stray"))
		}
	})
	serve(t, r, "b")
	group.Wait()
	leave()
	strays.Wait()
}

// askedContext returns the test's context after the stream has answered one request.
func askedContext(t *testing.T, stream agentv1.AttachService_AttachClient) context.Context {
	t.Helper()
	var group sync.WaitGroup
	group.Go(func() {
		request, err := stream.Recv()
		if err == nil {
			err = stream.Send(answer(request.GetRequestId(), "first"))
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(group.Wait)
	return t.Context()
}

// TestLateAnswers answers more turns too late than an agent may send unsolicited answers.
func TestLateAnswers(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	stream, _ := openStream(t, r)
	for i := range 2500 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, _, err := r.Act(ctx, attach.Address{Name: "mine"}, &agentv1.ActRequest{ConversationId: "slow"})
			ended <- err
		}()
		id := receive(t, stream).GetRequestId()
		cancel()
		if err := <-ended; err == nil {
			t.Fatal("a turn that was given up: got an answer, want none")
		}
		if err := stream.Send(answer(id, "late")); err != nil {
			t.Fatalf("late answer %d: %v", i, err)
		}
	}
	got := make(chan string, 1)
	go func() {
		text, err := act(t, r, "slow")
		got <- fmt.Sprint(text, err)
	}()
	request := receive(t, stream)
	if err := stream.Send(answer(request.GetRequestId(), "in time ")); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "in time <nil>" {
		t.Errorf("the turn after them: got %q, want its own answer", text)
	}
}

// TestWrongAnswers answers twice, for a turn of another stream, and out of order. Each turn gets
// its own answer.
func TestWrongAnswers(t *testing.T) {
	b := natstest.Start(t)
	r := startReplica(t, b)
	stream, _ := openStream(t, r)
	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() {
			want := fmt.Sprint("to ", i)
			if got, err := act(t, r, fmt.Sprint(i)); err != nil || got != want {
				t.Errorf("Act(%d): got %q, %v, want %q", i, got, err, want)
			}
		})
	}
	var request []*agentv1.AttachResponse
	for range 3 {
		request = append(request, receive(t, stream))
	}
	for i := len(request) - 1; i >= 0; i-- { // the last first
		text := "to " + request[i].GetRequest().GetConversationId()
		for _, message := range []*agentv1.AttachRequest{
			answer(77, "for another stream"), answer(-1, "for nobody"), answer(request[i].GetRequestId(), text), answer(request[i].GetRequestId(), "twice"),
		} {
			if err := stream.Send(message); err != nil {
				t.Fatal(err)
			}
		}
	}
	group.Wait()
}

// TestUnsendableRequest asks for a turn that cannot be sent. Only that turn fails; the stream and
// its other turns continue.
func TestUnsendableRequest(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	stream, _ := openStream(t, r)
	beside := make(chan string, 1)
	go func() {
		text, err := act(t, r, "beside")
		beside <- fmt.Sprint(text, err)
	}()
	request := receive(t, stream)
	for name, request := range map[string]*agentv1.ActRequest{
		"no UTF-8": {ConversationId: "\xff"},
		"too long": {ConversationId: "x", Messages: []*agentv1.Message{{Text: strings.Repeat("x", 2<<20)}}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		if _, _, err := r.Act(ctx, attach.Address{Name: "mine"}, request); !errors.Is(err, attach.ErrUnsendable) {
			t.Errorf("%s: got %v, want ErrUnsendable", name, err)
		}
		cancel()
	}
	if err := stream.Send(answer(request.GetRequestId(), "alive ")); err != nil {
		t.Fatal(err)
	}
	if got := <-beside; got != "alive <nil>" {
		t.Errorf("the turn beside it: got %q, want its answer", got)
	}
}

// TestAffinityWithNewStream begins conversations before a second stream of the name opens.
func TestAffinityWithNewStream(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	serve(t, r, "a")
	for i := range 50 {
		if got, err := act(t, r, fmt.Sprint(i)); err != nil || got[:1] != "a" {
			t.Fatalf("Act: got %q, %v, want it from a", got, err)
		}
	}
	serve(t, r, "b")
	for i, seen := 50, false; !seen; i++ { // until the second one is known
		got, err := act(t, r, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		seen = got[:1] == "b"
	}
	for i := range 50 {
		if got, err := act(t, r, fmt.Sprint(i)); err != nil || got[:1] != "a" {
			t.Errorf("conversation %d: got %q, %v, want it from a, where it began", i, got, err)
		}
	}
}

// TestNoAnswer distinguishes an agent that does not answer from a missing one.
func TestNoAnswer(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	stream, _ := openStream(t, r)
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := r.Act(ctx, attach.Address{Name: "mine"}, &agentv1.ActRequest{ConversationId: "x"})
		ended <- err
	}()
	if request := receive(t, stream); request.GetTimeoutMs() < 1 || request.GetTimeoutMs() > testTimeout.Milliseconds() {
		t.Errorf("its time: got %d ms, want what was left of %d", request.GetTimeoutMs(), testTimeout.Milliseconds())
	}
	cancel() // it was asked, so its time may be over
	if err := <-ended; !errors.Is(err, attach.ErrNoAnswer) {
		t.Errorf("Act of a silent agent: got %v, want ErrSilent", err)
	}
}

// TestHungAgent has one of two processes of a name hang, or answer UNAVAILABLE to every attempt.
// Its conversations then ask the other one, at this replica and over the relay.
func TestHungAgent(t *testing.T) {
	b := natstest.Start(t)
	one, two := startReplica(t, b), startReplica(t, b)
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	hung, _ := openStream(t, one)
	group.Go(func() {
		for request, err := hung.Recv(); err == nil; request, err = hung.Recv() {
			if request.GetRequest().GetConversationId() == "unavailable" {
				_ = hung.Send(&agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Answer{Answer: &agentv1.AttachAnswer{
					RequestId: request.GetRequestId(), Code: int32(codes.Unavailable),
				}}})
			}
		}
	})
	ask := func(asked replica, conversation string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if conversation == "unavailable" {
			ctx = t.Context()
		}
		answer, _, err := asked.Act(ctx, attach.Address{Name: "mine"}, &agentv1.ActRequest{ConversationId: conversation})
		return answer.GetText(), err
	}
	conversations := map[string]replica{"hangs": one, "relayed": two, "unavailable": one}
	for conversation, asked := range conversations { // with the only one
		_, err := ask(asked, conversation)
		for errors.Is(err, attach.ErrNotAttached) { // until it is known there
			_, err = ask(asked, conversation)
		}
		if !errors.Is(err, attach.ErrNoAnswer) && !errors.Is(err, attach.ErrRetriesExhausted) {
			t.Fatalf("%s: got error %v, want that it did not answer", conversation, err)
		}
	}
	serve(t, one, "b")
	for i, got := 0, ""; got == ""; i++ { // until the second one is known
		got, _ = ask(one, fmt.Sprint(i))
	}
	for conversation, asked := range conversations {
		got, err := ask(asked, conversation)
		for tries := 0; err != nil && tries < 20; tries++ { // the relay may notice the end later
			got, err = ask(asked, conversation)
		}
		if err != nil || got != "b "+conversation {
			t.Errorf("%s again: got %q and %v, want it from b", conversation, got, err)
		}
	}
}

// TestDetachWithManyTurns ends a stream with a thousand turns in flight. Another stream answers
// them all.
func TestDetachWithManyTurns(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	stream, leave := openStream(t, r)
	const turns = 1000
	var group sync.WaitGroup
	for i := range turns {
		group.Go(func() {
			if got, err := act(t, r, fmt.Sprint(i)); err != nil || got != fmt.Sprint("b ", i) {
				t.Errorf("Act(%d): got %q, %v, want it from b", i, got, err)
			}
		})
	}
	for range turns {
		receive(t, stream)
	}
	leave()
	serve(t, r, "b")
	group.Wait()
}

// TestRetries answers UNAVAILABLE, first to four tries, then to all.
func TestRetries(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	stream, _ := openStream(t, r)
	for name, test := range map[string]struct {
		busy int
		want error
	}{"for a while": {4, nil}, "for good": {5, attach.ErrRetriesExhausted}} {
		ended := make(chan error, 1)
		go func() {
			_, err := act(t, r, name)
			ended <- err
		}()
		for range test.busy {
			busy := answer(receive(t, stream).GetRequestId(), "")
			busy.GetAnswer().Response, busy.GetAnswer().Error, busy.GetAnswer().Code = nil, "warming up", int32(codes.Unavailable)
			if err := stream.Send(busy); err != nil {
				t.Fatal(err)
			}
		}
		if test.want == nil {
			if err := stream.Send(answer(receive(t, stream).GetRequestId(), "here")); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), "warming up") {
			t.Errorf("busy %s: got %v, want %v with its reason", name, err, test.want)
		}
	}
}

// TestAnsweredErrors answers errors with and without a code, at the agent's replica and over
// another one.
func TestAnsweredErrors(t *testing.T) {
	b := natstest.Start(t)
	one, two := startReplica(t, b), startReplica(t, b)
	stream, _ := openStream(t, one)
	for _, test := range []struct {
		error string
		code  int32
		want  codes.Code
		text  string
	}{
		{"boom", 0, codes.Unknown, "boom"}, {"boom", int32(codes.Internal), codes.Internal, "boom"}, {"", int32(codes.Aborted), codes.Aborted, "it gives no reason"},
		{"boom", -1, codes.Unknown, "boom"}, {"boom", 99, codes.Code(99), "boom"},
	} {
		for _, r := range []replica{one, two} {
			ended := make(chan error, 1)
			go func() {
				_, err := act(t, r, "x")
				ended <- err
			}()
			failing := answer(receive(t, stream).GetRequestId(), "")
			failing.GetAnswer().Error, failing.GetAnswer().Code = test.error, test.code
			if err := stream.Send(failing); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; status.Code(err) != test.want || status.Convert(err).Message() != test.text {
				t.Errorf("error %q with code %d: got %v, want %s with %q", test.error, test.code, err, test.want, test.text)
			}
		}
	}
}

// TestReplicaDies stops the replica of an agent while another one relays turns to it. The agent
// reconnects elsewhere.
func TestReplicaDies(t *testing.T) {
	b := natstest.Start(t)
	one, two := startReplica(t, b), startReplica(t, b)
	stream, _ := openStream(t, one)
	const turns = 100
	var group sync.WaitGroup
	for i := range turns {
		group.Go(func() {
			if got, err := act(t, two, fmt.Sprint(i)); err != nil || got != fmt.Sprint("b ", i) {
				t.Errorf("Act(%d): got %q, %v, want it from the next stream", i, got, err)
			}
		})
	}
	for range turns {
		receive(t, stream)
	}
	one.stop()
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream of the replica that died: got a request, want an error")
	}
	serve(t, two, "b")
	group.Wait()
}

// TestReplicaDrains drains the replica of an agent while another one relays a turn to it. The turn
// is answered, and later ones go to an agent elsewhere.
func TestReplicaDrains(t *testing.T) {
	b := natstest.Start(t)
	one, two := startReplica(t, b), startReplica(t, b)
	stream, _ := openStream(t, one)
	got := make(chan string, 2)
	play := func(conversation string) {
		text, err := act(t, two, conversation)
		if err != nil {
			text = err.Error()
		}
		got <- text
	}
	go play("x")
	first := receive(t, stream)
	drained := make(chan error, 1)
	go func() { drained <- one.Drain(t.Context()) }()
	for relayed := true; relayed; { // until it accepts no more
		var err error
		if relayed, err = two.IsAttached(t.Context(), attach.Address{Name: "mine"}); err != nil {
			t.Fatal(err)
		}
	}
	go play("y")
	serve(t, two, "b")
	if text := <-got; text != "b y" {
		t.Errorf("turn after the drain began: got %q, want it from the other agent", text)
	}
	if err := stream.Send(answer(first.GetRequestId(), "a x")); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "a x" {
		t.Errorf("turn in flight: got %q, want its answer", text)
	}
	if err := <-drained; err != nil {
		t.Errorf("Drain: got %v, want nil", err)
	}
}

// TestRelayedTooLong relays an answer that exceeds the limit.
func TestRelayedTooLong(t *testing.T) {
	b := natstest.Start(t)
	one, two := startReplica(t, b), startReplica(t, b)
	stream, _ := openStream(t, one)
	ended := make(chan error, 1)
	go func() {
		_, err := act(t, two, "x")
		ended <- err
	}()
	long := answer(receive(t, stream).GetRequestId(), strings.Repeat("x", 5<<20))
	if err := stream.Send(long); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; status.Code(err) != codes.OutOfRange || !strings.Contains(err.Error(), "expected at most") {
		t.Errorf("Act: got %v, want OUT_OF_RANGE that says what is expected at most", err)
	}
}

// TestManyStreams opens more streams than a replica takes, without a word. An agent that was there
// before still plays.
func TestManyStreams(t *testing.T) {
	const streams = 5000
	r := startReplica(t, natstest.Start(t))
	serve(t, r, "a")
	ctx, leave := context.WithCancel(t.Context())
	refused := make(chan error, streams)
	var group sync.WaitGroup
	for range streams {
		stream, err := r.client.Attach(ctx)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			_, err := stream.Recv()
			refused <- err
		})
	}
	select {
	case err := <-refused:
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one stream too many: got %v, want %v", err, codes.ResourceExhausted)
		}
	case <-time.After(testTimeout):
		t.Errorf("%d streams: got no refusal", streams)
	}
	if got, err := act(t, r, "x"); err != nil || got != "a x" {
		t.Errorf("Act: got %q, %v, want it from the agent", got, err)
	}
	leave()
	group.Wait()
}
