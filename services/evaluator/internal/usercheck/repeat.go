package usercheck

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// repeatWords is the number of different words of a text that people do not use again as they use
	// an acknowledgement.
	repeatWords = 4
	// repeatShare is the share of common words that makes two texts nearly the same, in percent.
	repeatShare = 80
	// maxSaid bounds the texts that a text is compared with.
	maxSaid = 64
	// idleTexts is the number of the user's texts after which a user that has not ended never ends.
	idleTexts = 4
)

// dialogue is how the conversation goes on: what the user has said, and since when it talks to an
// agent that has finished.
type dialogue struct {
	said     []saidText // the user's last texts
	repeated bool       // a repetition was already flagged
	idle     int        // the user's texts since either side called a tool, or the agent asked or promised
	lastAt   int        // the position of the last of them
	ended    bool       // the user has tried to end
}

// saidText is a text of the user, as a sorted set of words, with the agent's text before it.
type saidText struct {
	words []string
	after string
}

// newSaidText returns a text of the user after one of the agent.
func newSaidText(text, after string) saidText {
	list := words(text)
	slices.Sort(list)
	return saidText{slices.Compact(list), after}
}

// isLike reports whether two texts are nearly the same.
func (s saidText) isLike(other saidText) bool {
	common := 0
	for _, word := range s.words {
		if _, ok := slices.BinarySearch(other.words, word); ok {
			common++
		}
	}
	return common > 0 && 100*common >= repeatShare*(len(s.words)+len(other.words)-common)
}

// findRepeat returns a text if the user has said nearly the same before, and the agent has answered
// without a question or a promise. A short text has to follow the same text of the agent again.
func (c *check) findRepeat(text string) string {
	if c.repeated || c.agent == "" || c.openRequest() != "" {
		return ""
	}
	now := newSaidText(text, c.agent)
	c.repeated = slices.ContainsFunc(c.said, func(earlier saidText) bool {
		return (len(now.words) >= repeatWords || now.after == earlier.after) && now.isLike(earlier)
	})
	if !c.repeated {
		return ""
	}
	return text
}

// follow adds a message of the conversation at a position, after addVisible.
func (c *check) follow(m *worldv1.Message, at int) {
	const user, agent, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	switch sender, recipient := m.GetSender(), m.GetRecipient(); {
	case sender == agent && (recipient == environment || c.openRequest() != ""):
		c.idle = 0
	case sender == user && recipient == environment:
		c.idle, c.ended = 0, c.ended || endsConversation(m)
	case sender == user && recipient == agent:
		c.said = append(c.said[max(0, len(c.said)-maxSaid+1):], newSaidText(truncate(messagetext.Content(m)), c.agent))
		if c.answers > 0 {
			c.idle++
			c.lastAt = at
		}
	}
}

// neverEnds returns the position of the user's last text if it goes on although the agent has long
// finished, -1 otherwise.
func (c *check) neverEnds() int {
	if c.ended || c.idle < idleTexts {
		return -1
	}
	return c.lastAt
}
