package scenario

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// demonstrationIDPrefix is the prefix of the ids of a demonstration's calls. It differs from those
// of scripts.
const demonstrationIDPrefix = "example_"

// demonstrations adds an example conversation that only the simulated user sees. Without an end, it
// ends with the user's call of end_conversation.
func (b *builder) demonstrations(v *document.Value, c *conversation) {
	user, agent := worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT
	calls, complete := 0, true
	for _, item := range b.Items(v) {
		complete = false
		if b.object(item, form.Demonstration()) == nil {
			continue
		}
		if len(item.Fields) != 1 {
			continue
		}
		switch text := item.Fields[0].Value; item.Fields[0].Key {
		case "user":
			c.addText(user, agent, b.spoken(text), user)
		case "calls":
			calls += b.demonstrationCalls(text, c, calls)
		case "agent":
			c.addText(agent, user, b.spoken(text), user)
		case "end":
			b.CheckShape(text, document.ShapeBool)
			complete = true
			c.addText(user, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, world.EndTool+"()", user)
		}
	}
	if !complete {
		c.addText(user, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, world.EndTool+"()", user)
	}
}

// demonstrationCalls adds calls of the user with their answers and returns their number. before is
// the number of earlier calls.
func (b *builder) demonstrationCalls(v *document.Value, c *conversation, before int) int {
	const user, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	items := b.Items(v)
	if v.Shape == document.ShapeList && len(items) == 0 {
		b.Fail(v, "is empty, expected at least one call")
	}
	var results []*document.Value
	for _, item := range items {
		if b.object(item, form.ShownCall()) == nil {
			continue
		}
		results = append(results, item)
		b.recordDemonstration(c, item)
		id, tool := demonstrationIDPrefix+strconv.Itoa(before+len(results)), b.Text(item.Get("tool"))
		if tool == world.EndTool {
			b.Fail(item.Get("tool"), "%s has no answer; show it with a turn of its own, end: true", world.EndTool)
		}
		call := &worldv1.ToolCall{Id: &id, Tool: tool, Name: &tool, ArgumentsJson: b.demonstrationArguments(item.Get("arguments"))}
		c.add(&worldv1.Message{Sender: user, Recipient: environment, Body: &worldv1.Message_Call{Call: call}}, user)
	}
	for _, item := range results {
		call := c.messages[len(c.messages)-len(results)].GetCall() // each answer adds a message, so the index advances by one call
		b.recordDemonstration(c, item)
		answer := &worldv1.ToolResult{Id: call.Id, Name: call.Name, Text: proto.String(b.demonstrationAnswer(item.Get("answer")))}
		c.add(&worldv1.Message{Sender: environment, Recipient: user, Body: &worldv1.Message_Result{Result: answer}}, user)
		if failed := item.Get("failed"); b.CheckShape(failed, document.ShapeBool) {
			if !failed.Boolean {
				b.Fail(failed, "is false; leave it out")
			}
			answer.Exception = answer.Text
		}
	}
	return len(results)
}

// recordDemonstration records the source of the next message.
func (b *builder) recordDemonstration(c *conversation, item *document.Value) {
	at := "setup.messages[" + strconv.Itoa(len(c.messages)) + "]"
	b.recordSource(at, item)
	b.recordSource(at+".call.tool", item.Get("tool"))
	b.recordSource(at+".call.arguments_json", item.Get("arguments"))
}

// demonstrationArguments reads a call's arguments; the default is an empty object.
func (b *builder) demonstrationArguments(v *document.Value) string {
	if b.CheckShape(v, document.ShapeMapping) {
		text := document.JSON(v)
		_, err := python.ParseJSON(text)
		if err == nil {
			return text
		}
		b.Fail(v, "cannot be written as arguments: %v", err)
	}
	return "{}"
}

// demonstrationAnswer reads the environment's answer.
func (b *builder) demonstrationAnswer(v *document.Value) string {
	if v != nil && v.Shape == document.ShapeText && v.Text == "" {
		b.Fail(v, "is empty, expected what the environment prints, e.g. None or True")
	}
	return b.Text(v)
}

// isDemonstration reports whether a message is a call of a demonstration or its answer. The
// original demonstrates only the end, without an id.
func isDemonstration(m *worldv1.Message) bool {
	const user, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	from, to := m.GetSender(), m.GetRecipient()
	id := m.GetResult().GetId()
	if call := m.GetCall(); call != nil {
		id = call.GetId()
	}
	return id != "" && (from == user && to == environment || from == environment && to == user) &&
		slices.Equal(m.GetVisibleTo(), []worldv1.Role{user})
}

// demonstrations checks that the user has the tools of its demonstrations and that each call has an
// answer.
func (c *checker) demonstrations(setup *setupv1.Setup) {
	messages := setup.GetMessages()
	var open []int
	unanswered := func() {
		for _, i := range open {
			c.fail(messagePath(i), "has no answer; a demonstration shows what the environment answers to a call")
		}
		open = nil
	}
	for i, m := range messages {
		switch {
		case !isDemonstration(m):
			unanswered()
		case m.GetSender() == worldv1.Role_ROLE_USER:
			c.demonstrationCall(messagePath(i)+".call", m.GetCall(), setup)
			open = append(open, i)
		default:
			id := m.GetResult().GetId()
			call := slices.IndexFunc(open, func(j int) bool { return messages[j].GetCall().GetId() == id })
			if call < 0 {
				c.fail(messagePath(i), "answers call %q, which the messages before it do not make", id)
				continue
			}
			open = slices.Delete(open, call, call+1)
		}
	}
	unanswered()
}

func messagePath(i int) string { return fmt.Sprintf("setup.messages[%d]", i) }

// demonstrationCall checks one call of a demonstration.
func (c *checker) demonstrationCall(path string, call *worldv1.ToolCall, setup *setupv1.Setup) {
	tool := call.GetTool()
	if !c.opts.isKnownTool(tool) {
		c.tool(path+".tool", tool)
		return
	}
	if reason := c.notUserTool(setup, tool); reason != "" {
		c.fail(path+".tool", "%s", reason)
		return
	}
	arguments := callArguments(call)
	if arguments == nil {
		c.fail(path+".arguments_json", "is no JSON object: %s", spelling.Truncate(call.GetArgumentsJson()))
		return
	}
	c.arguments(path+".arguments_json", tool, arguments, true)
	c.allowCall(path+".arguments_json", call, setup.GetConsentTools())
}
