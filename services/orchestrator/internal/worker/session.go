package worker

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// execute lets the tool host answer the trailing calls or, where there are none, the next event
// interrupt. now is the virtual time, nil if the log does not say.
func (r *runner) execute(ctx context.Context, now *float64) (*busv1.Turn, *busv1.End, error) {
	response, err := r.run(ctx, now)
	if code := status.Code(err); code == codes.NotFound || code == codes.FailedPrecondition {
		// The session does not match the log: its host has lost it, or another worker had it.
		if err := r.restoreSession(ctx); err != nil {
			return nil, nil, err
		}
		response, err = r.run(ctx, now)
	}
	if status.Code(err) == codes.ResourceExhausted && len(r.state.Calls()) > 0 {
		return nil, quotaEnd(r.state, status.Convert(err).Message()), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("execute: %w", err)
	}
	if text := response.GetException(); text != "" {
		return nil, uncaughtException(text), nil
	}
	return r.state.ExecutionTurn(response), nil, nil
}

// run runs the trailing calls in the session as it is after the log.
func (r *runner) run(ctx context.Context, now *float64) (*toolhostv1.ExecuteResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ExecuteTimeout)
	defer cancel()
	id := r.rollout.GetId()
	return r.peers.ToolHost(id).Execute(ctx, &toolhostv1.ExecuteRequest{
		SessionId:     id,
		Index:         int32(len(r.state.Messages())),
		Calls:         r.state.Calls(),
		SessionDigest: r.state.SessionDigest(),
		Now:           now,
		Failing:       r.state.Failing(r.setup),
	})
}

// restoreSession restores the session at the log's position from the log.
func (r *runner) restoreSession(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ExecuteTimeout)
	defer cancel()
	id := r.rollout.GetId()
	create, err := r.sessionRequest(ctx)
	if err != nil {
		return err
	}
	var response *toolhostv1.RestoreSessionResponse
	err = r.retryWithDocuments(ctx, func() error {
		response, err = r.peers.ToolHost(id).RestoreSession(ctx, &toolhostv1.RestoreSessionRequest{Create: create, Executions: r.state.Executions()})
		return err
	})
	if err != nil {
		return fmt.Errorf("restore session: %w", err)
	}
	if response.GetRepeated() > 0 || response.GetDropped() > 0 {
		r.peers.Logger.Info("session restored", "rollout", id,
			"executions_repeated", response.GetRepeated(), "executions_dropped", response.GetDropped())
	}
	return nil
}

func (r *runner) createSession(ctx context.Context) (*toolhostv1.CreateSessionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ExecuteTimeout)
	defer cancel()
	request, err := r.sessionRequest(ctx)
	if err != nil {
		return nil, err
	}
	var session *toolhostv1.CreateSessionResponse
	err = r.retryWithDocuments(ctx, func() error {
		session, err = r.peers.ToolHost(r.rollout.GetId()).CreateSession(ctx, request)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	return session, r.useTools(ctx, session)
}

// sessionRequest returns the request that creates the rollout's session.
func (r *runner) sessionRequest(ctx context.Context) (*toolhostv1.CreateSessionRequest, error) {
	request := &toolhostv1.CreateSessionRequest{
		SessionId: r.rollout.GetId(), SetupDigest: r.rollout.GetSetupDigest(), HostedServices: r.rollout.GetHostedServices(), Replay: r.rollout.GetReplay(),
	}
	if !request.GetReplay() && r.rollout.GetFork() == nil {
		return request, nil
	}
	return request, r.recordedAnswers(ctx, request)
}

// recordedAnswers adds the recorded answers of hosted services for a replay or a fork.
func (r *runner) recordedAnswers(ctx context.Context, request *toolhostv1.CreateSessionRequest) error {
	return r.peers.Bus.Answers(ctx, r.rollout.GetId(), func(n int32, raw []byte) error {
		answer := &toolhostv1.ServiceAnswer{}
		if err := proto.Unmarshal(raw, answer); err != nil {
			return fmt.Errorf("answer %d of a hosted service: %w", n, err)
		}
		request.Answers = append(request.Answers, answer)
		return nil
	})
}
