package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/python"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// exampleID begins the ids of a demonstration's calls, which differ from those of a script.
const exampleID = "example_"

// demonstrations adds an example conversation that only the simulated user sees.
func (b *builder) demonstrations(v *value, c *conversation) {
	user, agent := worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT
	calls := 0
	for _, item := range b.items(v) {
		if b.object(item, demonstrationForm()) == nil {
			continue
		}
		if len(item.fields) != 1 {
			continue
		}
		switch said := item.fields[0].value; item.fields[0].key {
		case "user":
			c.add(user, agent, b.text(said), user)
		case "calls":
			calls += b.shownCalls(said, c, calls)
		case "agent":
			c.add(agent, user, b.text(said), user)
		case "end":
			b.want(said, shapeBool)
			c.add(user, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, endTool+"()", user)
		}
	}
}

// shownCalls adds calls that the user makes itself, and then what they are answered. It returns how many there are; before
// is how many came before them.
func (b *builder) shownCalls(v *value, c *conversation, before int) int {
	const user, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	items := b.items(v)
	if v.shape == shapeList && len(items) == 0 {
		b.fail(v, "is empty, expected at least one call")
	}
	var made []*value
	for _, item := range items {
		if b.object(item, shownCallForm()) == nil {
			continue
		}
		made = append(made, item)
		b.markShown(c, item)
		id, tool := exampleID+strconv.Itoa(before+len(made)), b.text(item.get("tool"))
		if tool == endTool {
			b.fail(item.get("tool"), "%s has no answer; show it with a turn of its own, end: true", endTool)
		}
		call := c.add(user, environment, python.ComposeCall(id, tool, b.shownArguments(item.get("arguments"))), user)
		call.ToolCallId, call.FunctionName = proto.String(id), proto.String(tool)
	}
	for _, item := range made {
		call := c.messages[len(c.messages)-len(made)] // each answer moves on by one call
		b.markShown(c, item)
		answer := c.add(environment, user, b.shownAnswer(item.get("answer")), user)
		answer.ToolCallId, answer.FunctionName = call.ToolCallId, call.FunctionName
		if failed := item.get("failed"); b.want(failed, shapeBool) {
			if !failed.boolean {
				b.fail(failed, "is false; leave it out")
			}
			answer.Exception = answer.Content
		}
	}
	return len(made)
}

// markShown remembers where the next message comes from.
func (b *builder) markShown(c *conversation, item *value) {
	at := "setup.messages[" + strconv.Itoa(len(c.messages)) + "]"
	b.mark(at, item)
	b.mark(at+".function_name", item.get("tool"))
	b.mark(at+".content", item.get("arguments"))
}

// shownArguments reads a call's arguments; none are an empty object.
func (b *builder) shownArguments(v *value) python.Value {
	if b.want(v, shapeMapping) {
		arguments, err := python.ParseJSON(jsonText(v))
		if err == nil {
			return arguments
		}
		b.fail(v, "cannot be written as arguments: %v", err)
	}
	return (&python.Dict{}).Value()
}

// shownAnswer reads what the environment answers.
func (b *builder) shownAnswer(v *value) string {
	if v != nil && v.shape == shapeText && v.text == "" {
		b.fail(v, "is empty, expected what the environment prints, e.g. None or True")
	}
	return b.text(v)
}

// shown says whether a message is a call of a demonstration or its answer. The original shows only how to end, without an id.
func shown(m *worldv1.Message) bool {
	const user, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	from, to := m.GetSender(), m.GetRecipient()
	return m.ToolCallId != nil && (from == user && to == environment || from == environment && to == user) &&
		slices.Equal(m.GetVisibleTo(), []worldv1.Role{user})
}

// demonstrations checks that the user has the tools that its demonstrations call, and that each call is answered.
func (c *checker) demonstrations(messages []*worldv1.Message, tools *setupv1.ToolSelection) {
	var open []int
	unanswered := func() {
		for _, i := range open {
			c.fail(messagePath(i), "has no answer; a demonstration shows what the environment answers to a call")
		}
		open = nil
	}
	for i, m := range messages {
		switch {
		case !shown(m):
			unanswered()
		case m.GetSender() == worldv1.Role_ROLE_USER:
			c.shownCall(messagePath(i), m, tools)
			open = append(open, i)
		default:
			call := slices.IndexFunc(open, func(j int) bool { return messages[j].GetToolCallId() == m.GetToolCallId() })
			if call < 0 {
				c.fail(messagePath(i), "answers call %q, which the messages before it do not make", m.GetToolCallId())
				continue
			}
			open = slices.Delete(open, call, call+1)
		}
	}
	unanswered()
}

func messagePath(i int) string { return fmt.Sprintf("setup.messages[%d]", i) }

// shownCall checks one call of a demonstration.
func (c *checker) shownCall(path string, m *worldv1.Message, tools *setupv1.ToolSelection) {
	tool := m.GetFunctionName()
	if !c.opts.known(tool) {
		c.tool(path+".function_name", tool)
		return
	}
	if reason := notInHand(tools, tool); reason != "" {
		c.fail(path+".function_name", "%s", reason)
		return
	}
	id, called, given, ok := python.ParseCall(m.GetContent())
	if !ok || id != m.GetToolCallId() || called != tool {
		c.fail(path+".content", "is no call of %s with the id %q: %s", tool, m.GetToolCallId(), brief(m.GetContent()))
		return
	}
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal([]byte(python.JSON(given)), &arguments); err != nil || arguments == nil {
		c.fail(path+".content", "has arguments that are no JSON object: %s", brief(python.JSON(given)))
		return
	}
	c.arguments(path+".content", tool, arguments, true)
}
