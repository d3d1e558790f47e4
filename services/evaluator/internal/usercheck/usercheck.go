// Package usercheck finds in a trajectory where its simulated user left its role: by rules with
// evidence, and no model. What the user was told comes from the fields of its scenario. A flag is a
// suspicion that a person looks at; it never changes a score.
package usercheck

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// The rules.
const (
	// Leak: what only the user was told, told wholesale. One item of what it knows may be told as
	// it stands, and so may what it is asked for and a quotation.
	Leak = "leak"
	// Assistant: the user speaks as the assistant, writes a call as text, or calls a tool that it
	// does not have.
	Assistant = "assistant"
	// EarlyEnd: the user ends the conversation before the agent answered, when the agent has just
	// asked or promised something, or before it said what it wants next. A conversation has one
	// end: however often the user tries to, it counts once.
	EarlyEnd = "early_end"
	// Invented: a number, an address or a name that stands neither in what the user was told
	// nor in what was said or answered.
	Invented = "invented"
)

const (
	// maxEvidence bounds an evidence in bytes.
	maxEvidence = 200
	// maxText bounds what is read of a message in bytes: the rules take time that grows faster than
	// a text, and nobody says more.
	maxText = 16 << 10
	// maxTrajectory bounds what is read of a trajectory in bytes, for the same reason.
	maxTrajectory = 512 << 10
	// MaxFlags bounds the flags of a trajectory.
	MaxFlags = 100
	endTool  = "end_conversation"
)

// Check looks at what the user said and called, from the message at a position on. user is what it
// was told. The flags are ordered by message, then by rule. Their evidence are words as they stand
// in what was said or told, cut if they are long. There are at most MaxFlags. What follows after
// maxTrajectory bytes that the user has seen or said is not checked.
func Check(user *evaluationv1.User, messages []*worldv1.Message, from int) []*busv1.UserFlag {
	c := newCheck(user)
	var flags []*busv1.UserFlag
	for start := 0; start < len(messages) && c.read < maxTrajectory; {
		end := start + 1
		for end < len(messages) && end != from && messages[end].GetSender() == messages[start].GetSender() {
			end++
		}
		for _, m := range messages[max(start, min(from, end)):end] {
			for _, found := range c.message(m) {
				flags = append(flags, &busv1.UserFlag{Rule: found.rule, Index: m.GetIndex(), Evidence: clip(found.evidence)})
			}
			if len(flags) >= MaxFlags {
				return flags[:MaxFlags]
			}
		}
		for _, m := range messages[start:end] {
			c.see(m)
		}
		start = end
	}
	return flags
}

// finding is a broken rule.
type finding struct{ rule, evidence string }

// check is what the user was told and what has happened.
type check struct {
	knowledge
	tools        []string // of the user's own
	instructions []told
	goal         string   // what the user wants
	spoken       []string // the words of the conversation as both sides would say them
	agent        string   // what the agent said last; empty before it spoke
	answers      int      // how often the agent has spoken
	own          string   // what the user said last
	hands        bool     // the user has tools of its own
	ended        bool     // the user has ended early before, in vain or at once with this
	read         int      // bytes of the messages that the user has seen
}

// newCheck returns a check before the first message.
func newCheck(user *evaluationv1.User) *check {
	c := &check{knowledge: newKnowledge(), tools: user.GetTools(), instructions: read(user), goal: user.GetGoal(), hands: len(user.GetTools()) > 0}
	c.learn(head(user.GetGoal()))
	for _, item := range slices.Concat(user.GetKnowledge(), user.GetUnknown()) {
		c.learn(head(item))
	}
	return c
}

// see takes in a message that the user can see. What a demonstration shows is not true here.
func (c *check) see(m *worldv1.Message) {
	const system, user, agent = worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT
	if m.GetSender() == system || len(m.GetVisibleTo()) == 1 || !world.VisibleTo(m, user) {
		return
	}
	text := head(sandbox.Content(m))
	c.read += len(text)
	switch {
	case m.GetSender() == agent && m.GetRecipient() == user:
		c.agent = text
		c.answers++
		c.hear(text)
		c.learnAmounts(text)
	case m.GetSender() == user && m.GetRecipient() == agent:
		c.own = text
		c.hear(text)
	case m.GetSender() != user:
		c.learnAmounts(text)
	}
	c.learn(text)
}

// hear remembers words of the conversation.
func (c *check) hear(text string) {
	for _, word := range words(text) {
		c.spoken = append(c.spoken, turned(word))
	}
}

// foreign returns the name of a tool that the user does not have, empty for one that it has. A name
// that the gateway made one of no tool, with underscores behind it, means what stands before them.
func (c *check) foreign(name string) string {
	name = strings.TrimRight(name, "_")
	if slices.Contains(c.tools, name) {
		return ""
	}
	return name
}

// message looks at a message if the user sent it.
func (c *check) message(m *worldv1.Message) []finding {
	if m.GetSender() != worldv1.Role_ROLE_USER {
		return nil
	}
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
	if evidence := c.foreign(call.GetTool()); evidence != "" {
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
