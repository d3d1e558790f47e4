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

// demonstrations adds an example conversation that only the simulated user sees. One that does not
// say how it ends gets an end as its last turn.
func (b *builder) demonstrations(v *value, c *conversation) {
	user, agent := worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT
	calls, ended := 0, true
	for _, item := range b.items(v) {
		ended = false
		if b.object(item, demonstrationForm()) == nil {
			continue
		}
		if len(item.fields) != 1 {
			continue
		}
		switch said := item.fields[0].value; item.fields[0].key {
		case "user":
			c.say(user, agent, b.text(said), user)
		case "calls":
			calls += b.shownCalls(said, c, calls)
		case "agent":
			c.say(agent, user, b.text(said), user)
		case "end":
			b.want(said, shapeBool)
			ended = true
			c.say(user, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, endTool+"()", user)
		}
	}
	if !ended {
		c.say(user, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, endTool+"()", user)
	}
}

// shownCalls adds calls that the user makes itself, and then what they are answered. It returns how
// many there are; before is how many came before them.
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
		call := &worldv1.ToolCall{Id: &id, Tool: tool, Name: &tool, ArgumentsJson: b.shownArguments(item.get("arguments"))}
		c.add(&worldv1.Message{Sender: user, Recipient: environment, Body: &worldv1.Message_Call{Call: call}}, user)
	}
	for _, item := range made {
		call := c.messages[len(c.messages)-len(made)].GetCall() // each answer moves on by one call
		b.markShown(c, item)
		answer := &worldv1.ToolResult{Id: call.Id, Name: call.Name, Text: proto.String(b.shownAnswer(item.get("answer")))}
		c.add(&worldv1.Message{Sender: environment, Recipient: user, Body: &worldv1.Message_Result{Result: answer}}, user)
		if failed := item.get("failed"); b.want(failed, shapeBool) {
			if !failed.boolean {
				b.fail(failed, "is false; leave it out")
			}
			answer.Exception = answer.Text
		}
	}
	return len(made)
}

// markShown remembers where the next message comes from.
func (b *builder) markShown(c *conversation, item *value) {
	at := "setup.messages[" + strconv.Itoa(len(c.messages)) + "]"
	b.mark(at, item)
	b.mark(at+".call.tool", item.get("tool"))
	b.mark(at+".call.arguments_json", item.get("arguments"))
}

// shownArguments reads a call's arguments; none are an empty object.
func (b *builder) shownArguments(v *value) string {
	if b.want(v, shapeMapping) {
		text := jsonText(v)
		_, err := python.ParseJSON(text)
		if err == nil {
			return text
		}
		b.fail(v, "cannot be written as arguments: %v", err)
	}
	return "{}"
}

// shownAnswer reads what the environment answers.
func (b *builder) shownAnswer(v *value) string {
	if v != nil && v.shape == shapeText && v.text == "" {
		b.fail(v, "is empty, expected what the environment prints, e.g. None or True")
	}
	return b.text(v)
}

// shown says whether a message is a call of a demonstration or its answer. The original shows only
// how to end, without an id.
func shown(m *worldv1.Message) bool {
	const user, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	from, to := m.GetSender(), m.GetRecipient()
	id := m.GetResult().GetId()
	if call := m.GetCall(); call != nil {
		id = call.GetId()
	}
	return id != "" && (from == user && to == environment || from == environment && to == user) &&
		slices.Equal(m.GetVisibleTo(), []worldv1.Role{user})
}

// demonstrations checks that the user has the tools that its demonstrations call, and that each
// call is answered.
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
		case !shown(m):
			unanswered()
		case m.GetSender() == worldv1.Role_ROLE_USER:
			c.shownCall(messagePath(i)+".call", m.GetCall(), setup)
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

// shownCall checks one call of a demonstration.
func (c *checker) shownCall(path string, call *worldv1.ToolCall, setup *setupv1.Setup) {
	tool := call.GetTool()
	if !c.opts.known(tool) {
		c.tool(path+".tool", tool)
		return
	}
	if reason := notInHand(setup, tool); reason != "" {
		c.fail(path+".tool", "%s", reason)
		return
	}
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal([]byte(call.GetArgumentsJson()), &arguments); err != nil || arguments == nil {
		c.fail(path+".arguments_json", "is no JSON object: %s", brief(call.GetArgumentsJson()))
		return
	}
	c.arguments(path+".arguments_json", tool, arguments, true)
	c.allows(path+".arguments_json", call, setup.GetConfirm())
}
