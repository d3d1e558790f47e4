package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// runner is one rollout while this worker plays it.
type runner struct {
	*Worker
	delivery *bus.Delivery
	rollout  *busv1.Rollout
	setup    *setupv1.Setup
	tools    roleTools
	state    *rollout.State
	limit    *agentgwv1.SpendLimit
	end      bus.Position // of the log
	calls    *busv1.Turn  // applied, and still to be written
	resumed  bool         // there was a log before this delivery
	digests  map[worldv1.Role]viewDigest
	first    bool // nobody has played the rollout before this delivery
	asked    bool // this delivery has asked for the coming turn

	deactivate func() // gives the limiter back, nil if it is not acquired
	freeMemory func() // releases heldBytes, nil if there are none
	heldBytes  int64  // of memory for the conversation

	appended time.Time // when the log was last seen to be this worker's own
}

// play takes the rollout's log over and plays to the end. bus.ErrFenced means that another worker
// owns it, errSpent that its sweep has spent what it may; any other error means that it should be
// tried again.
func (w *Worker) play(ctx context.Context, delivery *bus.Delivery) (err error) {
	ctx, span := otel.Tracer("orchestrator").Start(ctx, "play "+delivery.Rollout.GetScenario())
	if span.IsRecording() {
		span.SetAttributes(attribute.String("toolsandbox.rollout.id", delivery.Rollout.GetId()),
			attribute.String("gen_ai.agent.name", delivery.Rollout.GetAgent().GetName()))
	}
	defer func() {
		if err != nil {
			span.SetStatus(otelcodes.Error, err.Error())
		}
		span.End()
	}()
	r := &runner{Worker: w, delivery: delivery, rollout: delivery.Rollout, digests: make(map[worldv1.Role]viewDigest, 2)}
	if err := r.acquire(ctx); err != nil {
		return err
	}
	defer r.release()
	defer r.releaseMemory()
	if r.setup, err = w.peers.Bus.Setup(ctx, r.rollout.GetSetupDigest()); err != nil {
		return err
	}
	if err := r.checkBudget(ctx); err != nil {
		return err
	}
	if err := r.claim(ctx); err != nil {
		return err
	}
	if r.state.End() != nil {
		return r.ackIfScored(ctx)
	}
	note := w.metrics.begin(ctx)
	for r.state.End() == nil && err == nil {
		err = r.turn(ctx)
	}
	if err != nil {
		note(nil)
		return err
	}
	note(r.state.End())
	return r.ackIfScored(ctx)
}

// ackIfScored finishes the job of a rollout that has its result already. For any other the result
// is still to come; the evaluator may have missed what another worker wrote.
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

// claim opens the rollout's log or, if there is one, goes on with it.
func (r *runner) claim(ctx context.Context) error {
	session, sessionErr := r.createSession(ctx)
	claim := &busv1.Claim{Worker: r.cfg.Name, Round: r.delivery.Round}
	if r.delivery.Attempt == 1 && r.delivery.Round == 0 && sessionErr == nil {
		err := r.open(ctx, claim, session)
		if !errors.Is(err, bus.ErrFenced) {
			r.first = true
			return err
		}
	}
	if err := r.acquireMemory(ctx); err != nil { // how long the conversation is, only the log says
		return err
	}
	log, err := r.peers.Bus.ReadLog(ctx, r.rollout.GetId())
	if errors.Is(err, bus.ErrDamaged) && r.delivery.Round > 0 && sessionErr == nil {
		return r.reopen(ctx, log.End, claim, session)
	}
	if err != nil {
		return err
	}
	if len(log.Entries) > 0 {
		claim.Versions = session.GetVersions()
		return r.resume(ctx, log, claim, sessionErr)
	}
	if sessionErr != nil {
		return r.failUnstarted(ctx, claim, sessionErr)
	}
	return r.open(ctx, claim, session)
}

