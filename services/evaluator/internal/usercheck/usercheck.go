// Package usercheck finds places in a trajectory where the simulated user leaves its role. It uses
// rules with evidence, and no model. The user's instructions come from the fields of its scenario.
// A flag is a suspicion for a person to review. It never changes a score.
package usercheck

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// The rules.
const (
	// Leak: the user reveals its instructions wholesale. It may state one known item verbatim, what it
	// is asked for, and a quotation.
	Leak = "leak"
	// Assistant: the user speaks as the assistant, writes a call as text, or calls a tool that it does
	// not have.
	Assistant = "assistant"
	// EarlyEnd: the user ends the conversation before the agent answered, after the agent has asked or
	// promised something, or before it has mentioned its next wish. Repeated attempts count once.
	EarlyEnd = "early_end"
	// Invented: the user states a number, an address or a name that is neither in its instructions nor
	// in what it has read.
	Invented = "invented"
	// Unasked: the user allows an action for which the agent has not asked.
	Unasked = "unasked"
	// Repeats: the user says nearly the same as before, although the agent has answered it. The first
	// repetition counts.
	Repeats = "repeats"
	// NeverEnds: the user goes on although the agent has finished. The last text counts.
	NeverEnds = "never_ends"
)

const (
	// maxEvidence bounds the evidence in bytes.
	maxEvidence = 200
	// maxText bounds the checked bytes of a message, because the rules take superlinear time.
	maxText = 16 << 10
	// maxTrajectory bounds the checked bytes of a trajectory for the same reason.
	maxTrajectory = 512 << 10
	// MaxFlags bounds the flags of a trajectory.
	MaxFlags = 100
)

// Check checks the user's messages and calls from a position on. user is its instructions. Flags
// are ordered by message, then by rule. Their evidence is a verbatim, possibly truncated quotation.
// There are at most MaxFlags. Check ignores messages after maxTrajectory bytes that the user has
// seen or said.
func Check(user *evaluationv1.User, messages []*worldv1.Message, from int) []*busv1.UserFlag {
	c := newCheck(user)
	var flags []*busv1.UserFlag
	for start := 0; start < len(messages) && c.readBytes < maxTrajectory; {
		end := start + 1
		for end < len(messages) && end != from && messages[end].GetSender() == messages[start].GetSender() {
			end++
		}
		for _, m := range messages[max(start, min(from, end)):end] {
			for _, found := range c.message(m) {
				flags = append(flags, &busv1.UserFlag{Rule: found.rule, Index: m.GetIndex(), Evidence: spelling.Shorten(found.evidence, maxEvidence)})
			}
			if len(flags) >= MaxFlags {
				return flags[:MaxFlags]
			}
		}
		for i, m := range messages[start:end] {
			if isDemonstration(m) {
				continue
			}
			c.addVisible(m)
			c.follow(m, start+i)
		}
		start = end
	}
	if at := c.neverEnds(); at >= from {
		flags = append(flags, &busv1.UserFlag{Rule: NeverEnds, Index: messages[at].GetIndex(), Evidence: spelling.Shorten(messagetext.Content(messages[at]), maxEvidence)})
	}
	return flags
}

// finding is a violated rule.
type finding struct{ rule, evidence string }

// check is the user's instructions and the conversation so far.
type check struct {
	knowledge
	consents
	dialogue
	tools           []string // the user's own tools
	instructions    []instructionWord
	goal            string   // the user's goal
	spoken          []string // words of the conversation in a common grammatical person
	agent           string   // the agent's last text, empty if there is none
	answers         int      // number of the agent's texts
	lastText        string   // the user's last text
	hasTools        bool     // the user has tools of its own, beside world.AllowTool
	earlyEndFlagged bool     // an early end was already flagged
	readBytes       int      // bytes of seen messages
	shown           worldv1.ShownToolUse
}

// newCheck returns the state before the first message.
func newCheck(user *evaluationv1.User) *check {
	c := &check{knowledge: newKnowledge(), consents: newConsents(), tools: user.GetTools(), instructions: instructionWords(user), goal: user.GetGoal(), shown: user.GetShown()}
	c.hasTools = slices.ContainsFunc(c.tools, func(tool string) bool { return tool != world.AllowTool })
	c.learn(truncate(user.GetGoal()))
	for _, item := range slices.Concat(user.GetKnowledge(), user.GetUnknown()) {
		c.learn(truncate(item))
	}
	return c
}

