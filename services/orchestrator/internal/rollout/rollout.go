// Package rollout folds the log of a rollout into its state, and implements the turn rule. It
// performs no I/O. A worker that takes a rollout over folds the log and continues exactly as the
// previous worker would have.
package rollout

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrLog means that a log violates the format.
var ErrLog = errors.New("broken rollout log")

// State is the state of a rollout after its log entries. The zero value is that of an empty log. It
// is not safe for concurrent use.
type State struct {
	rollout  *busv1.Rollout
	messages []*worldv1.Message
	starting int
	limit    int
	bytes    map[worldv1.Role]int64 // of messages after the starting ones, by the role that caused them
	versions []*worldv1.TableVersion
	executed []*toolhostv1.Execution
	turns    []*busv1.Turn // after the starting messages
	claims   int
	round    int32
	end      *busv1.End
	time     timeline
	repeated repetition
}

// Fold returns the state after a whole log.
func Fold(entries []*busv1.LogEntry) (*State, error) {
	state := &State{}
	for i, entry := range entries {
		if err := state.Apply(entry); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return state, nil
}

// Apply adds one entry and takes ownership of its messages. A start of a later round resets the
// state.
func (s *State) Apply(entry *busv1.LogEntry) error {
	if s.end != nil && entry.GetClaim().GetRound() <= s.round {
		return fmt.Errorf("%w: an entry after the end", ErrLog)
	}
	if start := entry.GetStart(); start != nil {
		if s.rollout != nil && entry.GetClaim().GetRound() <= s.round {
			return fmt.Errorf("%w: a second start", ErrLog)
		}
		*s = State{}
		if len(start.GetMessages()) == 0 {
			return fmt.Errorf("%w: a start without messages", ErrLog)
		}
		s.rollout = start.GetRollout()
		s.messages = append(s.messages, start.GetMessages()...)
		s.starting = len(s.messages)
		s.limit = int(start.GetMaxMessages())
		s.versions = start.GetVersions()
		s.bytes = make(map[worldv1.Role]int64)
		s.time = newTimeline(start)
	}
	if s.rollout == nil {
		return fmt.Errorf("%w: no start", ErrLog)
	}
	if claim := entry.GetClaim(); claim != nil {
		s.claims++
		s.round = max(s.round, claim.GetRound())
		if len(s.versions) == 0 {
			s.versions = claim.GetVersions()
		}
	}
	for _, turn := range entry.GetTurns() {
		if err := s.applyTurn(turn); err != nil {
			return err
		}
	}
	s.end = entry.GetEnd()
	return nil
}

func (s *State) applyTurn(turn *busv1.Turn) error {
	if len(turn.GetMessages()) == 0 {
		return fmt.Errorf("%w: a turn without messages", ErrLog)
	}
	for i, message := range turn.GetMessages() {
		if want := len(s.messages) + i; int(message.GetIndex()) != want {
			return fmt.Errorf("%w: message index %d, expected %d", ErrLog, message.GetIndex(), want)
		}
	}
	if turn.EndedAtIndex != nil {
		index := int(turn.GetEndedAtIndex())
		if index < 0 || index >= len(s.messages) {
			return fmt.Errorf("%w: message %d ended the conversation, but there are %d", ErrLog, index, len(s.messages))
		}
		// The writer of the log entry may share the message.
		message := proto.CloneOf(s.messages[index])
		message.ConversationActive = proto.Bool(false)
		s.messages[index] = message
	}
	if execution := bus.ExecutionOf(s.messages, turn); execution != nil {
		s.executed = append(s.executed, execution)
	}
	s.time.advance(turn)
	s.messages = append(s.messages, turn.GetMessages()...)
	for _, message := range turn.GetMessages() {
		s.bytes[senderOfBytes(message)] += int64(proto.Size(message))
	}
	s.turns = append(s.turns, turn)
	s.repeated.add(turn)
	return nil
}

// Start returns the first entry of a log.
func Start(rollout *busv1.Rollout, setup *setupv1.Setup, versions []*worldv1.TableVersion) *busv1.Start {
	start := &busv1.Start{Rollout: rollout, Messages: fillActive(setup.GetMessages(), true), Versions: versions, MaxMessages: setup.GetMaxMessages()}
	setTimes(start, setup)
	return start
}

// Turn returns the turn with messages. deactivated is the index of the message that ended the
// conversation, if there is one.
func (s *State) Turn(messages []*worldv1.Message, deactivated *int32) *busv1.Turn {
	active := s.active()
	if deactivated != nil {
		active = false
	}
	return &busv1.Turn{Messages: fillActive(messages, active), EndedAtIndex: deactivated}
}

// ExecutionTurn returns the turn with the results of the execution environment.
func (s *State) ExecutionTurn(response *toolhostv1.ExecuteResponse) *busv1.Turn {
	turn := s.Turn(response.GetAnswers(), response.EndedAtIndex)
	turn.Versions, turn.SessionDigest, turn.ServiceAnswers = response.GetVersions(), response.GetSessionDigest(), response.GetServiceAnswers()
	turn.Now, turn.NextDue, turn.Failing = response.Now, response.NextDue, response.GetFailing()
	return turn
}

// fillActive sets conversation_active where it is missing: the value carries over from the
// previous message.
func fillActive(messages []*worldv1.Message, active bool) []*worldv1.Message {
	carried := make([]*worldv1.Message, len(messages))
	for i, message := range messages {
		if message.ConversationActive != nil {
			active = message.GetConversationActive()
			carried[i] = message
			continue
		}
		carried[i] = proto.CloneOf(message)
		carried[i].ConversationActive = proto.Bool(active)
	}
	return carried
}

func (s *State) active() bool {
	return len(s.messages) == 0 || s.messages[len(s.messages)-1].GetConversationActive()
}

// Rollout returns the rollout, nil for an empty log.
func (s *State) Rollout() *busv1.Rollout { return s.rollout }

// Messages returns all messages so far. Callers must not change them.
func (s *State) Messages() []*worldv1.Message { return s.messages }

// Starting returns the number of starting messages.
func (s *State) Starting() int { return s.starting }

// Claims returns how many workers have claimed the rollout.
func (s *State) Claims() int { return s.claims }

// Round returns the sweep's round of the rollout.
func (s *State) Round() int32 { return s.round }

// StartingVersions returns the version of each table after the starting messages, none if there was
// no session. Callers must not change them.
func (s *State) StartingVersions() []*worldv1.TableVersion { return s.versions }

// Executions returns what was executed, oldest first; one without calls is an event that took
// place. Do not change it.
func (s *State) Executions() []*toolhostv1.Execution { return s.executed }

// SessionDigest returns the current digest of the rollout's session.
func (s *State) SessionDigest() []byte {
	if n := len(s.executed); n > 0 {
		return s.executed[n-1].GetOutcome().GetSessionDigest()
	}
	sum, err := hex.DecodeString(s.rollout.GetSetupDigest())
	if err != nil {
		return nil // no session can be created from it either
	}
	return sum
}

// Usage returns the usage of model turns in order, including the one that ended the rollout. A
// later round replaces that turn.
func (s *State) Usage() []*busv1.TurnUsage {
	var usage []*busv1.TurnUsage
	for _, turn := range s.turns {
		if turn.GetUsage() != nil {
			first := turn.GetMessages()[0]
			usage = append(usage, &busv1.TurnUsage{Role: first.GetSender(), Index: first.GetIndex(), Usage: turn.GetUsage()})
		}
	}
	if last := s.end.GetUsage(); last != nil {
		usage = append(usage, last)
	}
	return usage
}

// Answered returns which processes answered turns of attached agents, in order, including the one
// that ended the rollout. A later round replaces that turn.
func (s *State) Answered() []*busv1.AnsweredTurn {
	var answered []*busv1.AnsweredTurn
	for _, turn := range s.turns {
		if by := turn.GetAnsweredBy(); by != nil {
			first := turn.GetMessages()[0]
			answered = append(answered, &busv1.AnsweredTurn{Role: first.GetSender(), Index: first.GetIndex(), Instance: by})
		}
	}
	if last := s.end.GetAnswered(); last != nil {
		answered = append(answered, last)
	}
	return answered
}

// Confidence returns the last probability of success that the agent stated, nil without any.
func (s *State) Confidence() *float64 {
	for _, turn := range slices.Backward(s.turns) {
		if turn.Confidence != nil && turn.GetMessages()[0].GetSender() == worldv1.Role_ROLE_AGENT {
			return turn.Confidence
		}
	}
	return nil
}

// End returns the end record, nil while the rollout runs.
func (s *State) End() *busv1.End { return s.end }

// Turns returns the turns after the starting messages, oldest first. Callers must not change them.
func (s *State) Turns() []*busv1.Turn { return s.turns }

// TurnsOf returns the number of a role's turns.
func (s *State) TurnsOf(role worldv1.Role) int {
	n := 0
	for _, turn := range s.turns {
		if turn.GetMessages()[0].GetSender() == role {
			n++
		}
	}
	return n
}

// Next returns the next speaker, or the end of the rollout. It is the turn rule: the recipient of
// the last message speaks next, unless that message ended the conversation or a limit is reached.
func (s *State) Next() (speaker worldv1.Role, over *busv1.End) {
	last := s.messages[len(s.messages)-1]
	switch {
	case !last.GetConversationActive():
		return worldv1.Role_ROLE_UNSPECIFIED, &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}
	case len(s.messages)-s.starting >= s.limit:
		return worldv1.Role_ROLE_UNSPECIFIED, &busv1.End{Reason: busv1.EndReason_END_REASON_MESSAGE_LIMIT}
	case s.rollout.GetMaxBytes() > 0 && s.Bytes() > s.rollout.GetMaxBytes():
		return worldv1.Role_ROLE_UNSPECIFIED, s.tooLarge()
	case last.GetRecipient() == worldv1.Role_ROLE_AGENT && s.rollout.GetRepeatLimit() > 0 && s.repeated.count >= s.rollout.GetRepeatLimit():
		return worldv1.Role_ROLE_UNSPECIFIED, &busv1.End{Reason: busv1.EndReason_END_REASON_REPEATED_TURN}
	}
	return last.GetRecipient(), nil
}

// View returns the messages that a role can see. shown is what the user sees of the agent's use of
// tools.
func (s *State) View(role worldv1.Role, shown worldv1.ShownToolUse) []*worldv1.Message {
	var view []*worldv1.Message
	for _, message := range s.messages {
		if world.InView(message, role, shown) {
			view = append(view, message)
		}
	}
	return view
}

// Calls returns the trailing messages that one sender addressed to the execution environment.
func (s *State) Calls() []*worldv1.Message { return bus.TrailingCalls(s.messages) }

// Finish ends the rollout together with the last applied entry.
func (s *State) Finish(end *busv1.End) { s.end = end }
