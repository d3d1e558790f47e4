package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/computed"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// runner plays one rollout.
type runner struct {
	*Worker
	delivery  *bus.Delivery
	rollout   *busv1.Rollout
	setup     *setupv1.Setup
	tools     roleTools
	state     *rollout.State
	limit     *agentgwv1.SpendLimit
	session   *toolhostv1.CreateSessionResponse
	given     *givenTurns  // before a fork, nil unless they are read and not played yet
	end       bus.Position // of the log
	resumed   bool         // a log existed before this delivery
	digests   map[worldv1.Role]viewDigest
	first     bool // this delivery is the first to play the rollout
	requested bool // this delivery has asked for the coming turn

	deactivate func() // releases the limiter, nil if it is not held
	freeMemory func() // releases heldBytes, nil if it is 0
	heldBytes  int64  // of memory for the conversation

	unwritten      *busv1.LogEntry // applied but not yet in the log
	unwrittenBytes int
	appended       time.Time // when this worker last owned the log
	began          time.Time // when this worker began to play
}

// play takes the rollout's log over and plays to the end. The error is bus.ErrFenced if another
// worker owns it, errSpendLimit if its sweep has reached its spend limit, errPaused if that is
// paused, and errDraining if the worker drains. Any other error is retryable.
func (w *Worker) play(ctx context.Context, delivery *bus.Delivery) (err error) {
	r := &runner{Worker: w, delivery: delivery, rollout: delivery.Rollout, digests: make(map[worldv1.Role]viewDigest, 2)}
	if err := r.acquireActive(ctx); err != nil {
		return err
	}
	defer r.releaseActive()
	defer r.releaseMemory()
	if r.setup, err = w.peers.Bus.Setup(ctx, r.rollout.GetSetupDigest()); err != nil {
		return err
	}
	if err := r.checkBudget(ctx); err != nil {
		return err
	}
	if err := r.takenOver(ctx, r.claim(ctx)); err != nil {
		return err
	}
	if r.state.End() != nil {
		return r.ackIfScored(ctx)
	}
	note := w.metrics.start(ctx)
	for err == nil && r.state.End() == nil { // after an error there may be no state
		err = r.takenOver(ctx, r.turn(ctx))
	}
	if err != nil {
		note(nil)
		return err
	}
	note(r.state.End())
	return r.ackIfScored(ctx)
}

// ackIfScored acknowledges the job of a rollout with a result. For a rollout without one it
// requests scoring, because the evaluator may have missed another worker's entries.
func (r *runner) ackIfScored(ctx context.Context) error {
	r.awaitResult(r.delivery)
	if !r.resumed {
		return nil
	}
	_, err := r.peers.Bus.RoundResult(ctx, r.rollout.GetId(), r.delivery.Round)
	if errors.Is(err, bus.ErrNotFound) {
		return r.requestScore(ctx)
	}
	if err == nil {
		r.finish(r.rollout.GetId(), r.delivery.Round)
	}
	return err
}

// claim opens the rollout's log or continues an existing one.
func (r *runner) claim(ctx context.Context) error {
	r.began = time.Now()
	var err error
	r.session, err = r.createSession(ctx)
	if err == nil && r.delivery.Attempt == 1 && r.delivery.Round == 0 {
		r.first = true
		return r.open(ctx, r.newClaim())
	}
	return r.takeOver(ctx, err)
}

// takenOver continues an existing log if err says that the first entry could not open it. It
// returns any other error.
func (r *runner) takenOver(ctx context.Context, err error) error {
	if !r.first || r.end.Sequence > 0 || !errors.Is(err, bus.ErrFenced) {
		return err
	}
	r.first, r.state = false, nil
	return r.takeOver(ctx, nil)
}

func (r *runner) newClaim() *busv1.Claim {
	return &busv1.Claim{Worker: r.cfg.Name, Round: r.delivery.Round, Started: timestamppb.New(r.began)}
}

// takeOver continues an existing log, or opens a new one. sessionErr says why there is no session.
func (r *runner) takeOver(ctx context.Context, sessionErr error) error {
	claim := r.newClaim()
	if err := r.acquireMemory(ctx); err != nil { // the length of the conversation is only known from the log
		return err
	}
	log, err := r.peers.Bus.ReadLog(ctx, r.rollout.GetId())
	if errors.Is(err, bus.ErrDamaged) && r.delivery.Round > 0 && sessionErr == nil {
		return r.reopen(ctx, log.End, claim)
	}
	if err != nil {
		return err
	}
	if len(log.Entries) > 0 {
		claim.Versions = r.session.GetVersions()
		return r.resume(ctx, log, claim, sessionErr)
	}
	if sessionErr != nil {
		return r.failUnstarted(ctx, claim, sessionErr)
	}
	return r.open(ctx, claim)
}

