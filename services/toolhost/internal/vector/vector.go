// Package vector reads the conformance vectors of the tools and plays them against a running tool host through its gRPC
// client, so that tests and people can see whether a tool host answers as the original does.
package vector

import (
	"fmt"
	"strconv"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// defaultCallID is the call id of cases that name none.
	defaultCallID = "call_1"
	// defaultZone is the time zone of cases that name none.
	defaultZone = "America/Los_Angeles"
	// now is when all cases play, in POSIX seconds.
	now = 1716399000
	// maxMessages is not reached by any case.
	maxMessages = 30
)

// World is the state in which cases begin.
type World struct {
	// MaxIndex is the index of the last message; it goes from the user to the agent.
	MaxIndex int32
	// Tables holds the stored versions, by table, then index.
	Tables []*worldv1.Table
}

// Call is one call of a case: a tool with its arguments, or source.
type Call struct {
	// ID is nil for source.
	ID   *string
	Tool string
	// Arguments is JSON text.
	Arguments string
	// Source is Python, where the case has that in place of a tool.
	Source string
}

// Answer is what the original answered to one call.
type Answer struct {
	ID        *string
	Content   string
	Exception *string
	Trace     []string
	Active    bool
}

// Case is one vector: calls in a world and what the original did.
type Case struct {
	// World names the starting world, Zone the time zone.
	World, Zone string
	// Setup calls come before, each on its own.
	Setup []Call
	// Calls are sent at once by Sender.
	Calls  []Call
	Sender worldv1.Role
	// Compared cases must agree; others are played only, because the original's answer is not the one to give.
	Compared bool
	// Answers stand in the original's order.
	Answers []Answer
	// Changed holds the rows of the tables that got a version.
	Changed    map[worldv1.TableName][]*worldv1.Row
	Recordings []*setupv1.RecordedAnswer
}

// Tools returns the names of the tools that a case calls, without those that source names.
func (c *Case) Tools() []string {
	var names []string
	for _, calls := range [][]Call{c.Setup, c.Calls} {
		for _, call := range calls {
			if call.Tool != "" {
				names = append(names, call.Tool)
			}
		}
	}
	return names
}

// SetupOf returns the starting point of cases in a world. All tools may be called.
func SetupOf(name string, w World, zone string, recordings []*setupv1.RecordedAnswer) (*setupv1.Setup, error) {
	if w.MaxIndex < 0 {
		return nil, fmt.Errorf("world %s: last message %d, expected 0 or more", name, w.MaxIndex)
	}
	setup := &setupv1.Setup{
		Name:        name,
		MaxMessages: maxMessages,
		Clock:       &setupv1.Clock{Now: now, TimeZone: zone},
		Tables:      w.Tables,
		Recordings:  recordings,
	}
	for i := range w.MaxIndex {
		setup.Messages = append(setup.Messages, starting(i, worldv1.Role_ROLE_SYSTEM))
	}
	setup.Messages = append(setup.Messages, starting(w.MaxIndex, worldv1.Role_ROLE_USER))
	return setup, nil
}

// starting returns a starting message to the agent.
func starting(index int32, sender worldv1.Role) *worldv1.Message {
	content := "message " + strconv.Itoa(int(index))
	return &worldv1.Message{Index: index, Sender: sender, Recipient: worldv1.Role_ROLE_AGENT, Content: &content}
}
