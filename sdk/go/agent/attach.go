package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

const (
	firstWait      = 500 * time.Millisecond
	longestWait    = 10 * time.Second
	connectTimeout = 5 * time.Second
	pingInterval   = 30 * time.Second
	// maxTurns bounds the turns that one attached agent works on at once; the gateway waits with
	// further ones.
	maxTurns = 1024
)

// Attach serves an agent that the gateway cannot dial: it opens one stream to the gateway and
// answers on it, for many conversations at once, under a name: `toolsandbox run --agent
// attached:NAME` plays it. The gateway is host:port or grpc://host:port, which is plain text, or
// grpcs://host:port: TLS with the authorities of the system. Options add to that, e.g.
// grpc.WithTransportCredentials for an authority of your own. Agents that attach themselves under
// one name share its conversations, so choose a name that is yours alone.
//
// A lost stream is opened again after a jittered wait that grows from half a second to ten, for as
// long as it takes; slog.Default tells. The turns that were under way on it are asked again, and
// their contexts end; one that does not heed its context holds nothing up. Attach blocks until ctx
// is done, gives turns that are under way up to five seconds to notice, and returns nil; what they
// answer then is lost. It fails if the gateway's address cannot be one, or if the gateway refuses
// the agent, e.g. because its name is malformed.
func Attach(ctx context.Context, gateway, name string, a Agent, options ...grpc.DialOption) error {
	target, security := transport(gateway)
	if err := checkTarget(ctx, target); err != nil {
		return fmt.Errorf("attach %s: gateway %q: %w", name, gateway, err)
	}
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(security),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingInterval}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstWait, Multiplier: 2, Jitter: 0.2, MaxDelay: longestWait / 2},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
	}, options...)...)
	if err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	defer func() { _ = conn.Close() }()
	at := &attachment{client: agentv1.NewAttachServiceClient(conn), name: name, agent: a, free: make(chan struct{}, maxTurns)}
	defer at.leave()
	log := logger().With("gateway", gateway, "name", name)
	wait := firstWait
	for {
		asked, err := at.stream(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case refused(err):
			return fmt.Errorf("attach %s: %w", name, err)
		case asked:
			wait = firstWait
		}
		log.Warn("not attached to the gateway, trying again", "error", status.Convert(err).Message())
		if !pause(ctx, wait/2+rand.N(wait/2+1)) {
			return nil
		}
		wait = min(2*wait, longestWait)
	}
}

// transport reads the scheme off an address.
func transport(gateway string) (target string, security credentials.TransportCredentials) {
	if address, ok := strings.CutPrefix(gateway, "grpcs://"); ok {
		return address, credentials.NewTLS(nil)
	}
	return strings.TrimPrefix(gateway, "grpc://"), insecure.NewCredentials()
}

// checkTarget finds out whether a target is host:port, or one in gRPC's own form, e.g.
// dns:///host:port: gRPC itself would try any other for ever.
func checkTarget(ctx context.Context, target string) error {
	if scheme, _, ok := strings.Cut(target, ":///"); ok && resolver.Get(scheme) != nil {
		return nil
	}
	host, port, err := net.SplitHostPort(target)
	if err != nil || port == "" || strings.ContainsAny(host, "/@ ") {
		return errors.New("expected host:port, grpc://host:port or grpcs://host:port")
	}
	if number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil || number == 0 {
		return fmt.Errorf("%q is no port", port)
	}
	return nil
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

// attachment is an attached agent over all its streams.
type attachment struct {
	client agentv1.AttachServiceClient
	name   string
	agent  Agent
	// turns are those under way, also those of streams that have ended.
	turns sync.WaitGroup
	// free is a place for each turn that somebody waits for.
	free chan struct{}
}

// leave waits for the turns under way, but not for those that do not heed their context.
func (at *attachment) leave() {
	left := make(chan struct{})
	go func() {
		defer close(left)
		at.turns.Wait()
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-left:
	case <-timer.C:
		logger().Warn("turns do not heed their context, leaving without them", "name", at.name)
	}
}

// stream serves one stream until it ends, and says whether the gateway asked anything on it.
func (at *attachment) stream(ctx context.Context) (asked bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends turns that nobody waits for: the gateway asks again on the next stream
	stream, err := at.client.Attach(ctx)
	if err != nil {
		return false, err
	}
	answers := make(chan *agentv1.AttachAnswer)
	at.turns.Go(func() { at.send(ctx, stream, answers) })
	for {
		request, err := stream.Recv()
		if err != nil {
			return asked, err
		}
		asked = true
		select {
		case at.free <- struct{}{}:
		case <-ctx.Done():
			return asked, ctx.Err()
		}
		at.turns.Go(func() { at.turn(ctx, request, answers) })
	}
}

// send writes the name and then answers until ctx is done or the stream has ended.
func (at *attachment) send(ctx context.Context, stream agentv1.AttachService_AttachClient, answers <-chan *agentv1.AttachAnswer) {
	message := &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: at.name}}
	for stream.Send(message) == nil { // Recv tells why it fails
		select {
		case answer := <-answers:
			message = &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Answer{Answer: answer}}
		case <-ctx.Done():
			return
		}
	}
}

// turn plays one turn. Its place is free when it ends or when nobody waits for it any more,
// whichever comes first.
func (at *attachment) turn(ctx context.Context, request *agentv1.AttachResponse, answers chan<- *agentv1.AttachAnswer) {
	release := sync.OnceFunc(func() { <-at.free })
	defer release()
	waited := ctx
	if limit := time.Duration(request.GetTimeoutMs()) * time.Millisecond; limit > 0 {
		var cancel context.CancelFunc
		waited, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	defer context.AfterFunc(waited, release)()
	answer := answerTo(waited, at.agent, request)
	if waited.Err() != nil {
		return // the gateway has stopped waiting, and an error of the context is no reason to end the conversation
	}
	select {
	case answers <- answer:
	case <-waited.Done():
	}
}

// answerTo returns an answer that can be sent: one that cannot would end the stream with all of its
// turns.
func answerTo(ctx context.Context, a Agent, request *agentv1.AttachResponse) *agentv1.AttachAnswer {
	response, err := (&server{agent: a}).Act(ctx, request.GetRequest())
	if err != nil {
		failed := status.Convert(err)
		return &agentv1.AttachAnswer{RequestId: request.GetRequestId(), Error: failed.Message(), Code: int32(failed.Code())}
	}
	return &agentv1.AttachAnswer{RequestId: request.GetRequestId(), Response: response}
}
