package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/importer"
	"github.com/toolsandbox/toolsandbox/original/row"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// defaultCallID is the id of single calls without one.
	defaultCallID = "call_1"
	// setupCallID is the prefix of set-up calls' ids. The call's number follows.
	setupCallID = "setup_"
	bestEffort  = "best_effort"
)

// toolCase is a case with calls in a world and the original's answers.
type toolCase struct {
	world, zone string
	recordings  []*setupv1.RecordedAnswer
	// setup lists calls to send before, one by one.
	setup []call
	// calls are sent in one request by sender.
	calls  []call
	sender worldv1.Role
	// unchecked reports that the original's answer is wrong, so the case runs without a comparison.
	unchecked bool
	// answers are in the original's order.
	answers []answer
	// changed lists the table versions that the calls stored, with index 0.
	changed []*worldv1.Table
}

// call is a tool with its arguments as JSON text, or Python source.
type call struct {
	// id is nil for source.
	id                      *string
	tool, arguments, source string
}

// answer is the original's answer to one call.
type answer struct {
	id        *string
	content   string
	exception *string
	trace     []string
	active    bool
}

// recordedCall is a call in a vector.
type recordedCall struct{ ID, Tool, Arguments string }

// recordedReply is an answer in a vector.
type recordedReply struct {
	ToolCallID string `json:"tool_call_id"`
	Content    string
	Exception  *string
	ToolTrace  []string `json:"tool_trace"`
}

func (r *recordedReply) answer(id *string, active bool) answer {
	return answer{id: id, content: r.Content, exception: r.Exception, trace: r.ToolTrace, active: active}
}

// recordedTool holds the fields that all kinds of tool cases have.
type recordedTool struct {
	World, Timezone string
	SetupCalls      []recordedCall `json:"setup_calls"`
	Sender, Expect  string
	Raises          json.RawMessage
	Changed         map[string]json.RawMessage
	API             []recordedAnswer
}

// toolCase returns the case without its calls and answers.
func (r *recordedTool) toolCase() (*toolCase, error) {
	c := &toolCase{
		world: r.World, zone: cmp.Or(r.Timezone, defaultZone), recordings: decodeRecordings(r.API), sender: worldv1.Role_ROLE_AGENT,
		unchecked: r.Expect == bestEffort || len(r.Raises) > 0,
	}
	if r.Sender != "" {
		var ok bool
		if c.sender, ok = world.ParseRole(r.Sender); !ok {
			return nil, fmt.Errorf("sender: unknown role %q", r.Sender)
		}
	}
	for i, setup := range r.SetupCalls {
		id := fmt.Sprintf("%s%d", setupCallID, i)
		c.setup = append(c.setup, call{id: &id, tool: setup.Tool, arguments: setup.Arguments})
	}
	for text, rows := range r.Changed {
		table, err := importer.Table(text, 0, rows)
		if err != nil {
			return nil, fmt.Errorf("changed: %w", err)
		}
		c.changed = append(c.changed, table)
	}
	return c, nil
}

// tools returns the tools that the case calls by name.
func (c *toolCase) tools() []string {
	var names []string
	for _, call := range slices.Concat(c.setup, c.calls) {
		if call.tool != "" {
			names = append(names, call.tool)
		}
	}
	return names
}

// callPattern matches Python source that consists of one call of a tool.
var callPattern = regexp.MustCompile(`^\s*(?:\w+ = )?(?:print\()?(?:repr\()?(\w+)\(`)

// sourceTools returns the names that the case's source calls. Some may not be tools.
func (c *toolCase) sourceTools() []string {
	var names []string
	for _, call := range c.calls {
		if read, ok := row.ParseCall(call.source); ok {
			names = append(names, read.GetTool())
		} else if found := callPattern.FindStringSubmatch(call.source); found != nil {
			names = append(names, found[1])
		}
	}
	return names
}

// openTool prepares a file of tool cases.
func openTool(decode func(raw []byte) (*toolCase, error)) func(context.Context, *Runner, string) (fileRunner, error) {
	return func(ctx context.Context, r *Runner, path string) (fileRunner, error) {
		worlds, err := r.worldsFor(path)
		if err != nil {
			return fileRunner{}, err
		}
		if err := r.loadTools(ctx); err != nil {
			return fileRunner{}, err
		}
		return r.perCase(func(ctx context.Context, l line) outcome {
			c, err := decode(l.raw)
			if err != nil {
				return outcome{differences: errorDifference(fmt.Errorf("decode case: %w", err))}
			}
			return r.runTool(ctx, c, worlds, r.id(l.number))
		}), nil
	}
}

// runTool runs one case in its own session.
func (r *Runner) runTool(ctx context.Context, c *toolCase, worlds map[string]startingWorld, session string) outcome {
	o := outcome{unchecked: c.unchecked}
	if o.missing = r.missing(c.tools()); o.missing != "" {
		return o
	}
	start, ok := worlds[c.world]
	if !ok {
		o.differences = errorDifference(fmt.Errorf("unknown world %q", c.world))
		return o
	}
	s := &toolSession{client: r.toolHost(session), id: session, next: start.maxIndex + 1}
	var err error
	o.differences, err = s.run(ctx, start.setup(c.world, c.zone, c.recordings), c)
	if err != nil {
		o.differences = errorDifference(err)
	}
	if len(o.differences) > 0 {
		o.missing = r.missing(c.sourceTools())
	}
	return o
}

// compareAnswers compares the answers to a case's calls. first is the index of the first answer.
func (c *comparison) compareAnswers(want []answer, got []*worldv1.Message, first int32) {
	if len(want) != len(got) {
		c.add("answers", fmt.Sprint(len(want)), fmt.Sprint(len(got)))
		return
	}
	for i := range want {
		prefix := ""
		if len(want) > 1 {
			prefix = fmt.Sprintf("answer %d, ", i)
		}
		c.text(prefix+"index", fmt.Sprint(first+int32(i)), fmt.Sprint(got[i].GetIndex()))
		c.answer(prefix, want[i], got[i])
	}
}

func (c *comparison) answer(prefix string, want answer, got *worldv1.Message) {
	row := row.Of(got)
	c.optionalText(prefix+"tool_call_id", want.id, row.ToolCallID)
	if !closeContent(want, messagetext.Content(got)) || row.Content == nil {
		c.optionalText(prefix+"content", &want.content, row.Content)
	}
	c.optionalText(prefix+"exception", want.exception, row.Exception)
	if !closeTrace(want.trace, row.ToolTrace) {
		c.texts(prefix+"tool_trace", want.trace, row.ToolTrace)
	}
	c.text(prefix+"conversation_active", fmt.Sprint(want.active), fmt.Sprint(got.GetConversationActive()))
}

// changed compares the table versions that the calls stored.
func (c *comparison) changed(want, got []*worldv1.Table) {
	for _, schema := range world.Builtin().Tables() {
		c.text("changed "+schema.Name, changedText(want, schema.Name), changedText(got, schema.Name))
	}
}

func changedText(tables []*worldv1.Table, name string) string {
	for _, table := range tables {
		if table.GetName() == name {
			return tableText(table.GetRows())
		}
	}
	return "not changed"
}
