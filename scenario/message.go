package scenario

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

const (
	// setupText is the first message of every conversation. It is a comment, so executing it has no
	// effect.
	setupText = "# The session is ready: its world is loaded and its tools can be called."

	// systemText is the default of the agent's instructions.
	systemText = "You are the assistant on the user's phone and act through the tools you are given. Call tools only with " +
		"values that the user told you or that another tool returned. Where a value you need is missing or a request can be " +
		"meant in several ways, ask the user."

	// userText starts the simulated user's instructions.
	userText = "You play a person who uses their phone. The other side is the phone's assistant, which can call tools; you " +
		"are never the assistant yourself.\n" +
		"- Write as people write to an assistant: short and plain.\n" +
		"- Say only what follows from what you want and know. If you are asked for anything else, say that you do not know it.\n" +
		"- Do not offer details before you are asked for them.\n" +
		"- The assistant may switch services and the low battery mode of the phone if that helps.\n" +
		"- Once the assistant says that it has done what you want, or that it cannot be done, call end_conversation and say " +
		"nothing more. Do the same if it has got nowhere after five attempts.\n"

	// userToolText is the paragraph for a user with tools.
	userToolText = "- Some of the phone's tools are in your own hands. Use them where what you want says so, or when the assistant asks " +
		"you to do yourself what they can do; leave the rest to the assistant.\n"

	// allowText is the paragraph for a user whose agent needs consent.
	allowText = "- For some things the assistant needs your permission and asks you for it. Where that serves what you want, call " +
		world.AllowTool + " with what it asked for, then tell it to go ahead. Where it does not, say no. Allow nothing that you were not asked for.\n"

	// These are titles of the authors' texts.
	goalTitle      = "\nWhat you want: "
	knowledgeTitle = "\nWhat you know:"
	itemMark       = "\n- "
	// unknownMark starts a sentence about what the user does not know.
	unknownMark = "You do not know "
)

// conversation builds the starting messages.
type conversation struct{ messages []*worldv1.Message }

// addText adds a text. To the execution environment it is code, and from there a result.
func (c *conversation) addText(from, to worldv1.Role, text string, visibleTo ...worldv1.Role) {
	m := &worldv1.Message{Sender: from, Recipient: to, Body: &worldv1.Message_Text{Text: text}}
	switch worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
	case from:
		m.Body = &worldv1.Message_Result{Result: &worldv1.ToolResult{Text: &text}}
	case to:
		m.Body = &worldv1.Message_Code{Code: &worldv1.Code{Source: text}}
	}
	c.add(m, visibleTo...)
}

func (c *conversation) add(m *worldv1.Message, visibleTo ...worldv1.Role) {
	m.Index, m.ConversationActive, m.VisibleTo = int32(len(c.messages)), proto.Bool(true), visibleTo
	c.messages = append(c.messages, m)
}

// messages builds the starting messages from the fields system and user, or from the field
// messages. It also returns the user: its knowledge and the tools userTools.
func (b *builder) messages(v *document.Value, userTools []string) ([]*worldv1.Message, *evaluationv1.User) {
	if explicit := v.Get("messages"); explicit != nil {
		if system := v.Get("system"); system != nil {
			b.Fail(system, "cannot stand beside messages; make it one of them")
		}
		if user := v.Get("user"); b.CheckShape(user, document.ShapeMapping) {
			for i := range user.Fields {
				if key := user.Fields[i].Key; key != "script" && key != "tools" {
					b.Fail(user.Fields[i].Position, "cannot stand beside messages, which say what the user is told; only script and tools can")
				}
			}
			b.Items(b.Singleton(user.Get("script"), "say"))
		}
		messages := b.explicitMessages(explicit)
		toldUser := UserFromMessages(messages)
		toldUser.Tools = userTools
		return messages, toldUser
	}
	var c conversation
	c.addText(worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, setupText)
	text := systemText
	if system := v.Get("system"); system != nil {
		text = b.Text(system)
	}
	c.addText(worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_AGENT, text)
	b.Require(v, "user")
	user := b.object(v.Get("user"), form.User())
	if user == nil {
		return c.messages, &evaluationv1.User{}
	}
	b.Require(user, "goal")
	b.Require(user, "says")
	b.demonstrations(user.Get("demonstrations"), &c)
	toldUser := &evaluationv1.User{
		Goal:      strings.TrimSpace(b.spoken(user.Get("goal"))),
		Knowledge: b.sentences(user.Get("knowledge")),
		Unknown:   b.sentences(user.Get("unknown")),
		Tools:     userTools,
	}
	c.addText(worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, instruction(toldUser))
	c.addText(worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT, b.spoken(user.Get("says")))
	return c.messages, toldUser
}

// spoken reads a text that somebody says or is told, which is not blank.
func (b *builder) spoken(v *document.Value) string {
	text := b.Text(v)
	if v != nil && v.Shape == document.ShapeText && strings.TrimSpace(text) == "" {
		b.Fail(v, "is empty, expected a text")
	}
	return text
}

// sentences reads one text or a list, trimmed.
func (b *builder) sentences(v *document.Value) []string {
	var out []string
	for _, item := range b.Items(b.Singleton(v, "")) {
		out = append(out, strings.TrimSpace(b.spoken(item)))
	}
	return out
}

// instruction returns the simulated user's instructions: its goal, its knowledge, whether it has
// tools and whether it can consent.
func instruction(user *evaluationv1.User) string {
	var text strings.Builder
	text.WriteString(userText)
	if slices.ContainsFunc(user.GetTools(), func(tool string) bool { return tool != world.AllowTool }) {
		text.WriteString(userToolText)
	}
	if slices.Contains(user.GetTools(), world.AllowTool) {
		text.WriteString(allowText)
	}
	text.WriteString(goalTitle + user.GetGoal())
	if len(user.GetKnowledge())+len(user.GetUnknown()) > 0 {
		text.WriteString(knowledgeTitle)
	}
	for _, item := range user.GetKnowledge() {
		text.WriteString(itemMark + item)
	}
	for _, item := range user.GetUnknown() {
		text.WriteString(itemMark + unknownMark + strings.TrimSuffix(item, ".") + ".")
	}
	return text.String()
}

// UserFromMessages returns the user of a scenario with explicit starting messages. No field
// separates the goal, so Knowledge contains all instructions.
func UserFromMessages(messages []*worldv1.Message) *evaluationv1.User {
	user := &evaluationv1.User{}
	for _, m := range messages {
		if m.GetSender() == worldv1.Role_ROLE_SYSTEM && m.GetRecipient() == worldv1.Role_ROLE_USER {
			user.Knowledge = append(user.Knowledge, strings.TrimSpace(m.GetText()))
		}
	}
	return user
}

// explicitMessages reads explicit starting messages.
func (b *builder) explicitMessages(v *document.Value) []*worldv1.Message {
	var c conversation
	for _, item := range b.Items(v) {
		if b.object(item, form.Message()) == nil {
			continue
		}
		at := "setup.messages[" + strconv.Itoa(len(c.messages)) + "]"
		b.recordSource(at, item)
		b.recordSource(at+".recipient", item.Get("to"))
		b.recordSource(at+".sender", item.Get("from"))
		var readers []worldv1.Role
		for _, role := range b.Items(item.Get("visible_to")) {
			readers = append(readers, b.role(role))
		}
		c.addText(b.role(item.Get("from")), b.role(item.Get("to")), b.spoken(item.Get("content")), readers...)
	}
	return c.messages
}
