package conformance

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/original/row"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// toolSession is the session of one tool case.
type toolSession struct {
	client toolhostv1.ToolHostServiceClient
	id     string
	// next is the index of the next message.
	next int32
}

// run creates the session, runs the case, compares and deletes the session.
func (s *toolSession) run(ctx context.Context, setup *setupv1.Setup, c *toolCase) (differences []Difference, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := s.client.CreateSession(ctx, &toolhostv1.CreateSessionRequest{SessionId: s.id, Setup: setup}); err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	defer func() {
		_, deleteErr := s.client.DeleteSession(ctx, &toolhostv1.DeleteSessionRequest{SessionId: s.id})
		if err == nil && deleteErr != nil {
			err = fmt.Errorf("delete session: %w", deleteErr)
		}
	}()
	for _, before := range c.setup {
		if _, err := s.send(ctx, worldv1.Role_ROLE_AGENT, []call{before}); err != nil {
			return nil, fmt.Errorf("set-up call: %w", err)
		}
	}
	first := s.next + int32(len(c.calls))
	response, err := s.send(ctx, c.sender, c.calls)
	if c.unchecked && isRejection(err) {
		return nil, nil
	}
	if err != nil || c.unchecked {
		return nil, err
	}
	var compared comparison
	compared.text("exception of the environment", "", response.GetException())
	compared.compareAnswers(c.answers, response.GetAnswers(), first)
	changed, err := s.changed(ctx, response, first)
	if err != nil {
		return nil, err
	}
	compared.changed(c.changed, changed)
	return compared.differences, nil
}

// isRejection reports whether an error rejects a request, unlike a failure of the service.
func isRejection(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.ResourceExhausted, codes.OutOfRange:
		return true
	default:
		return false
	}
}

// send sends calls as consecutive messages and advances next past the answers.
func (s *toolSession) send(ctx context.Context, sender worldv1.Role, calls []call) (*toolhostv1.ExecuteResponse, error) {
	request := &toolhostv1.ExecuteRequest{SessionId: s.id, Index: s.next + int32(len(calls))}
	for i, c := range calls {
		message, err := c.message(s.next+int32(i), sender)
		if err != nil {
			return nil, err
		}
		request.Calls = append(request.Calls, message)
	}
	response, err := s.client.Execute(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("execute: %w", err)
	}
	s.next = request.GetIndex() + int32(len(response.GetAnswers()))
	return response, nil
}

// message returns the message of a call.
func (c call) message(index int32, sender worldv1.Role) (*worldv1.Message, error) {
	message := &worldv1.Message{
		Index: index, Sender: sender, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
	}
	if c.tool == "" {
		return message, row.Row{Content: &c.source, ToolCallID: c.id}.SetBody(message)
	}
	arguments, err := python.ParseJSON(c.arguments)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, fmt.Sprintf("arguments of %s: %v", c.tool, err))
	}
	if text, ok := arguments.AsStr(); ok { // the original executes a text as code
		source := messagetext.ComposeSource(*c.id, c.tool, text)
		return message, row.Row{Content: &source, ToolCallID: c.id, FunctionName: &c.tool}.SetBody(message)
	}
	message.Body = &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: c.id, Tool: c.tool, Name: &c.tool, ArgumentsJson: c.arguments}}
	return message, nil
}

// changed reads the table versions that an execution stored.
func (s *toolSession) changed(ctx context.Context, response *toolhostv1.ExecuteResponse, first int32) ([]*worldv1.Table, error) {
	request := &toolhostv1.ReadTablesRequest{SessionId: s.id, Index: s.next - 1}
	for _, version := range response.GetVersions() {
		if version.GetIndex() == first {
			request.Tables = append(request.Tables, version.GetName())
		}
	}
	if len(request.GetTables()) == 0 {
		return nil, nil
	}
	read, err := s.client.ReadTables(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("read tables: %w", err)
	}
	return read.GetTables(), nil
}
