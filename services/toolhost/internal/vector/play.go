package vector

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Player plays cases against a tool host. It is immutable and safe for concurrent use.
type Player struct {
	Client toolhostv1.ToolHostServiceClient
	Worlds map[string]World
}

// Play plays a case in a new session of the given id and returns the differences, one text each; none means agreement. The
// error says that the case could not be played to the end. The session stays.
func (p Player) Play(ctx context.Context, session string, c *Case) (differences []string, err error) {
	w, ok := p.Worlds[c.World]
	if !ok {
		return nil, fmt.Errorf("play: unknown world %q", c.World)
	}
	setup, err := SetupOf(c.World, w, c.Zone, c.Recordings)
	if err != nil {
		return nil, err
	}
	if _, err = p.Client.CreateSession(ctx, &toolhostv1.CreateSessionRequest{SessionId: session, Setup: setup}); err != nil {
		return nil, fmt.Errorf("play: %w", err)
	}
	next := w.MaxIndex + 1
	for _, call := range c.Setup {
		if _, next, err = p.send(ctx, session, next, worldv1.Role_ROLE_AGENT, []Call{call}); err != nil {
			return nil, fmt.Errorf("play set-up: %w", err)
		}
	}
	response, _, err := p.send(ctx, session, next, c.Sender, c.Calls)
	if err != nil {
		return nil, fmt.Errorf("play: %w", err)
	}
	if !c.Compared {
		return nil, nil
	}
	first := next + int32(len(c.Calls))
	differences = c.compare(response, first)
	changed, err := p.compareTables(ctx, session, c, response, first)
	if err != nil {
		return nil, fmt.Errorf("play: %w", err)
	}
	return slices.Concat(differences, changed), nil
}

// send executes calls as messages from index next on and returns the index after the answers.
func (p Player) send(ctx context.Context, session string, next int32, sender worldv1.Role, calls []Call) (*toolhostv1.ExecuteResponse, int32, error) {
	request := &toolhostv1.ExecuteRequest{SessionId: session, Index: next + int32(len(calls))}
	for i, call := range calls {
		message, err := call.message(next+int32(i), sender)
		if err != nil {
			return nil, 0, err
		}
		request.Calls = append(request.Calls, message)
	}
	response, err := p.Client.Execute(ctx, request)
	return response, request.GetIndex() + int32(len(response.GetAnswers())), err
}

func (c Call) message(index int32, sender worldv1.Role) (*worldv1.Message, error) {
	message := &worldv1.Message{
		Index: index, Sender: sender, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
		Content: proto.String(c.Source), ToolCallId: c.ID,
	}
	if c.Tool == "" {
		return message, nil
	}
	arguments, err := python.ParseJSON(c.Arguments)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", c.Tool, err)
	}
	message.Content = proto.String(python.ComposeCall(*c.ID, c.Tool, arguments))
	message.FunctionName = proto.String(c.Tool)
	return message, nil
}

// compare compares the answers.
func (c *Case) compare(response *toolhostv1.ExecuteResponse, first int32) []string {
	var differences []string
	differ := func(what string, got, want any) {
		differences = append(differences, fmt.Sprintf("%s: got %s, want %s", what, show(got), show(want)))
	}
	if got := response.GetAnswers(); len(got) != len(c.Answers) {
		differ("answers", len(got), len(c.Answers))
		return differences
	}
	for i, got := range response.GetAnswers() {
		want := c.Answers[i]
		at := fmt.Sprintf("answer %d, ", i)
		if got.GetIndex() != first+int32(i) {
			differ(at+"index", got.GetIndex(), first+int32(i))
		}
		if !equal(got.ToolCallId, want.ID) {
			differ(at+"tool_call_id", got.ToolCallId, want.ID)
		}
		agrees := want.agree(got.GetContent(), got.GetToolTrace())
		if !agrees && !equal(got.Content, &want.Content) {
			differ(at+"content", got.Content, want.Content)
		}
		if !equal(got.Exception, want.Exception) {
			differ(at+"exception", got.Exception, want.Exception)
		}
		if !agrees && !slices.Equal(got.GetToolTrace(), want.Trace) {
			differ(at+"tool_trace", got.GetToolTrace(), want.Trace)
		}
		if got.GetConversationActive() != want.Active {
			differ(at+"conversation_active", got.GetConversationActive(), want.Active)
		}
	}
	return differences
}

// compareTables compares the table versions that the calls stored.
func (p Player) compareTables(ctx context.Context, session string, c *Case, response *toolhostv1.ExecuteResponse, first int32) ([]string, error) {
	tables, err := p.Client.ReadTables(ctx, &toolhostv1.ReadTablesRequest{SessionId: session, Index: first + int32(len(c.Answers)) - 1})
	if err != nil {
		return nil, err
	}
	var differences []string
	for _, version := range response.GetVersions() {
		name := world.TableText(version.GetName())
		rows, wanted := c.Changed[version.GetName()]
		if stored := version.GetIndex() == first; stored != wanted {
			differences = append(differences, fmt.Sprintf("version of %s: got stored = %v, want %v", name, stored, wanted))
			continue
		}
		want := &worldv1.Table{Name: version.GetName(), Index: first, Rows: rows}
		for _, got := range tables.GetTables() {
			if wanted && got.GetName() == want.GetName() && !proto.Equal(got, want) {
				differences = append(differences, fmt.Sprintf("table %s: got %s, want %s", name, lines(got), lines(want)))
			}
		}
	}
	return differences, nil
}

// lines prints a table, one row a line.
func lines(table *worldv1.Table) string {
	var b strings.Builder
	for _, row := range table.GetRows() {
		b.WriteString("\n\t")
		for _, cell := range row.GetCells() {
			switch kind := cell.GetKind().(type) {
			case *worldv1.Value_Boolean:
				fmt.Fprintf(&b, "%v ", kind.Boolean)
			case *worldv1.Value_Number:
				fmt.Fprintf(&b, "%v ", kind.Number)
			case *worldv1.Value_Text:
				fmt.Fprintf(&b, "%q ", kind.Text)
			default:
				b.WriteString("null ")
			}
		}
	}
	return b.String()
}

func equal(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func show(v any) string {
	if text, ok := v.(*string); ok {
		if text == nil {
			return "null"
		}
		v = *text
	}
	return fmt.Sprintf("%#v", v)
}
