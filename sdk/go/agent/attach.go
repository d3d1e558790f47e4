package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

const (
	firstWait    = 500 * time.Millisecond
	longestWait  = 30 * time.Second
	pingInterval = 30 * time.Second
	// maxTurns bounds the turns that one attached agent works on at once; the gateway waits with further ones.
	maxTurns = 1024
)

// Attach serves an agent that the gateway cannot dial: it opens one stream to the gateway at host:port and answers on it, for
// many conversations at once, under a name: `toolsandbox run --agent attached:NAME` plays it. A lost stream is opened again
// after a growing, jittered wait. It blocks until ctx is done and then returns nil; it fails if the gateway refuses the agent,
// e.g. because its name is malformed. Options say how to connect, e.g. with which transport credentials, and must say that.
func Attach(ctx context.Context, gateway, name string, a Agent, options ...grpc.DialOption) error {
	options = append([]grpc.DialOption{
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingInterval}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
	}, options...)
	conn, err := grpc.NewClient(gateway, options...)
	if err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	defer func() { _ = conn.Close() }()
	wait := firstWait
	for {
		asked, err := attachOnce(ctx, agentv1.NewAttachServiceClient(conn), name, a)
		switch {
		case ctx.Err() != nil:
			return nil
		case refused(err):
			return fmt.Errorf("attach %s: %w", name, err)
		case asked:
			wait = firstWait
		}
		if !pause(ctx, wait/2+rand.N(wait/2+1)) {
			return nil
		}
		wait = min(2*wait, longestWait)
	}
}

// refused says whether another attempt would end as this one did.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.AlreadyExists, codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
		return true
	default:
		return false
	}
}

// pause waits; it says whether ctx is not done.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// attachOnce serves one stream until it ends, and says whether the gateway asked anything on it.
func attachOnce(ctx context.Context, client agentv1.AttachServiceClient, name string, a Agent) (asked bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.Attach(ctx)
	if err != nil {
		return false, err
	}
	answers := make(chan *agentv1.AttachRequest, maxTurns)
	answers <- &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: name}}
	var turns sync.WaitGroup
	turns.Go(func() { send(ctx, stream, answers) })
	defer turns.Wait()
	defer cancel() // ends turns that nobody waits for: the gateway asks again on the next stream
	free := make(chan struct{}, maxTurns)
	for {
		request, err := stream.Recv()
		if err != nil {
			return asked, endOf(err)
		}
		asked = true
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return asked, ctx.Err()
		}
		turns.Go(func() {
			defer func() { <-free }()
			answer := &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Answer{Answer: answerTo(ctx, a, request)}}
			select {
			case answers <- answer:
			case <-ctx.Done():
			}
		})
	}
}

func endOf(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// send writes answers until ctx is done or the stream has ended.
func send(ctx context.Context, stream agentv1.AttachService_AttachClient, answers <-chan *agentv1.AttachRequest) {
	for {
		select {
		case answer := <-answers:
			if stream.Send(answer) != nil {
				return // Recv tells why
			}
		case <-ctx.Done():
			return
		}
	}
}

func answerTo(ctx context.Context, a Agent, request *agentv1.AttachResponse) *agentv1.AttachAnswer {
	response, err := (&server{agent: a}).Act(ctx, request.GetRequest())
	if err != nil {
		return &agentv1.AttachAnswer{RequestId: request.GetRequestId(), Error: status.Convert(err).Message()}
	}
	return &agentv1.AttachAnswer{RequestId: request.GetRequestId(), Response: response}
}
