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
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/contract"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// game is one rollout while this worker plays it.
type game struct {
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
	asked    bool // the coming turn may have been asked for before

	release func() // the hand that this rollout has, nil if it has none
	leave   func() // gives back the room that this rollout has, nil if it has none
	inside  int64  // that room

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
	g := &game{Worker: w, delivery: delivery, rollout: delivery.Rollout, digests: make(map[worldv1.Role]viewDigest, 2)}
	if err := g.goOn(ctx); err != nil {
		return err
	}
	defer g.rest()
	defer g.exit()
	if g.setup, err = w.peers.Bus.Setup(ctx, g.rollout.GetSetupDigest()); err != nil {
		return err
	}
	if err := g.afford(ctx); err != nil {
		return err
	}
	if err := g.claim(ctx); err != nil {
		return err
	}
	if g.state.End() != nil {
		return g.settle(ctx)
	}
	note := w.metrics.begin(ctx)
	for g.state.End() == nil && err == nil {
		err = g.turn(ctx)
	}
	if err != nil {
		note(nil)
		return err
	}
	note(g.state.End())
	return g.settle(ctx)
}

// settle finishes the job of a rollout that has its result already. For any other the result is
// still to come; the evaluator may have missed what another worker wrote.
func (g *game) settle(ctx context.Context) error {
	g.awaitResult(g.delivery)
	if !g.resumed {
		return nil
	}
	_, err := g.peers.Bus.RoundResult(ctx, g.rollout.GetId(), g.delivery.Round)
	if errors.Is(err, bus.ErrNotFound) {
		return g.requestScore(ctx)
	}
	if err == nil {
		g.finish(g.rollout.GetId(), g.delivery.Round)
	}
	return err
}

// claim opens the rollout's log or, if there is one, goes on with it.
func (g *game) claim(ctx context.Context) error {
	session, sessionErr := g.createSession(ctx)
	claim := &busv1.Claim{Worker: g.cfg.Name, Round: g.delivery.Round}
	if g.delivery.Attempt == 1 && g.delivery.Round == 0 && sessionErr == nil {
		err := g.open(ctx, claim, session)
		if !errors.Is(err, bus.ErrFenced) {
			return err
		}
	}
	if err := g.enter(ctx); err != nil { // how long the conversation is, only the log says
		return err
	}
	log, err := g.peers.Bus.ReadLog(ctx, g.rollout.GetId())
	if errors.Is(err, bus.ErrDamaged) && g.delivery.Round > 0 && sessionErr == nil {
		return g.reopen(ctx, log.End, claim, session)
	}
	if err != nil {
		return err
	}
	if len(log.Entries) > 0 {
		claim.Versions = session.GetVersions()
		return g.resume(ctx, log, claim, sessionErr)
	}
	if sessionErr != nil {
		return g.abandon(ctx, claim, sessionErr)
	}
	return g.open(ctx, claim, session)
}

// reopen starts a rollout anew whose log cannot be read, in the round of which it is known that
// nobody else can go on with it. Players are not asked again for what is recorded.
func (g *game) reopen(ctx context.Context, end bus.Position, claim *busv1.Claim, session *toolhostv1.CreateSessionResponse) error {
	entry := &busv1.LogEntry{
		Start: rollout.Start(g.rollout, g.setup.GetMessages(), session.GetVersions(), g.setup.GetMaxMessages()),
		Claim: claim,
	}
	g.state, g.resumed = &rollout.State{}, true
	if err := g.state.Apply(entry); err != nil {
		return fmt.Errorf("rollout %s: %w", g.rollout.GetId(), err)
	}
	var err error
	g.end, err = g.peers.Bus.Reopen(ctx, g.rollout.GetId(), entry, end)
	g.asked = true
	return err
}

// open writes the first entry of the log.
func (g *game) open(ctx context.Context, claim *busv1.Claim, session *toolhostv1.CreateSessionResponse) error {
	g.state, g.end = &rollout.State{}, bus.Position{}
	return g.append(ctx, &busv1.LogEntry{
		Start: rollout.Start(g.rollout, g.setup.GetMessages(), session.GetVersions(), g.setup.GetMaxMessages()),
		Claim: claim,
	})
}

// resume folds a log that another worker, or this one in an earlier life, has begun, and takes it
// over. A log that has ended is opened again if the job is of a later round.
func (g *game) resume(ctx context.Context, log *bus.Log, claim *busv1.Claim, sessionErr error) error {
	state, err := rollout.Fold(log.Entries)
	if err != nil {
		return fmt.Errorf("rollout %s: %w", g.rollout.GetId(), err)
	}
	g.state, g.end, g.resumed = state, log.End, true
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
		sessionErr = g.restoreSession(ctx)
	}
	claim.Attempt = int32(state.Claims())
	if sessionErr != nil {
		return g.giveUp(ctx, claim, sessionErr)
	}
	err = g.append(ctx, &busv1.LogEntry{Claim: claim})
	g.asked = true
	return err
}