// isDemonstration reports whether a message is no part of the conversation: an instruction or a
// demonstration, whose facts do not apply.
func isDemonstration(m *worldv1.Message) bool {
	return m.GetSender() == worldv1.Role_ROLE_SYSTEM || len(m.GetVisibleTo()) == 1
}

// addVisible adds a message of the conversation if the user can see it.
func (c *check) addVisible(m *worldv1.Message) {
	const user, agent = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT
	if !world.InView(m, user, c.shown) {
		return
	}
	text := truncate(messagetext.Content(m))
	c.readBytes += len(text)
	switch {
	case m.GetSender() == agent && m.GetRecipient() == user:
		c.agent = text
		if slices.Contains(c.tools, world.AllowTool) {
			c.agentSaid(text)
		}
		c.answers++
		c.addSpoken(text)
		c.learnAmounts(text)
	case m.GetSender() == user && m.GetCall().GetTool() == world.AllowTool:
		c.allowed(m.GetCall())
	case m.GetSender() == user && m.GetRecipient() == agent:
		c.lastText = text
		c.addSpoken(text)
	case m.GetSender() != user:
		c.learnAmounts(text)
	}
	c.learn(text)
}

// addSpoken adds words of the conversation.
func (c *check) addSpoken(text string) {
	for _, word := range words(text) {
		c.spoken = append(c.spoken, swapPerson(word))
	}
}

// unknownTool returns the name of a tool that the user does not have, empty if it has it. Trailing
// underscores, which the gateway appends to unknown names, do not count.
func (c *check) unknownTool(name string) string {
	name = strings.TrimRight(name, "_")
	if slices.Contains(c.tools, name) {
		return ""
	}
	return name
}

// message checks a message of the user.
func (c *check) message(m *worldv1.Message) []finding {
	if m.GetSender() != worldv1.Role_ROLE_USER {
		return nil
	}
	if m.GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		return c.call(m)
	}
	text := truncate(messagetext.Content(m))
	found := append(violated(Assistant, c.findAssistant(text)), violated(Repeats, c.findRepeat(text))...)
	if !writtenCall().MatchString(text) {
		asksForName := wantsName().MatchString(c.agent) || wantsPlace().MatchString(c.agent)
		found = append(found, violated(Invented, c.findInvented(text, asksForName))...)
	}
	return append(found, violated(Leak, c.findLeak(text))...)
}

// violated returns a finding, none without evidence.
func violated(rule, evidence string) []finding {
	if evidence == "" {
		return nil
	}
	return []finding{{rule, evidence}}
}

// call checks a call of the user: an end, or the arguments of its own tools.
func (c *check) call(m *worldv1.Message) []finding {
	if endsConversation(m) {
		if c.earlyEndFlagged {
			return nil
		}
		evidence := c.findEarlyEnd()
		c.earlyEndFlagged = evidence != ""
		return violated(EarlyEnd, evidence)
	}
	call := m.GetCall()
	if call == nil {
		return nil
	}
	if evidence := c.unknownTool(call.GetTool()); evidence != "" {
		return violated(Assistant, evidence)
	}
	if call.GetTool() == world.AllowTool { // its arguments are no inventions
		return violated(Unasked, c.findUnasked(call))
	}
	arguments, err := messagetext.Arguments(call)
	if err != nil {
		arguments = python.Str(call.GetArgumentsText())
	}
	budget := maxText
	return violated(Invented, c.findInventedValue("", arguments, &budget))
}

// findInventedValue returns the first unknown fact of a value at any depth. budget is the number of
// bytes that may still be read.
func (c *check) findInventedValue(name string, value python.Value, budget *int) string {
	if dict, ok := value.AsDict(); ok {
		for _, item := range dict.Items() {
			if evidence := c.findInventedValue(item.Key, item.Value, budget); evidence != "" {
				return evidence
			}
		}
		return ""
	}
	if list, ok := value.AsList(); ok {
		for _, item := range list {
			if evidence := c.findInventedValue(name, item, budget); evidence != "" {
				return evidence
			}
		}
		return ""
	}
	text, ok := value.AsStr()
	if value.Kind() == python.KindInt || value.Kind() == python.KindFloat {
		text, ok = python.Repr(value), true
	}
	if !ok || *budget <= 0 {
		return ""
	}
	*budget -= len(text) + 1
	return c.findInvented(truncate(text), name == "name" || strings.HasSuffix(name, "_name"))
}

// endsConversation reports whether a call or code ends the conversation.
func endsConversation(m *worldv1.Message) bool {
	return m.GetCall().GetTool() == world.EndTool || strings.Contains(m.GetCode().GetSource(), world.EndTool)
}
