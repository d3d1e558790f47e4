package attach_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	rightToken = "the-right-token-of-mine"
	wrongToken = "another-token-than-mine"
)

// secured is the address of the agent mine with a token, "" for none.
func secured(t *testing.T, token string) attach.Address {
	t.Helper()
	at := attach.Address{Name: "mine"}
	if token != "" {
		var err error
		if at.Secret, err = player.SecretDigest("mine", token); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// knock opens a stream as a process with a token, "" for none, whose instance is self.
func knock(t *testing.T, r replica, token, self string) agentv1.AttachService_AttachClient {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	stream, err := r.client.Attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: "mine"}, Instance: self, Software: "test"}); err != nil {
		t.Fatal(err)
	}
	return stream
}

// echo answers what a stream asks for with self, until the stream ends. The channel has its error.
func echo(stream agentv1.AttachService_AttachClient, self string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		for {
			request, err := stream.Recv()
			if err == nil {
				err = stream.Send(answer(request.GetRequestId(), self))
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	return ended
}

// ask asks for a turn.
func ask(t *testing.T, r replica, at attach.Address, conversation string) (string, *agentgwv1.Instance, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	turn, by, err := r.Act(ctx, at, &agentv1.ActRequest{ConversationId: conversation})
	return turn.GetText(), by, err
}

// expectRefused checks that a process with a token is refused. The reason must not repeat tokens.
func expectRefused(t *testing.T, err error, reason string) {
	t.Helper()
	text := status.Convert(err).Message()
	if status.Code(err) != codes.PermissionDenied || !strings.HasPrefix(text, reason) || strings.Contains(text, rightToken) || strings.Contains(text, wrongToken) {
		t.Errorf("got %v, want PERMISSION_DENIED with %q", err, reason)
	}
}

const (
	noToken       = "agent mine refused: the name has a secret, but this process has no token: attach with that of the run, or under another name"
	anotherToken  = "agent mine refused: the token is not the secret of the name: attach with that of the run, or under another name"
	heldByAnother = "agent mine refused: another process holds the name with a secret"
)

// TestSecret plays turns of a name with a secret at two replicas, while processes without it attach
// before and after the right one, and when that has left. Only the right one is asked.
func TestSecret(t *testing.T) {
	b := natstest.Start(t)
	one, two := startReplica(t, b), startReplica(t, b)
	replicas := []replica{one, two}
	at := secured(t, rightToken)
	var early []<-chan error
	for _, r := range replicas {
		early = append(early, echo(knock(t, r, "", "thief"), "stolen"))
		echo(knock(t, r, wrongToken, "thief"), "stolen")
	}
	var group sync.WaitGroup
	for i, r := range replicas {
		group.Go(func() {
			if got, _, err := ask(t, r, at, fmt.Sprint("early", i)); err != nil || got != "right" {
				t.Errorf("turn before the right one attached: got %q, %v, want it from that", got, err)
			}
		})
	}
	for _, ended := range early {
		expectRefused(t, <-ended, "agent mine refused: ") // by the run, or because another one holds the name already
	}
	right := knock(t, one, rightToken, "holder")
	echo(right, "right")
	group.Wait()
	refused := func(when string) {
		t.Helper()
		for _, r := range replicas {
			for token, reason := range map[string]string{"": noToken, wrongToken: anotherToken} {
				t.Log(when)
				expectRefused(t, <-echo(knock(t, r, token, "thief"), "stolen"), reason)
			}
		}
	}
	refused("while it is held")
	for i := range 50 {
		for _, r := range replicas {
			got, by, err := ask(t, r, at, fmt.Sprint(i))
			if err != nil || got != "right" || by.GetId() != "holder" || by.GetSoftware() != "test" || by.GetPeer() == "" {
				t.Errorf("turn %d: got %q by %v, %v, want it from the holder", i, got, by, err)
			}
		}
	}
	if err := right.CloseSend(); err != nil {
		t.Fatal(err)
	}
	refused("after the holder left")
	echo(knock(t, two, rightToken, "second"), "again")
	if got, by, err := ask(t, one, at, "last"); err != nil || got != "again" || by.GetId() != "second" {
		t.Errorf("turn of the second holder: got %q by %v, %v", got, by, err)
	}
}

// TestHeldName holds a name with a secret before any run asks for it. Other replicas refuse
// processes without one, and runs without one are not ready.
func TestHeldName(t *testing.T) {
	b := natstest.Start(t)
	one, two, three := startReplica(t, b), startReplica(t, b), startReplica(t, b)
	echo(knock(t, one, rightToken, "holder"), "right")
	for held := false; !held; { // it takes a moment until a stream is known
		var err error
		if held, err = two.IsAttached(t.Context(), secured(t, rightToken)); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := three.IsAttached(t.Context(), secured(t, "")); there || !errors.Is(err, attach.ErrSecretMissing) {
		t.Errorf("run without a secret: got %v, %v, want %v", there, err, attach.ErrSecretMissing)
	}
	expectRefused(t, <-echo(knock(t, three, "", "thief"), "stolen"), heldByAnother) // no run has asked there
	if there, err := three.IsAttached(t.Context(), secured(t, wrongToken)); there || err != nil {
		t.Errorf("run with another secret: got %v, %v, want nobody", there, err)
	}
}

// TestRunWithoutSecret asks for a name without a secret: a process with one learns that.
func TestRunWithoutSecret(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	if there, err := r.IsAttached(t.Context(), secured(t, "")); there || err != nil {
		t.Fatalf("IsAttached: got %v, %v, want nobody", there, err)
	}
	expectRefused(t, <-echo(knock(t, r, rightToken, "holder"), "right"),
		"agent mine refused: the runs that ask for it have no secret, but this process has a token: give it to toolsandbox run too, or attach without it")
	for _, self := range []string{"a", "b"} {
		stream := knock(t, r, "", self)
		echo(stream, self)
		for by := ""; by != self; {
			_, instance, err := ask(t, r, secured(t, ""), self)
			if err != nil {
				t.Fatal(err)
			}
			by = instance.GetId()
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForgottenRun attaches with another token than a run that has ended, before and after the
// gateway has forgotten it.
func TestForgottenRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startReplica(t, noRelay{})
		if there, err := r.IsAttached(t.Context(), secured(t, wrongToken)); there || err != nil {
			t.Fatalf("IsAttached: got %v, %v, want nobody", there, err)
		}
		<-time.After(59 * time.Second)
		expectRefused(t, <-echo(knock(t, r, rightToken, "next"), "right"), anotherToken)
		<-time.After(time.Second)
		echo(knock(t, r, rightToken, "next"), "right")
		if got, by, err := ask(t, r, secured(t, rightToken), "x"); err != nil || got != "right" || by.GetId() != "next" {
			t.Errorf("turn of the next run: got %q by %v, %v", got, by, err)
		}
	})
}

// TestIntroduction attaches with values that are none.
func TestIntroduction(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	for name, test := range map[string]struct {
		authorization []string
		first         *agentv1.AttachRequest
		want          string
	}{
		"short token":    {[]string{"Bearer short"}, nil, "token of 5 characters, expected 16 to 512"},
		"empty token":    {[]string{"Bearer "}, nil, "token of 0 characters, expected 16 to 512"},
		"long token":     {[]string{"Bearer " + strings.Repeat("x", 513)}, nil, "token of 513 characters, expected 16 to 512"},
		"blank in token": {[]string{"Bearer the-right token-of-mine"}, nil, "character 10 is another one"},
		"another scheme": {[]string{"Basic the-right-token-of-mine"}, nil, "expected Bearer TOKEN"},
		"two tokens":     {[]string{"Bearer " + wrongToken, "Bearer " + rightToken}, nil, "2 given, expected one"},
		"escapes":        {nil, &agentv1.AttachRequest{Instance: "\x1b[31m"}, `instance "\x1b[31m"`},
		"long software":  {nil, &agentv1.AttachRequest{Software: strings.Repeat("x", 101)}, "expected at most 100 characters"},
	} {
		stream, err := r.client.Attach(metadata.NewOutgoingContext(t.Context(), metadata.MD{"authorization": test.authorization}))
		if err != nil {
			t.Fatal(err)
		}
		first := &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: "mine"}, Instance: test.first.GetInstance(), Software: test.first.GetSoftware()}
		if err := stream.Send(first); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		if text := status.Convert(err).Message(); status.Code(err) != codes.InvalidArgument || !strings.Contains(text, test.want) || strings.Contains(text, rightToken) {
			t.Errorf("%s: got %v, want INVALID_ARGUMENT with %q", name, err, test.want)
		}
	}
}

// TestForeignAnswers answers, on a second stream of the name, the requests of the first one. The
// turn waits for the process that was asked, which the answer names even if it failed.
func TestForeignAnswers(t *testing.T) {
	b := natstest.Start(t)
	one, two := startReplica(t, b), startReplica(t, b)
	asked := knock(t, one, "", "asked")
	type turn struct {
		by  *agentgwv1.Instance
		err error
	}
	ended := make(chan turn, 1)
	go func() {
		_, by, err := ask(t, two, secured(t, ""), "x")
		ended <- turn{by, err}
	}()
	request := receive(t, asked)
	other := knock(t, one, "", "other")
	for id := range int64(100) {
		if err := other.Send(answer(id, "stolen")); err != nil {
			t.Fatal(err)
		}
	}
	failing := answer(request.GetRequestId(), "")
	failing.GetAnswer().Response, failing.GetAnswer().Error, failing.GetAnswer().Code = nil, "boom", int32(codes.Aborted)
	if err := asked.Send(failing); err != nil {
		t.Fatal(err)
	}
	got := <-ended
	if status.Code(got.err) != codes.Aborted {
		t.Errorf("turn: got %v, want the answer of the process that was asked", got.err)
	}
	want := &agentgwv1.Instance{Id: "asked", Peer: "bufconn", Software: "test"}
	if diff := cmp.Diff(want, got.by, protocmp.Transform()); diff != "" {
		t.Errorf("answered by (-want +got):\n%s", diff)
	}
}
