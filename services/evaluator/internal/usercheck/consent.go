package usercheck

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// permission is a phrase of an agent that asks whether it may do something.
var permission = phrase("permission")

// consents is the state of the consents of a conversation. Texts are numbered from 1.
type consents struct {
	texts         int            // of the agent
	lastRequest   int            // the last one that asks for permission
	words         map[string]int // the last one with a word
	beforeConsent map[string]int // the last one before a consent to an action
}

// newConsents returns the state before the first message.
func newConsents() consents {
	return consents{words: make(map[string]int), beforeConsent: make(map[string]int)}
}

// agentSaid adds a text of the agent.
func (c *consents) agentSaid(text string) {
	c.texts++
	if permission().MatchString(text) {
		c.lastRequest = c.texts
	}
	for _, word := range stems(words(text)) {
		c.words[word] = c.texts
	}
}

// allowed adds a call that consents.
func (c *consents) allowed(call *worldv1.ToolCall) {
	c.beforeConsent[actionKey(allowedAction(call))] = c.texts
}

// findUnasked returns the action of a call if the agent has not asked for it: since the last
// consent to it, no text of the agent mentions it or asks for permission. Several consents without
// a text in between answer one question.
func (c *consents) findUnasked(call *worldv1.ToolCall) string {
	action := allowedAction(call)
	since, alreadyGiven := c.beforeConsent[actionKey(action)]
	if action == "" || c.lastRequest > since || alreadyGiven && since == c.texts {
		return ""
	}
	deed := words(action)
	if len(deed) > 1 {
		deed = deed[:len(deed)-1] // the last word is the object, which the agent may have mentioned
	}
	if slices.ContainsFunc(stems(deed), func(word string) bool { return c.words[word] > since }) {
		return ""
	}
	return action
}

// actionKey is equal for equivalent spellings of an action.
func actionKey(action string) string { return strings.Join(words(action), " ") }

// allowedAction returns the action that a call allows, empty if it names none.
func allowedAction(call *worldv1.ToolCall) string {
	arguments, _ := messagetext.Arguments(call) // without arguments there is no action
	action, _ := arguments.Field("action").AsStr()
	return truncate(strings.TrimRight(action, ".!? "))
}