// reopen restarts a rollout whose log cannot be read, in the round in which no other worker can
// continue it. Recorded turns are not asked for again.
func (r *runner) reopen(ctx context.Context, end bus.Position, claim *busv1.Claim) error {
	entry := &busv1.LogEntry{
		Start: rollout.Start(r.rollout, r.setup, r.session.GetVersions()),
		Claim: claim,
	}
	r.state, r.resumed = &rollout.State{}, true
	if err := r.state.Apply(entry); err != nil {
		return fmt.Errorf("rollout %s: %w", r.rollout.GetId(), err)
	}
	var err error
	r.end, err = r.peers.Bus.Reopen(ctx, r.rollout.GetId(), entry, end)
	return err
}

// open appends the first entry of the log.
func (r *runner) open(ctx context.Context, claim *busv1.Claim) error {
	r.state, r.end = &rollout.State{}, bus.Position{}
	return r.append(ctx, &busv1.LogEntry{
		Start: rollout.Start(r.rollout, r.setup, r.session.GetVersions()),
		Claim: claim,
	})
}

// resume folds an existing log and takes it over. It reopens an ended log for a job of a later
// round.
func (r *runner) resume(ctx context.Context, log *bus.Log, claim *busv1.Claim, sessionErr error) error {
	state, err := rollout.Fold(log.Entries)
	if err != nil {
		return fmt.Errorf("rollout %s: %w", r.rollout.GetId(), err)
	}
	r.state, r.end, r.resumed = state, log.End, true
	switch {
	case state.Round() > claim.GetRound():
		return errReplaced
	case state.End() != nil && state.Round() == claim.GetRound():
		return nil
	}
	if len(state.StartingVersions()) > 0 {
		claim.Versions = nil
	}
	if sessionErr == nil {
		sessionErr = r.restoreSession(ctx)
	}
	claim.Attempt = int32(state.Claims())
	if sessionErr != nil {
		return r.fail(ctx, claim, sessionErr)
	}
	return r.append(ctx, &busv1.LogEntry{Claim: claim})
}

// failUnstarted ends a rollout that could not begin.
func (r *runner) failUnstarted(ctx context.Context, claim *busv1.Claim, cause error) error {
	if !r.isPermanent(cause) {
		return cause
	}
	r.state, r.end = &rollout.State{}, bus.Position{}
	return r.append(ctx, &busv1.LogEntry{
		Start: rollout.Start(r.rollout, r.setup, nil),
		Claim: claim,
		End:   infrastructureEnd(cause),
	})
}

// fail ends the rollout as an infrastructure failure if the cause is permanent or no attempts are
// left. Otherwise it returns the cause.
func (r *runner) fail(ctx context.Context, claim *busv1.Claim, cause error) error {
	if !r.isPermanent(cause) {
		return cause
	}
	return r.append(ctx, &busv1.LogEntry{Claim: claim, End: infrastructureEnd(cause)})
}

func (r *runner) isPermanent(cause error) bool {
	switch status.Code(cause) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.AlreadyExists, codes.Unimplemented, codes.ResourceExhausted, codes.DataLoss:
		return true
	default:
		return r.delivery.Attempt >= r.cfg.Attempts
	}
}

// turn plays the next turn, or ends the rollout.
func (r *runner) turn(ctx context.Context) error {
	control := r.control(r.rollout.GetSweepId())
	if bus.Cancelled(control, r.delivery.Round) {
		return r.append(ctx, &busv1.LogEntry{End: &busv1.End{Reason: busv1.EndReason_END_REASON_CANCELLED}})
	}
	if err := r.acquireMemory(ctx); err != nil {
		return err
	}
	if reason := r.heldUp(r.rollout.GetSweepId()); reason != nil {
		return r.handOver(ctx, reason)
	}
	if control != nil { // it may have changed since the rollout began
		r.limit = control.GetSpendLimit()
	}
	speaker, over := r.state.Next()
	if over != nil {
		return r.append(ctx, &busv1.LogEntry{End: over})
	}
	turn, failure, err := r.speak(ctx, speaker)
	switch {
	case errors.Is(err, errThrottled):
		return r.wait(ctx)
	case errors.Is(err, errSpendLimit), errors.Is(err, errDraining), errors.Is(err, errPaused):
		return err
	case err != nil:
		return r.fail(ctx, nil, err)
	}
	entry := &busv1.LogEntry{End: failure}
	if turn != nil {
		entry.Turns = []*busv1.Turn{turn}
	}
	err = r.append(ctx, entry)
	if errors.Is(err, rollout.ErrLog) {
		// Nothing was applied: the response of a peer does not fit into a log, and its next one may not
		// either.
		return r.fail(ctx, nil, err)
	}
	return err
}

