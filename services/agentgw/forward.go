package agentgw

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// maxForwarded bounds the concurrent turns that a replica plays for others.
	maxForwarded = 1 << 14
	// ownerRetryPause is the pause before a key's owner is looked up again after it could not
	// answer.
	ownerRetryPause = 20 * time.Millisecond
)

// Replicas tells which replica of the gateway owns a name. *bus.Replicas implements it.
type Replicas interface {
	// Name returns the name of this replica.
	Name() string
	// Owner returns the owner of a name, empty if it is unknown. changed is closed when the owner
	// may have changed.
	Owner(name string) (owner string, changed <-chan struct{})
	// Contact reports whether heartbeats of a replica arrive, and how often a connection between it
	// and this one was restored: requests and answers may be lost then. changed tells about both.
	Contact(replica string) (restored uint64, alive bool)
}

// forwardName is the relay name under which a replica plays turns for others. The dot keeps it
// apart from the names of attached agents.
func forwardName(replica string) string { return "turns." + replica }

// Respond implements AgentGatewayService. It plays a turn at the replica that owns the key of its
// model, so that one limiter sees all requests under a key. It plays other players' turns here, and
// turns that exceed one NATS message.
func (s *Server) Respond(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	if s.replicas == nil || req.GetPlayer().GetModel() == nil {
		return s.playHere(ctx, req)
	}
	key, ok := s.models.Key(ctx, req.GetPlayer().GetModel())
	if !ok {
		return s.playHere(ctx, req)
	}
	for {
		owner, changed := s.replicas.Owner(key.Provider + "." + key.Fingerprint)
		if owner == s.replica {
			return s.playHere(ctx, req)
		}
		var response *agentgwv1.RespondResponse
		err := errReplicaGone
		req = withFresh(req, isFresh(ctx, req))
		if owner != "" {
			response, err = s.forward(ctx, owner, req)
		}
		if !errors.Is(err, errReplicaGone) && !errors.Is(err, bus.ErrTooLarge) {
			return response, err
		}
		req = withFresh(req, false) // by now it may be recorded
		if errors.Is(err, bus.ErrTooLarge) {
			return s.playHere(ctx, req)
		}
		if err := waitForOwner(ctx, changed, owner != ""); err != nil {
			return nil, err
		}
	}
}

// withFresh returns a request with another value of fresh.
func withFresh(req *agentgwv1.RespondRequest, fresh bool) *agentgwv1.RespondRequest {
	if req.GetFresh() != fresh {
		req = proto.CloneOf(req)
		req.Fresh = fresh
	}
	return req
}

// errReplicaGone: a replica did not finish a turn. The next request for the turn gets what was
// recorded of it.
var errReplicaGone = errors.New("the replica that owns the key is gone")

// errAnswerLost: the answer of a replica may be lost, because a connection to NATS was restored.
var errAnswerLost = errors.New("the answer may be lost")

// waitForOwner waits until the set of replicas changes, or for ownerRetryPause if the owner is
// known.
func waitForOwner(ctx context.Context, changed <-chan struct{}, hasOwner bool) error {
	var soon <-chan time.Time
	if hasOwner {
		timer := time.NewTimer(ownerRetryPause)
		defer timer.Stop()
		soon = timer.C
	}
	select {
	case <-changed:
	case <-soon:
	case <-ctx.Done():
		return status.FromContextError(fmt.Errorf("no replica owns the model's key: %w", ctx.Err())).Err()
	}
	return nil
}

// forward lets another replica play a turn. It repeats a request whose answer may be lost, to the
// same replica while that is alive: a replica that drains still plays the turn, and then leaves.
// The error is that of the turn, errReplicaGone, or bus.ErrTooLarge.
func (s *Server) forward(ctx context.Context, owner string, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	for repeated := false; ; repeated = true {
		response, err := s.forwardOnce(ctx, owner, req)
		_, alive := s.replicas.Contact(owner)
		switch isLost := errors.Is(err, errAnswerLost) || errors.Is(err, bus.ErrNotFound) && repeated; {
		case isLost && alive:
		case isLost, errors.Is(err, bus.ErrNotFound):
			return nil, errReplicaGone
		default:
			return response, err
		}
		req = withFresh(req, false)
		_, changed := s.replicas.Owner("")
		if err := waitForOwner(ctx, changed, true); err != nil {
			return nil, err
		}
	}
}

// forwardOnce is forward without repetition. The error may also be errAnswerLost, or
// bus.ErrNotFound if the replica accepts no turns.
func (s *Server) forwardOnce(ctx context.Context, owner string, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	raw, err := proto.Marshal(req)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "forward turn: %v", err)
	}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	restored, _ := s.replicas.Contact(owner)
	go s.cancelIfLost(asking, cancel, owner, restored)
	raw, err = s.relay.Request(asking, forwardName(owner), raw)
	switch {
	case errors.Is(err, bus.ErrTooLarge), errors.Is(err, bus.ErrNotFound):
		return nil, err
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case errors.Is(context.Cause(asking), errAnswerLost):
		return nil, errAnswerLost
	case err != nil:
		return nil, errReplicaGone
	}
	turn := &agentgwv1.ForwardedTurn{}
	if err := proto.Unmarshal(raw, turn); err != nil {
		return nil, status.Errorf(codes.Internal, "forwarded turn: %v", err)
	}
	if code := codes.Code(turn.GetCode()); code == codes.Canceled {
		return nil, errReplicaGone // the replica ends
	} else if code != codes.OK {
		return nil, withFailure(status.New(code, turn.GetMessage()), turn.GetFailure())
	}
	return turn.GetResponse(), nil
}

// cancelIfLost cancels a forwarded turn with errReplicaGone when heartbeats of its replica stop,
// and with errAnswerLost when a connection was restored.
func (s *Server) cancelIfLost(ctx context.Context, cancel context.CancelCauseFunc, owner string, restored uint64) {
	for {
		_, changed := s.replicas.Owner("")
		switch now, alive := s.replicas.Contact(owner); {
		case !alive:
			cancel(errReplicaGone)
			return
		case now != restored:
			cancel(errAnswerLost)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// serveForwarded plays turns for other replicas until stop is called, which is that of Relay.Serve.
func (s *Server) serveForwarded() (stop func(ctx context.Context) error, err error) {
	return s.relay.Serve(forwardName(s.replica), maxForwarded, func(ctx context.Context, raw []byte) []byte {
		req := &agentgwv1.RespondRequest{}
		err := proto.Unmarshal(raw, req)
		var response *agentgwv1.RespondResponse
		if err == nil {
			response, err = s.playHere(ctx, req)
		}
		st := status.Convert(err)
		turn := &agentgwv1.ForwardedTurn{Response: response, Code: int32(st.Code()), Message: st.Message()}
		for _, detail := range st.Details() {
			if failure, ok := detail.(*agentgwv1.Failure); ok {
				turn.Failure = failure
			}
		}
		raw, err = proto.Marshal(turn)
		if err != nil {
			raw, _ = proto.Marshal(&agentgwv1.ForwardedTurn{Code: int32(codes.Internal), Message: "the turn cannot be forwarded: " + err.Error()})
		}
		return raw
	})
}