// abandon ends a rollout that could not even begin.
func (g *game) abandon(ctx context.Context, claim *busv1.Claim, cause error) error {
	if !g.hopeless(cause) {
		return cause
	}
	g.state, g.end = &rollout.State{}, bus.Position{}
	return g.append(ctx, &busv1.LogEntry{
		Start: rollout.Start(g.rollout, g.setup.GetMessages(), nil, g.setup.GetMaxMessages()),
		Claim: claim,
		End:   infrastructure(cause),
	})
}

// giveUp ends the rollout as a failure of the infrastructure, if trying again is no use or was
// tried often enough. Otherwise it returns the cause.
func (g *game) giveUp(ctx context.Context, claim *busv1.Claim, cause error) error {
	if !g.hopeless(cause) {
		return cause
	}
	return g.append(ctx, &busv1.LogEntry{Claim: claim, End: infrastructure(cause)})
}

func (g *game) hopeless(cause error) bool {
	switch status.Code(cause) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.AlreadyExists, codes.Unimplemented, codes.ResourceExhausted, codes.DataLoss:
		return true
	default:
		return g.delivery.Attempt >= g.cfg.Attempts
	}
}

// turn lets the next speaker speak, or ends the rollout.
func (g *game) turn(ctx context.Context) error {
	if g.isCancelled(g.rollout.GetSweepId(), g.delivery.Round) {
		return g.append(ctx, &busv1.LogEntry{End: &busv1.End{Reason: busv1.EndReason_END_REASON_CANCELLED}})
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	speaker, over := g.state.Next()
	var turn *busv1.Turn
	var failure *busv1.End
	var err error
	switch {
	case over != nil:
		return g.append(ctx, &busv1.LogEntry{End: over})
	case speaker == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT:
		turn, failure, err = g.execute(ctx)
	case speaker == worldv1.Role_ROLE_AGENT:
		turn, failure, err = g.respond(ctx, speaker, g.rollout.GetAgent(), g.setup.GetOracleScript())
	case speaker == worldv1.Role_ROLE_USER:
		turn, failure, err = g.respond(ctx, speaker, g.rollout.GetUser(), g.setup.GetUserScript())
	default:
		failure = infrastructure(fmt.Errorf("nobody can answer as %s", world.RoleText(speaker)))
	}
	switch {
	case errors.Is(err, errHeld):
		return g.wait(ctx)
	case errors.Is(err, errSpent):
		return err
	case err != nil:
		return g.giveUp(ctx, nil, err)
	}
	err = g.append(ctx, &busv1.LogEntry{Turn: turn, End: failure})
	if errors.Is(err, rollout.ErrLog) {
		// Nothing was written: a peer answered something that cannot stand in a log, and may do so
		// for ever.
		return g.giveUp(ctx, nil, err)
	}
	return err
}

// respond asks the agent gateway for a player's turn.
func (g *game) respond(ctx context.Context, role worldv1.Role, player *agentgwv1.Player, script []*worldv1.Turn) (*busv1.Turn, *busv1.End, error) {
	request, err := g.request(role, player, script)
	if err != nil {
		return nil, nil, err
	}
	g.asked = true
	g.rest()
	answered, err := g.ask(ctx)
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, g.cfg.turnLimit(player))
	var response *agentgwv1.RespondResponse
	err = g.withDocuments(limited, func() error {
		response, err = g.peers.Agents.Respond(limited, request)
		request.Fresh = false
		return err
	})
	cancel()
	answered()
	if err == nil {
		err = g.goOn(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("respond as %s: %w", world.RoleText(role), err)
	}
	if hold := response.GetHold(); hold != nil {
		return nil, nil, g.held(ctx, hold)
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
	turn := g.state.Turn(response.GetMessages(), nil, nil)
	turn.Usage = response.GetUsage()
	if role == worldv1.Role_ROLE_USER && player.GetScripted() == nil {
		turn.Flags = contract.Check(request.GetView(), turn.GetMessages(), contract.Tools{User: g.tools[role].tools, Agent: g.tools[worldv1.Role_ROLE_AGENT].tools})
	}
	return turn, nil, nil
}

// request asks for a player's turn.
func (g *game) request(role worldv1.Role, player *agentgwv1.Player, script []*worldv1.Turn) (*agentgwv1.RespondRequest, error) {
	number, view := g.state.TurnsOf(role), g.state.View(role)
	digest, err := g.digests[role].of(view)
	if err != nil {
		return nil, err
	}
	g.digests[role] = digest
	request := &agentgwv1.RespondRequest{
		RolloutId: g.rollout.GetId(),
		Index:     int32(len(g.state.Messages())),
		Role:      role,
		Player:    player,
		Turn:      int32(number),
		Seed:      g.rollout.GetSeed(),
		Compat:    g.rollout.GetCompat(),
		Replay:    g.rollout.GetReplay(),
		Fresh:     g.fresh(),
		Round:     g.delivery.Round,

		View:               view,
		ConversationDigest: digest.sum,
		ToolSetDigest:      g.tools[role].digest,
		SpendLimit:         g.limit,
	}
	if player.GetScripted().GetSource() == agentgwv1.Scripted_SOURCE_SCENARIO && number < len(script) {
		request.Scripted = script[number]
	}
	return request, nil
}