// speak returns the turn of the next speaker, or the event that interrupts before it.
func (r *runner) speak(ctx context.Context, speaker worldv1.Role) (turn *busv1.Turn, failure *busv1.End, err error) {
	given, err := r.givenTurns(ctx)
	if err != nil {
		return nil, nil, err
	}
	at, interrupted := r.state.Interruption(speaker)
	switch {
	case interrupted:
		turn, failure, err = r.execute(ctx, &at)
	case speaker == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT:
		turn, failure, err = r.execute(ctx, r.state.Now())
	case given != nil:
		turn, failure = given.turn(r.state, speaker)
		return turn, failure, nil
	case speaker == worldv1.Role_ROLE_AGENT:
		return r.turnOf(ctx, speaker, r.rollout.GetAgent(), r.setup.GetOracleScript())
	case speaker == worldv1.Role_ROLE_USER:
		return r.turnOf(ctx, speaker, r.rollout.GetUser(), r.setup.GetUserScript())
	default:
		return nil, infrastructureEnd(fmt.Errorf("nobody can answer as %s", world.RoleName(speaker))), nil
	}
	if err == nil && given != nil {
		failure = given.compare(turn, failure)
	}
	return turn, failure, err
}

// turnOf returns a player's turn.
func (r *runner) turnOf(ctx context.Context, role worldv1.Role, player *agentgwv1.Player, script []*worldv1.ScriptTurn) (*busv1.Turn, *busv1.End, error) {
	if computed.Plays(player) {
		turn, failure := r.compute(ctx, role, player, script)
		return turn, failure, nil
	}
	return r.respond(ctx, role, player)
}

// respond asks the agent gateway for a player's turn.
func (r *runner) respond(ctx context.Context, role worldv1.Role, player *agentgwv1.Player) (*busv1.Turn, *busv1.End, error) {
	request, err := r.request(role, player)
	if err != nil {
		return nil, nil, err
	}
	r.requested = true
	r.releaseActive()
	answered, err := r.ask(ctx)
	if err != nil {
		return nil, nil, err
	}
	if reason := r.heldUp(r.rollout.GetSweepId()); reason != nil { // since it waited to be asked
		answered()
		return nil, nil, reason
	}
	limited, cancel := context.WithTimeout(ctx, r.cfg.turnLimit(player))
	start := time.Now()
	var response *agentgwv1.RespondResponse
	err = r.retryWithDocuments(limited, func() error {
		if response, err = r.peers.Agents.Respond(limited, request); err != nil {
			request = proto.CloneOf(request) // the handler may still read it
			request.Fresh = false
		}
		return err
	})
	cancel()
	answered()
	r.metrics.turn(ctx, start, role, player)
	if err == nil {
		err = r.acquireActive(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("respond as %s: %w", world.RoleName(role), err)
	}
	if throttled := response.GetThrottled(); throttled != nil {
		return nil, nil, r.throttled(ctx, throttled)
	}
	if failure := response.GetFailure(); failure != nil {
		end := playerFailure(role, failure)
		if usage := response.GetUsage(); usage != nil {
			end.Usage = &busv1.TurnUsage{Role: role, Index: request.GetIndex(), Usage: usage}
		}
		if by := response.GetAnsweredBy(); by != nil {
			end.Answered = &busv1.AnsweredTurn{Role: role, Index: request.GetIndex(), Instance: by}
		}
		return nil, end, nil
	}
	if len(response.GetMessages()) == 0 {
		return nil, nil, fmt.Errorf("respond as %s: no message in the answer", world.RoleName(role))
	}
	turn := r.state.Turn(response.GetMessages(), nil)
	turn.Usage, turn.Remarks, turn.AnsweredBy = response.GetUsage(), response.GetRemarks(), response.GetAnsweredBy()
	turn.Confidence = response.Confidence
	return turn, nil, nil
}

// request asks for a player's turn.
func (r *runner) request(role worldv1.Role, player *agentgwv1.Player) (*agentgwv1.RespondRequest, error) {
	view := r.state.View(role, r.setup.GetShownToUser())
	digest, err := r.digests[role].extend(view)
	if err != nil {
		return nil, err
	}
	r.digests[role] = digest
	request := &agentgwv1.RespondRequest{
		RolloutId: r.rollout.GetId(),
		Index:     int32(len(r.state.Messages())),
		Role:      role,
		Player:    player,
		Turn:      int32(r.state.TurnsOf(role)),
		Trial:     r.rollout.GetTrial(),
		Compat:    r.rollout.GetCompat(),
		Replay:    r.rollout.GetReplay(),
		Fresh:     r.isFresh(),
		Round:     r.delivery.Round,

		View:               view,
		ConversationDigest: digest.sum,
		ToolSetDigest:      r.tools[role].digest,
		SpendLimit:         r.limit,
	}
	if player.GetModel() != nil && role == worldv1.Role_ROLE_AGENT {
		request.Prompt = r.setup.GetFunctionCalling().GetPrompt()
	}
	return request, nil
}
