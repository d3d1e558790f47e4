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

	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// roleAttempts is how often the gateway may try; the original tries three times.
	roleAttempts = 3
	// roleTimeout bounds one HTTP request in milliseconds, shortTimeout one that is never answered.
	roleTimeout  = 20_000
	shortTimeout = 300
	// maxRequests is the most that one turn may take: more is a loop.
	maxRequests = roleAttempts
)

// playRole plays a case twice: as usual and in compatible mode.
func (r *Runner) playRole(ctx context.Context, k roleKind, l line) outcome {
	c, err := decodeRole(l.raw)
	if err != nil {
		return outcome{differences: failure(err)}
	}
	if len(c.rows) == 0 { // about how the original is started
		return outcome{unchecked: true}
	}
	var differences [2][]Difference
	var skipped [2]bool
	var group sync.WaitGroup
	for i, compat := range []bool{false, true} {
		group.Go(func() {
			p := &rolePlay{Runner: r, kind: k, roleCase: c, compat: compat, session: fmt.Sprintf("%s-%t", r.id(l.number), compat)}
			var err error
			if differences[i], err = p.run(ctx); err != nil {
				differences[i] = failure(err)
			}
			skipped[i] = p.skipped
			for j := range differences[i] {
				d := &differences[i][j]
				d.Field = c.Case + modeText(compat) + ": " + d.Field
			}
		})
	}
	group.Wait()
	return outcome{unchecked: c.Expect == expectFault || skipped[0] || skipped[1], differences: slices.Concat(differences[:]...)}
}

func modeText(compat bool) string {
	if compat {
		return " with compat"
	}
	return ""
}

// rolePlay is one case in one mode.
type rolePlay struct {
	*Runner
	*roleCase
	comparison
	kind    roleKind
	compat  bool
	session string
	tools   []*worldv1.Tool
	server  *roleServer
	// skipped says that the environment's answer was not compared although the case asks for it.
	skipped bool
}

// run plays the case and compares.
func (p *rolePlay) run(ctx context.Context) (differences []Difference, err error) {
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
	if err := p.playEarlier(ctx); err != nil {
		return nil, err
	}
	p.server.expect(p.answers())
	response, err := p.respond(ctx, len(p.rows))
	if n := len(p.server.seen()); n > maxRequests {
		p.add("requests", fmt.Sprintf("at most %d", maxRequests), fmt.Sprint(n))
	}
	if p.Expect != expectFault {
		p.comparison.request(p.kind, p.Request, p.server.seen(), p.compat)
	}
	if failed := p.judge(response, err); failed || len(response.GetMessages()) == 0 {
		return p.differences, nil
	}
	return p.differences, p.playCalls(ctx, response.GetMessages())
}

// playEarlier gives the gateway the turns that the original's session remembers.
func (p *rolePlay) playEarlier(ctx context.Context) error {
	for _, turn := range p.Earlier {
		if len(turn.Result.messages) == 0 {
			continue // nobody was asked
		}
		p.server.expect([]roleAnswer{{Body: turn.Response}})
		before := p.differences
		response, err := p.respond(ctx, int(turn.Result.messages[0].GetIndex()))
		if err != nil {
			return fmt.Errorf("earlier turn: %w", err)
		}
		if p.Expect != expectFault {
			p.earlierMessages(p.kind, turn.Result.messages, response.GetMessages())
		}
		if len(p.differences) > len(before) {
			return nil
		}
	}
	return nil
}

// respond asks for the turn after the first n messages.
func (p *rolePlay) respond(ctx context.Context, n int) (*agentgwv1.RespondResponse, error) {
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

// judge compares what the gateway did, and reports whether the turn failed as it should.
func (p *rolePlay) judge(response *agentgwv1.RespondResponse, err error) (failed bool) {
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
		p.roleMessages(p.kind, p.Result.messages, response.GetMessages())
	}
	return false
}

// isTransient reports whether an error is that of a provider that may answer later.
func isTransient(err error) bool {
	code := status.Code(err)
	return code == codes.Aborted || code == codes.Unavailable || code == codes.DeadlineExceeded
}

// endText says how a turn ended, for people.
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

// playCalls executes the role's calls in the environment and compares the results.
func (p *rolePlay) playCalls(ctx context.Context, calls []*worldv1.Message) error {
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
		for _, said := range response.GetAnswers() {
			answer := proto.CloneOf(said) // it is the tool host's, too
			answers = append(answers, answer)
			answer.GetResult().Traces = nil // the recorded rows leave it out
			if answer.GetConversationActive() {
				answer.ConversationActive = nil
			}
		}
		p.roleMessages(p.kind, p.Then.messages, answers)
	}
	return nil
}

// identifiableCalls reports whether all calls have ids that can be parts of Python names. Others
// run here, whereas the original answers with an error about the source.
func identifiableCalls(calls []*worldv1.Message) bool {
	for _, m := range calls {
		id, _ := sandbox.Answering(m)
		if variable := m.GetCall().GetVariable(); variable != "" {
			id = &variable
		}
		if id != nil && strings.ContainsFunc(*id, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			return false
		}
	}
	return true
}