// reopen starts a rollout anew whose log cannot be read, in the round of which it is known that
// nobody else can go on with it. Players are not asked again for what is recorded.
func (r *runner) reopen(ctx context.Context, end bus.Position, claim *busv1.Claim, session *toolhostv1.CreateSessionResponse) error {
	entry := &busv1.LogEntry{
		Start: rollout.Start(r.rollout, r.setup, session.GetVersions()),
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

// open writes the first entry of the log.
func (r *runner) open(ctx context.Context, claim *busv1.Claim, session *toolhostv1.CreateSessionResponse) error {
	r.state, r.end = &rollout.State{}, bus.Position{}
	return r.append(ctx, &busv1.LogEntry{
		Start: rollout.Start(r.rollout, r.setup, session.GetVersions()),
		Claim: claim,
	})
}

// resume folds a log that another worker, or this one in an earlier life, has begun, and takes it
// over. A log that has ended is opened again if the job is of a later round.
func (r *runner) resume(ctx context.Context, log *bus.Log, claim *busv1.Claim, sessionErr error) error {
	state, err := rollout.Fold(log.Entries)
	if err != nil {
		return fmt.Errorf("rollout %s: %w", r.rollout.GetId(), err)
	}
	r.state, r.end, r.resumed = state, log.End, true
	switch {
	case state.Round() > claim.GetRound():
		return errPlayedAgain
	case state.End() != nil && state.Round() == claim.GetRound():
		return nil
	}
	if len(state.Versions()) > 0 {
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

// failUnstarted ends a rollout that could not even begin.
func (r *runner) failUnstarted(ctx context.Context, claim *busv1.Claim, cause error) error {
	if !r.hopeless(cause) {
		return cause
	}
	r.state, r.end = &rollout.State{}, bus.Position{}
	return r.append(ctx, &busv1.LogEntry{
		Start: rollout.Start(r.rollout, r.setup, nil),
		Claim: claim,
		End:   infrastructure(cause),
	})
}

// fail ends the rollout as a failure of the infrastructure, if trying again is no use or was
// tried often enough. Otherwise it returns the cause.
func (r *runner) fail(ctx context.Context, claim *busv1.Claim, cause error) error {
	if !r.hopeless(cause) {
		return cause
	}
	return r.append(ctx, &busv1.LogEntry{Claim: claim, End: infrastructure(cause)})
}

func (r *runner) hopeless(cause error) bool {
	switch status.Code(cause) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.AlreadyExists, codes.Unimplemented, codes.ResourceExhausted, codes.DataLoss:
		return true
	default:
		return r.delivery.Attempt >= r.cfg.Attempts
	}
}

// turn lets the next speaker speak, or ends the rollout.
func (r *runner) turn(ctx context.Context) error {
	if bus.Cancelled(r.watched(r.rollout.GetSweepId()), r.delivery.Round) {
		return r.append(ctx, &busv1.LogEntry{End: &busv1.End{Reason: busv1.EndReason_END_REASON_CANCELLED}})
	}
	if err := r.acquireMemory(ctx); err != nil {
		return err
	}
	speaker, over := r.state.Next()
	at, interrupted := r.state.Interruption(speaker)
	var turn *busv1.Turn
	var failure *busv1.End
	var err error
	switch {
	case over != nil:
		return r.append(ctx, &busv1.LogEntry{End: over})
	case interrupted:
		turn, failure, err = r.execute(ctx, &at)
	case speaker == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT:
		turn, failure, err = r.execute(ctx, r.state.Now())
	case speaker == worldv1.Role_ROLE_AGENT:
		turn, failure, err = r.respond(ctx, speaker, r.rollout.GetAgent(), r.setup.GetOracleScript())
	case speaker == worldv1.Role_ROLE_USER:
		turn, failure, err = r.respond(ctx, speaker, r.rollout.GetUser(), r.setup.GetUserScript())
	default:
		failure = infrastructure(fmt.Errorf("nobody can answer as %s", world.RoleText(speaker)))
	}
	switch {
	case errors.Is(err, errHeld):
		return r.wait(ctx)
	case errors.Is(err, errSpent):
		return err
	case err != nil:
		return r.fail(ctx, nil, err)
	}
	err = r.append(ctx, &busv1.LogEntry{Turn: turn, End: failure})
	if errors.Is(err, rollout.ErrLog) {
		// Nothing was written: a peer answered something that cannot stand in a log, and may do so
		// for ever.
		return r.fail(ctx, nil, err)
	}
	return err
}

// respond asks the agent gateway for a player's turn.
func (r *runner) respond(ctx context.Context, role worldv1.Role, player *agentgwv1.Player, script []*worldv1.Turn) (*busv1.Turn, *busv1.End, error) {
	request, err := r.request(role, player, script)
	if err != nil {
		return nil, nil, err
	}
	r.asked = true
	r.release()
	answered, err := r.ask(ctx)
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, r.cfg.turnLimit(player))
	var response *agentgwv1.RespondResponse
	err = r.withDocuments(limited, func() error {
		response, err = r.peers.Agents.Respond(limited, request)
		request.Fresh = false
		return err
	})
	cancel()
	answered()
	if err == nil {
		err = r.acquire(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("respond as %s: %w", world.RoleText(role), err)
	}
	if hold := response.GetHold(); hold != nil {
		return nil, nil, r.held(ctx, hold)
	}
	if failure := response.GetFailure(); failure != nil {
		end := failed(failure)
		if usage := response.GetUsage(); usage != nil {
			end.Usage = &busv1.TurnUsage{Role: role, Index: request.GetIndex(), Usage: usage}
		}
		return nil, end, nil
	}
	if len(response.GetMessages()) == 0 {
		return nil, nil, fmt.Errorf("respond as %s: no message in the answer", world.RoleText(role))
	}
	turn := r.state.Turn(response.GetMessages(), nil, nil)
	turn.Usage = response.GetUsage()
	return turn, nil, nil
}

// request asks for a player's turn.
func (r *runner) request(role worldv1.Role, player *agentgwv1.Player, script []*worldv1.Turn) (*agentgwv1.RespondRequest, error) {
	number, view := r.state.TurnsOf(role), r.state.View(role)
	if player.GetModel() != nil || player.GetPlugin() != nil { // what others answer is not recorded
		digest, err := r.digests[role].of(view)
		if err != nil {
			return nil, err
		}
		r.digests[role] = digest
	}
	request := &agentgwv1.RespondRequest{
		RolloutId: r.rollout.GetId(),
		Index:     int32(len(r.state.Messages())),
		Role:      role,
		Player:    player,
		Turn:      int32(number),
		Seed:      r.rollout.GetSeed(),
		Compat:    r.rollout.GetCompat(),
		Replay:    r.rollout.GetReplay(),
		Fresh:     r.fresh(),
		Round:     r.delivery.Round,

		View:               view,
		ConversationDigest: r.digests[role].sum,
		ToolSetDigest:      r.tools[role].digest,
		SpendLimit:         r.limit,
	}
	if player.GetModel() != nil && role == worldv1.Role_ROLE_AGENT {
		request.Prompt = r.setup.GetFunctionCalling().GetPrompt()
	}
	if player.GetScripted().GetSource() == agentgwv1.Scripted_SOURCE_SCENARIO && number < len(script) {
		request.Scripted = script[number]
	}
	return request, nil
}
