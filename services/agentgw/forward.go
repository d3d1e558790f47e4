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
	// maxForwarded bounds the turns that a replica plays at once for others.
	maxForwarded = 1 << 14
	// moving is the pause before the owner of a key is looked up again that could not answer.
	moving = 20 * time.Millisecond
)

// Replicas say which replica of the gateway owns a name; *bus.Replicas is one.
type Replicas interface {
	// Name returns what this replica is called.
	Name() string
	// Owner returns who owns a name, empty if nobody can say, and what is closed when that may have
	// changed.
	Owner(name string) (owner string, changed <-chan struct{})
	// Alive says whether a replica is heard.
	Alive(replica string) bool
}

// forwardName is what a replica answers to that plays turns for others. No attached agent can be
// called so.
func forwardName(replica string) string { return "turns." + replica }

// atOwner plays a turn at the replica that owns the key of its model, so that one limiter sees all
// requests under a key. Turns of other players are played here, and so are those that are too long
// for one message of NATS.
func (s *Server) atOwner(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	if s.replicas == nil || req.GetPlayer().GetModel() == nil {
		return s.play(ctx, req)
	}
	key, ok := s.models.Key(ctx, req.GetPlayer().GetModel())
	if !ok {
		return s.play(ctx, req)
	}
	for {
		owner, changed := s.replicas.Owner(key.Provider + "." + key.Fingerprint)
		if owner == s.replica {
			return s.play(ctx, req)
		}
		var response *agentgwv1.RespondResponse
		err := errGone
		req.Fresh = fresh(ctx, req)
		if owner != "" {
			response, err = s.forward(ctx, owner, changed, req)
		}
		if !errors.Is(err, errGone) && !errors.Is(err, bus.ErrTooLarge) {
			return response, err
		}
		req.Fresh = req.GetFresh() && owner == "" // else it may be recorded
		if errors.Is(err, bus.ErrTooLarge) {
			return s.play(ctx, req)
		}
		if err := await(ctx, changed, owner != ""); err != nil {
			return nil, err
		}
	}
}

// errGone says that a replica did not play a turn to its end. Whoever asks for the turn again gets
// what was recorded of it.
var errGone = errors.New("the replica that owns the key is gone")

// await waits until replicas have come or gone, or for a moment if the owner is known.
func await(ctx context.Context, changed <-chan struct{}, known bool) error {
	var soon <-chan time.Time
	if known {
		timer := time.NewTimer(moving)
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

// forward lets another replica play a turn. The error is that of the turn, errGone if the replica
// is gone or leaves, or bus.ErrTooLarge.
func (s *Server) forward(ctx context.Context, owner string, changed <-chan struct{}, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	raw, err := proto.Marshal(req)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "forward turn: %v", err)
	}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.watch(asking, cancel, owner, changed)
	raw, err = s.relay.Ask(asking, forwardName(owner), raw)
	switch {
	case errors.Is(err, bus.ErrTooLarge):
		return nil, err
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return nil, errGone
	}
	turn := &agentgwv1.ForwardedTurn{}
	if err := proto.Unmarshal(raw, turn); err != nil {
		return nil, status.Errorf(codes.Internal, "forwarded turn: %v", err)
	}
	if code := codes.Code(turn.GetCode()); code == codes.Canceled {
		return nil, errGone // the replica ends
	} else if code != codes.OK {
		return nil, withFailure(status.New(code, turn.GetMessage()), turn.GetFailure())
	}
	return turn.GetResponse(), nil
}

// watch gives up a turn whose replica is not heard any more.
func (s *Server) watch(ctx context.Context, cancel context.CancelCauseFunc, owner string, changed <-chan struct{}) {
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if !s.replicas.Alive(owner) {
			cancel(errGone)
			return
		}
		_, changed = s.replicas.Owner("")
	}
}

// serveForwarded plays turns for other replicas until stop is called.
func (s *Server) serveForwarded() (stop func() error, err error) {
	return s.relay.Answer(forwardName(s.replica), maxForwarded, func(ctx context.Context, raw []byte) []byte {
		req := &agentgwv1.RespondRequest{}
		err := proto.Unmarshal(raw, req)
		var response *agentgwv1.RespondResponse
		if err == nil {
			response, err = s.play(ctx, req)
		}
		said := status.Convert(err)
		turn := &agentgwv1.ForwardedTurn{Response: response, Code: int32(said.Code()), Message: said.Message()}
		for _, detail := range said.Details() {
			if failure, ok := detail.(*agentgwv1.Failure); ok {
				turn.Failure = failure
			}
		}
		if raw, err = proto.Marshal(turn); err != nil {
			return nil // whoever asked asks again
		}
		return raw
	})
}
