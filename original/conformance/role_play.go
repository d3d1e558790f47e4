package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// roleAttempts is the number of attempts of the gateway, which is that of the original.
	roleAttempts = 3
	// roleTimeout limits one HTTP request, in milliseconds. shortTimeout limits a request that gets no
	// answer.
	roleTimeout  = 20_000
	shortTimeout = 300
	// maxRequests is the maximum number of requests in one turn.
	maxRequests = roleAttempts
)

// mendedCases returns the cases in which the gateway mends what the original takes as it is: ids
// that are missing or used twice, and arguments that are empty or quoted. They run in compatible
// mode only. See docs/differences.md.
func mendedCases() []string {
	return []string{
		"answer/after_error_call_same_id", "answer/arguments_text", "answer/call_id_null", "answer/call_without_id", "answer/empty_arguments", "answer/id_empty", "answer/id_null", "answer/input_missing",
		"answer/parallel_calls_same_id", "answer/parameters_text", "send/same_id_reused",
	}
}

// runRole runs a case twice, with and without compatible mode.
func (r *Runner) runRole(ctx context.Context, k roleKind, l line) outcome {
	c, err := decodeRole(l.raw)
	if err != nil {
		return outcome{differences: errorDifference(err)}
	}
	if len(c.rows) == 0 { // the case covers how the original starts
		return outcome{unchecked: true}
	}
	var differences [2][]Difference
	var skipped [2]bool
	var group sync.WaitGroup
	for i, compat := range []bool{false, true} {
		if !compat && slices.Contains(mendedCases(), c.Case) {
			continue
		}
		group.Go(func() {
			p := &roleRun{Runner: r, kind: k, roleCase: c, compat: compat, session: fmt.Sprintf("%s-%t", r.id(l.number), compat)}
			var err error
			if differences[i], err = p.run(ctx); err != nil {
				differences[i] = errorDifference(err)
			}
			skipped[i] = p.skipped
			for j := range differences[i] {
				d := &differences[i][j]
				d.Field = c.Case + map[bool]string{true: " with compat"}[compat] + ": " + d.Field
			}
		})
	}
	group.Wait()
	return outcome{unchecked: c.Expect == expectFault || skipped[0] || skipped[1], differences: slices.Concat(differences[:]...)}
}

// roleRun is a run of one case in one mode.
type roleRun struct {
	*Runner
	*roleCase
	comparison
	kind    roleKind
	compat  bool
	session string
	tools   []*worldv1.Tool
	server  *roleServer
	// skipped reports that the environment's answer was not compared although the case has one.
	skipped bool
}

// run runs the case and returns the differences.
func (p *roleRun) run(ctx context.Context) (differences []Difference, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if p.server, err = startRoleServer(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.server.close()) }()
	setup, err := p.setup(p.kind.role)
	if err != nil {
		return nil, err
	}
	host := p.toolHost(p.session)
	created, err := host.CreateSession(ctx, &toolhostv1.CreateSessionRequest{SessionId: p.session, Setup: setup})
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	defer func() {
		_, deleteErr := host.DeleteSession(ctx, &toolhostv1.DeleteSessionRequest{SessionId: p.session})
		err = errors.Join(err, deleteErr)
	}()
	p.tools = created.GetAgentTools()
	if p.kind.role == worldv1.Role_ROLE_USER {
		p.tools = created.GetUserTools()
	}
	if err := p.runEarlier(ctx); err != nil {
		return nil, err
	}
	p.server.setAnswers(p.answers())
	response, err := p.respond(ctx, len(p.rows))
	if n := len(p.server.received()); n > maxRequests {
		p.add("requests", fmt.Sprintf("at most %d", maxRequests), fmt.Sprint(n))
	}
	if p.Expect != expectFault {
		p.comparison.request(p.kind, p.Request, p.server.received(), p.compat)
	}
	if failed := p.compareTurn(response, err); failed || len(response.GetMessages()) == 0 {
		return p.differences, nil
	}
	return p.differences, p.runCalls(ctx, response.GetMessages())
}

// runEarlier requests the earlier turns of the session from the gateway.
func (p *roleRun) runEarlier(ctx context.Context) error {
	for _, turn := range p.Earlier {
		if len(turn.Result.messages) == 0 {
			continue // the role made no request
		}
		p.server.setAnswers([]roleAnswer{{Body: turn.Response}})
		before := p.differences
		response, err := p.respond(ctx, int(turn.Result.messages[0].GetIndex()))
		if err != nil {
			return fmt.Errorf("earlier turn: %w", err)
		}
		if p.Expect != expectFault {
			// The original wrongly converted integers of earlier turns to floats.
			p.compareRoleMessages(p.kind, turn.Result.messages, response.GetMessages(), sameNumbers)
		}
		if len(p.differences) > len(before) {
			return nil
		}
	}
	return nil
}

