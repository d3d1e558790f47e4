package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// errDiffers means that a fork cannot get to its first turn of its own as its origin did.
var errDiffers = errors.New("fork differs from its origin")

// maxShown is the maximum size of a message in an error, in bytes.
const maxShown = 200

// givenTurns are what the origin of a fork said and did before it.
type givenTurns struct {
	// messages are those after the starting ones, by index.
	messages map[int32]*worldv1.Message
	// versions are those of all tables, by the index of the last message of a turn of the execution
	// environment.
	versions map[int32][]*worldv1.TableVersion
}

// isGiven reports whether the origin of a fork has the coming turn.
func (r *runner) isGiven() bool {
	return len(r.state.Messages()) < rollout.Given(r.rollout.GetFork())
}

// givenTurns returns the turns before a fork, nil if the coming turn is not one of them.
func (r *runner) givenTurns(ctx context.Context) (*givenTurns, error) {
	if !r.isGiven() {
		r.given = nil
		return nil, nil
	}
	if r.given != nil {
		return r.given, nil
	}
	given, end := &givenTurns{make(map[int32]*worldv1.Message), make(map[int32][]*worldv1.TableVersion)}, rollout.Given(r.rollout.GetFork())
	err := r.peers.Bus.Turns(ctx, r.rollout.GetId(), func(index int32, raw []byte) error {
		if int(index) >= end {
			return nil
		}
		recorded := &agentgwv1.RecordedTurn{}
		if err := proto.Unmarshal(raw, recorded); err != nil {
			return fmt.Errorf("turn %d: %w", index, err)
		}
		for _, message := range recorded.GetReply().GetMessages() {
			given.messages[message.GetIndex()] = message
			index = message.GetIndex()
		}
		given.versions[index] = recorded.GetVersions()
		return nil
	})
	r.given = given
	return given, err
}

// turn returns the turn of a player.
func (g *givenTurns) turn(state *rollout.State, speaker worldv1.Role) (*busv1.Turn, *busv1.End) {
	var messages []*worldv1.Message
	at := int32(len(state.Messages()))
	for message := g.messages[at]; message.GetSender() == speaker; message = g.messages[at+int32(len(messages))] {
		messages = append(messages, message)
	}
	if len(messages) == 0 {
		return nil, infrastructureEnd(fmt.Errorf("%w: message %d: its origin has no turn of the %s there", errDiffers, at, world.RoleName(speaker)))
	}
	return state.Turn(messages, nil), nil
}

// compare returns how a turn of the execution environment differs from the origin's, nil if it does
// not. failure is how the turn failed.
func (g *givenTurns) compare(turn *busv1.Turn, failure *busv1.End) *busv1.End {
	if failure != nil {
		return infrastructureEnd(fmt.Errorf("%w: %s", errDiffers, failure.GetDetail()))
	}
	last := int32(0)
	for _, message := range turn.GetMessages() {
		last = message.GetIndex()
		if !proto.Equal(message, g.messages[last]) {
			return infrastructureEnd(fmt.Errorf("%w: message %d is %q, and was %q", errDiffers, last, shown(message), shown(g.messages[last])))
		}
	}
	want, ok := g.versions[last]
	same := func(a, b *worldv1.TableVersion) bool { return proto.Equal(a, b) }
	if !ok || slices.EqualFunc(want, turn.GetVersions(), same) {
		return nil
	}
	for i, version := range turn.GetVersions() {
		if i >= len(want) || !same(version, want[i]) {
			return infrastructureEnd(fmt.Errorf("%w: table %s is another one after message %d", errDiffers, version.GetName(), last))
		}
	}
	return infrastructureEnd(fmt.Errorf("%w: its origin has other tables after message %d", errDiffers, last))
}

// shown returns the text of an answer for an error.
func shown(message *worldv1.Message) string {
	text := message.GetResult().GetText() + message.GetText()
	if len(text) > maxShown {
		return fmt.Sprintf("%.*s… (%d bytes)", maxShown, text, len(text))
	}
	return text
}
