// Package usercheck watches a simulated user while it speaks: rules with evidence, and no model,
// tell where it leaves its role. A flag is a suspicion that a person looks at; it never changes a
// score.
package usercheck

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// The rules.
const (
	// Leak: the instructions that only the user reads, told wholesale. One item of what it knows
	// may be told as it stands, and so may what it is asked for and a quotation.
	Leak = "leak"
	// Assistant: the user speaks as the assistant, writes a call as text, or calls a tool that only
	// the agent has.
	Assistant = "assistant"
	// EarlyEnd: the user ends the conversation before the agent answered, when the agent has just
	// asked or promised something, or before it said what it wants next. A conversation has one
	// end: however often the user tries to, it counts once.
	EarlyEnd = "early_end"
	// Invented: a number, an address or a name that stands neither in the instructions nor in what
	// was said or answered.
	Invented = "invented"
)

const (
	// maxEvidence bounds an evidence in bytes.
	maxEvidence = 200
	// maxText bounds what is read of a message in bytes: the rules take time that grows faster than
	// a text, and nobody says more.
	maxText = 16 << 10
	endTool = "end_conversation"

	// What begins the parts of an instruction, as scenarios have it.
	goalTitle      = "What you want:"
	knowledgeTitle = "What you know:"
	// handText stands in the instruction of a user that has tools of its own.
	handText = "in your own hands"
)

// Tools are the tools of the two sides. A tool that neither has is nobody's.
type Tools struct{ User, Agent []*worldv1.Tool }

// foreign returns the name of a tool that is the agent's alone, empty for another one. A name that
// the gateway made one of no tool, with underscores behind it, means what stands before them.
func (t Tools) foreign(name string) string {
	name = strings.TrimRight(name, "_")
	named := func(tool *worldv1.Tool) bool { return tool.GetName() == name || tool.GetExecutionName() == name }
	if slices.ContainsFunc(t.Agent, named) && !slices.ContainsFunc(t.User, named) {
		return name
	}
	return ""
}

// Check looks at what the user said in one turn. view is what it could see before, in order. The
// flags are ordered by message, then by rule. Their evidence are words as they stand in what was
// said or in view, cut if they are long.
func Check(view, said []*worldv1.Message, tools Tools) []*busv1.Flag {
	c := newCheck(view, tools)
	var flags []*busv1.Flag
	for _, m := range said {
		for _, found := range c.message(m) {
			flags = append(flags, &busv1.Flag{Rule: found.rule, Index: m.GetIndex(), Evidence: clip(found.evidence)})
		}
	}
	return flags
}

// finding is a broken rule.
type finding struct{ rule, evidence string }

// check is what the user was told and what has happened.
type check struct {
	knowledge
	tools        Tools
	instructions []told
	goal         string   // what the user wants
	titled       bool     // the instructions have a title before the goal: what stands before it is told to every user
	spoken       []string // the words of the conversation as both sides would say them
	agent        string   // what the agent said last; empty before it spoke
	answers      int      // how often the agent has spoken
	own          string   // what the user said last
	hands        bool     // the user has tools of its own
	ended        bool     // the user has ended early before, in vain or at once with this
}

func newCheck(view []*worldv1.Message, tools Tools) *check {
	const system, user, agent = worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT
	c := &check{knowledge: newKnowledge(), tools: tools}
	for _, m := range view {
		switch {
		case m.GetSender() == system:
			c.instruct(head(sandbox.Content(m)))
			continue
		case len(m.GetVisibleTo()) == 1: // a demonstration: nothing of it is true here
			continue
		case m.GetSender() == agent && m.GetRecipient() == user:
			c.agent = head(sandbox.Content(m))
			c.answers++
			c.hear(head(sandbox.Content(m)))
			c.learnAmounts(head(sandbox.Content(m)))
		case m.GetSender() == user && m.GetRecipient() == agent:
			c.own = sandbox.Content(m)
			c.hear(head(sandbox.Content(m)))
		case m.GetSender() == user && ends(m):
			c.ended = c.ended || c.earlyEnd() != ""
		case m.GetSender() == user:
			c.hands = c.hands || tools.foreign(m.GetCall().GetTool()) == ""
		default:
			c.learnAmounts(head(sandbox.Content(m)))
		}
		c.learn(head(sandbox.Content(m)))
	}
	return c
}

// instruct reads what the user is told.
func (c *check) instruct(text string) {
	c.instructions = append(c.instructions, read(text)...)
	c.hands = c.hands || strings.Contains(text, handText)
	facts := text
	if _, after, ok := strings.Cut(text, goalTitle); ok {
		c.titled = true
		facts = after // what every user is told before it are no facts of this one
		goal, _, _ := strings.Cut(after, "\n"+knowledgeTitle)
		c.goal = strings.TrimSpace(goal)
	}
	c.learn(facts)
}

// hear remembers words of the conversation.
func (c *check) hear(text string) {
	for _, word := range words(text) {
		c.spoken = append(c.spoken, turned(word))
	}
}

func (c *check) message(m *worldv1.Message) []finding {
	if m.GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		return c.call(m)
	}
	text := head(sandbox.Content(m))
	var found []finding
	if evidence := c.assistant(text); evidence != "" {
		found = append(found, finding{Assistant, evidence})
	}
	wanted := wantsName.MatchString(c.agent) || wantsPlace.MatchString(c.agent)
	if evidence := c.invented(text, wanted); evidence != "" && !written.MatchString(text) {
		found = append(found, finding{Invented, evidence})
	}
	if evidence := c.leak(text); evidence != "" {
		found = append(found, finding{Leak, evidence})
	}
	return found
}

// call looks at a call of the user: the one that ends, or what it writes into one of its own tools.
func (c *check) call(m *worldv1.Message) []finding {
	if ends(m) {
		if c.ended {
			return nil
		}
		evidence := c.earlyEnd()
		if c.ended = evidence != ""; c.ended {
			return []finding{{EarlyEnd, evidence}}
		}
		return nil
	}
	call := m.GetCall()
	if call == nil {
		return nil
	}
	if evidence := c.tools.foreign(call.GetTool()); evidence != "" {
		return []finding{{Assistant, evidence}}
	}
	arguments, err := sandbox.Arguments(call)
	if err != nil {
		arguments = python.Str(call.GetArgumentsText())
	}
	room := maxText
	if evidence := c.inventedValue("", arguments, &room); evidence != "" {
		return []finding{{Invented, evidence}}
	}
	return nil
}

// inventedValue returns the first unknown fact of what is written under a name, however deep it
// stands. room is how many bytes are still read.
func (c *check) inventedValue(name string, value python.Value, room *int) string {
	if dict, ok := value.AsDict(); ok {
		for _, item := range dict.Items() {
			if evidence := c.inventedValue(item.Key, item.Value, room); evidence != "" {
				return evidence
			}
		}
		return ""
	}
	if list, ok := value.AsList(); ok {
		for _, item := range list {
			if evidence := c.inventedValue(name, item, room); evidence != "" {
				return evidence
			}
		}
		return ""
	}
	text, ok := value.AsStr()
	if value.Kind() == python.KindInt || value.Kind() == python.KindFloat {
		text, ok = python.Repr(value), true
	}
	if !ok || *room <= 0 {
		return ""
	}
	*room -= len(text) + 1
	return c.invented(head(text), name == "name" || strings.HasSuffix(name, "_name"))
}

// ends says whether a call or code ends the conversation.
func ends(m *worldv1.Message) bool {
	return m.GetCall().GetTool() == endTool || strings.Contains(m.GetCode().GetSource(), endTool)
}
