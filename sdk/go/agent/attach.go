package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

const (
	initialBackoff = 500 * time.Millisecond
	maxBackoff     = 10 * time.Second
	connectTimeout = 5 * time.Second
	pingInterval   = 30 * time.Second
	// maxTurns bounds the concurrent turns of one attached agent. The gateway queues further ones.
	maxTurns = 1024
)

// Attach serves an agent that the gateway cannot dial. It opens one stream to the gateway and
// answers the turns of many conversations on it, under a name: `toolsandbox run --agent
// attached:NAME` plays it. gateway is host:port or grpc://host:port for plain text, or
// grpcs://host:port for TLS with the system's authorities. Options extend that, e.g.
// grpc.WithTransportCredentials for your own authority. Agents with the same name share its
// conversations, so choose a unique name, and give it a secret: Token, or else the environment
// variable TOOLSANDBOX_ATTACH_TOKEN, or else the file that TOOLSANDBOX_ATTACH_TOKEN_FILE names. The
// same token in one of these variables of `toolsandbox run` keeps everybody else away.
//
// Attach reopens a lost stream with exponential backoff from half a second to ten, for as long as
// it takes, and logs that to slog.Default. The gateway retries the turns of a lost stream,
// and their contexts end. Attach blocks until ctx is done, gives running turns up to five seconds
// to return, discards their answers, and returns nil. It fails if the gateway's address is invalid,
// if the token cannot be read, or if the gateway rejects the agent, e.g. for a malformed name or
// another token than that of the name. It prints the value of --agent on
// the standard error.
func Attach(ctx context.Context, gateway, name string, a Agent, options ...grpc.DialOption) error {
	target, security := transport(gateway)
	if err := checkTarget(ctx, target); err != nil {
		return fmt.Errorf("attach %s: gateway %q: %w", name, gateway, err)
	}
	token, err := tokenOf(options)
	if err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(security),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingInterval}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: initialBackoff, Multiplier: 2, Jitter: 0.2, MaxDelay: maxBackoff / 2},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
	}, options...)...)
	if err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	defer func() { _ = conn.Close() }()
	at := &attachment{client: agentv1.NewAttachServiceClient(conn), name: name, token: token, instance: newInstance(), agent: a, slots: make(chan struct{}, maxTurns)}
	defer at.drain()
	fmt.Fprintf(os.Stderr, "agent attaches to %s: toolsandbox run --agent attached:%s\n", gateway, name)
	log := logger().With("gateway", gateway, "name", name)
	wait := initialBackoff
	for {
		served, err := at.stream(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case isPermanent(err):
			return fmt.Errorf("attach %s: %w", name, err)
		case served:
			wait = initialBackoff
		}
		log.Warn("not attached to the gateway, retrying", "error", status.Convert(err).Message())
		if !sleep(ctx, wait/2+rand.N(wait/2+1)) {
			return nil
		}
		wait = min(2*wait, maxBackoff)
	}
}

// transport splits an address into the target and its credentials.
func transport(gateway string) (target string, security credentials.TransportCredentials) {
	if address, ok := strings.CutPrefix(gateway, "grpcs://"); ok {
		return address, credentials.NewTLS(nil)
	}
	return strings.TrimPrefix(gateway, "grpc://"), insecure.NewCredentials()
}

// checkTarget checks that a target is host:port or has gRPC's own form, e.g. dns:///host:port. gRPC
// would retry any other for ever.
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

// isPermanent reports whether another attempt would fail the same way.
func isPermanent(err error) bool {
	switch status.Code(err) {
	case codes.AlreadyExists, codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
		return true
	default:
		return false
	}
}

// sleep waits. It returns false if ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
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
	// token is the secret of the name, empty without one.
	token string
	// instance tells this process from others of the name.
	instance string
	agent    Agent
	// turns counts running turns, including those of ended streams.
	turns sync.WaitGroup
	// slots is a semaphore for turns that the gateway waits for.
	slots chan struct{}
}

// drain waits up to the grace time for running turns.
func (a *attachment) drain() {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		a.turns.Wait()
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
		logger().Warn("turns ignore their ended context, abandoning them", "name", a.name)
	}
}

// stream serves one stream until it ends, and reports whether the gateway sent any request on it.
func (a *attachment) stream(ctx context.Context) (served bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream's turns: the gateway asks for them again on the next stream
	if a.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+a.token)
	}
	stream, err := a.client.Attach(ctx)
	if err != nil {
		return false, err
	}
	answers := make(chan *agentv1.AttachAnswer)
	a.turns.Go(func() { a.send(ctx, stream, answers) })
	for {
		request, err := stream.Recv()
		if err != nil {
			return served, err
		}
		served = true
		select {
		case a.slots <- struct{}{}:
		case <-ctx.Done():
			return served, ctx.Err()
		}
		a.turns.Go(func() { a.turn(ctx, request, answers) })
	}
}

// send sends the name and then answers until ctx is done or the stream has ended.
func (a *attachment) send(ctx context.Context, stream agentv1.AttachService_AttachClient, answers <-chan *agentv1.AttachAnswer) {
	message := &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: a.name}, Instance: a.instance, Software: software()}
	for stream.Send(message) == nil { // Recv returns the error
		select {
		case answer := <-answers:
			message = &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Answer{Answer: answer}}
		case <-ctx.Done():
			return
		}
	}
}

// turn plays one turn. It releases its slot when the turn ends, or when the gateway stops waiting
// for it.
func (a *attachment) turn(ctx context.Context, request *agentv1.AttachResponse, answers chan<- *agentv1.AttachAnswer) {
	release := sync.OnceFunc(func() { <-a.slots })
	defer release()
	waited := ctx
	if limit := time.Duration(request.GetTimeoutMs()) * time.Millisecond; limit > 0 {
		var cancel context.CancelFunc
		waited, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	defer context.AfterFunc(waited, release)()
	answer := answerTo(waited, a.agent, request)
	if waited.Err() != nil {
		return // the gateway has stopped waiting; the context's error must not end the conversation
	}
	select {
	case answers <- answer:
	case <-waited.Done():
	}
}

// answerTo returns an answer that can be sent. An invalid one would end the stream with all of its
// turns.
func answerTo(ctx context.Context, a Agent, request *agentv1.AttachResponse) *agentv1.AttachAnswer {
	response, err := (&server{agent: a}).Act(ctx, request.GetRequest())
	if err != nil {
		st := status.Convert(err)
		return &agentv1.AttachAnswer{RequestId: request.GetRequestId(), Error: st.Message(), Code: int32(st.Code())}
	}
	return &agentv1.AttachAnswer{RequestId: request.GetRequestId(), Response: response}
}