// respond requests the turn after the first n messages.
func (p *roleRun) respond(ctx context.Context, n int) (*agentgwv1.RespondResponse, error) {
	who := p.kind.player(p.server.address, p.Request)
	model := who.GetModel()
	model.Attempts, model.TimeoutMs = roleAttempts, roleTimeout
	for _, answer := range p.answers() {
		if answer.NetworkError == "timeout" {
			model.TimeoutMs = shortTimeout
		}
	}
	request := &agentgwv1.RespondRequest{
		RolloutId: p.session, Index: int32(n), Role: p.kind.role, Player: who, Tools: p.tools, Compat: p.compat,
	}
	for _, m := range p.rows[:n] {
		if world.VisibleTo(m, p.kind.role) {
			request.View = append(request.View, m)
		}
	}
	return agentgwv1.NewAgentGatewayServiceClient(p.services.AgentGateway).Respond(ctx, request)
}

// compareTurn compares the gateway's response. failed reports whether the turn failed.
func (p *roleRun) compareTurn(response *agentgwv1.RespondResponse, err error) (failed bool) {
	end := endText(response, err)
	provider := response.GetFailure().GetClass() == agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER || isTransient(err)
	switch {
	case p.Expect == expectFault:
		if err != nil && !isTransient(err) && !isRejection(err) {
			p.add("result", "an answer or a clear failure", end)
		}
		return err != nil || response.GetFailure() != nil
	case p.Expect == expectProvider && provider:
		return true
	case p.Expect == expectProvider && p.Result.exception != "":
		p.add("result", "a failure of the provider", end)
		return true
	case p.Expect == expectModelError && (p.compat || p.Request == nil):
		want := "MODEL " + p.Result.exception
		p.text("result", want, end)
		return true
	case err != nil || response.GetFailure() != nil:
		p.add("result", "messages", end)
		return true
	case p.Expect != expectModelError:
		p.compareRoleMessages(p.kind, p.Result.messages, response.GetMessages(), sameKinds)
	}
	return false
}

// isTransient reports whether an error allows a retry.
func isTransient(err error) bool {
	code := status.Code(err)
	return code == codes.Aborted || code == codes.Unavailable || code == codes.DeadlineExceeded
}

// endText describes the result of a turn for a report.
func endText(response *agentgwv1.RespondResponse, err error) string {
	switch failure := response.GetFailure(); {
	case err != nil:
		return "error: " + err.Error()
	case failure != nil:
		return failure.GetClass().String()[len("FAILURE_CLASS_"):] + " " + failure.GetExceptionType()
	default:
		return fmt.Sprintf("%d messages", len(response.GetMessages()))
	}
}

// runCalls executes the role's calls in the environment and compares the results.
func (p *roleRun) runCalls(ctx context.Context, calls []*worldv1.Message) error {
	if calls[0].GetRecipient() != worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		return nil
	}
	index := calls[0].GetIndex() + int32(len(calls))
	response, err := p.toolHost(p.session).Execute(ctx, &toolhostv1.ExecuteRequest{SessionId: p.session, Index: index, Calls: calls})
	switch {
	case err != nil:
		return fmt.Errorf("execute: %w", err)
	case p.Expect == expectModelError:
		for _, answer := range response.GetAnswers() {
			if answer.GetResult().Exception != nil {
				return nil
			}
		}
		p.add("then", "an error that the model can read", fmt.Sprintf("%d answers without one", len(response.GetAnswers())))
	case p.ExpectThen != expectEqual || p.Then == nil || p.Then.exception != "":
	case !identifiableCalls(calls):
		p.skipped = true
	default:
		var answers []*worldv1.Message
		for _, message := range response.GetAnswers() {
			answer := proto.CloneOf(message) // the response belongs to the tool host
			answers = append(answers, answer)
			answer.GetResult().Traces = nil // recorded rows have no traces
			if answer.GetConversationActive() {
				answer.ConversationActive = nil
			}
		}
		p.compareRoleMessages(p.kind, p.Then.messages, answers, sameKinds)
	}
	return nil
}

// identifiableCalls reports whether the ids of all calls can be parts of Python names. The original
// rejects other calls with an error about the source; the tool host executes them.
func identifiableCalls(calls []*worldv1.Message) bool {
	for _, m := range calls {
		id, _ := messagetext.Answering(m)
		if variable := m.GetCall().GetVariable(); variable != "" {
			id = &variable
		}
		if id != nil && strings.ContainsFunc(*id, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			return false
		}
	}
	return true
}
