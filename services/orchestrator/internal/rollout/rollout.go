// Package rollout is the state of one rollout as a fold over its log, and the turn rule. It does no
// input or output: a worker that takes a rollout over folds the log and asks what comes next,
// exactly as the worker before it did.
package rollout

import (
	"encoding/hex"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrLog: a log cannot have been written by this program.
var ErrLog = errors.New("broken rollout log")

// State is everything that the log of a rollout says. The zero value is that of an empty log. It is
// not safe for concurrent use.
type State struct {
	rollout  *busv1.Rollout
	messages []*worldv1.Message
	starting int
	limit    int
	bytes    map[worldv1.Role]int64 // of the messages beyond the starting ones, by who is to blame for them
	versions []*worldv1.TableVersion
	executed []*toolhostv1.Execution
	turns    []*busv1.Turn // beyond the starting messages
	claims   int
	round    int32
	end      *busv1.End
	time     timeline
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

// Apply adds one entry. It keeps the entry's messages. A start of a later round forgets what was
// before.
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
	if entry.GetTurn() == nil && entry.GetAnswers() != nil {
		return fmt.Errorf("%w: answers without a turn", ErrLog)
	}
	for _, turn := range []*busv1.Turn{entry.GetTurn(), entry.GetAnswers()} {
		if turn == nil {
			continue
		}
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
	if turn.Deactivated != nil {
		index := int(turn.GetDeactivated())
		if index < 0 || index >= len(s.messages) {
			return fmt.Errorf("%w: message %d ended the conversation, but there are %d", ErrLog, index, len(s.messages))
		}
		// The message may be shared with whoever wrote the log entry.
		ended := proto.CloneOf(s.messages[index])
		ended.ConversationActive = proto.Bool(false)
		s.messages[index] = ended
	}
	if first := turn.GetMessages()[0]; first.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		s.executed = append(s.executed, &toolhostv1.Execution{Index: first.GetIndex(), Calls: s.Calls(), Outcome: &toolhostv1.ExecuteResponse{
			Answers: turn.GetMessages(), Versions: turn.GetVersions(), Deactivated: turn.Deactivated,
			SessionDigest: turn.GetSessionDigest(), ServiceAnswers: turn.GetServiceAnswers(), Now: turn.Now, NextDue: turn.NextDue,
		}})
	}
	s.time.advance(turn)
	s.messages = append(s.messages, turn.GetMessages()...)
	for _, message := range turn.GetMessages() {
		s.bytes[causer(message)] += int64(proto.Size(message))
	}
	s.versions = turn.GetVersions()
	s.turns = append(s.turns, turn)
	return nil
}

// Start returns the first entry of a log.
func Start(rollout *busv1.Rollout, setup *setupv1.Setup, versions []*worldv1.TableVersion) *busv1.Start {
	start := &busv1.Start{Rollout: rollout, Messages: carry(setup.GetMessages(), true), Versions: versions, MaxMessages: setup.GetMaxMessages()}
	setTimes(start, setup)
	return start
}

// Turn returns the entry for what was just said. versions are those that hold after it; nil means
// that none changed. deactivated is the index of the message that ended the conversation, if one
// did.
func (s *State) Turn(messages []*worldv1.Message, versions []*worldv1.TableVersion, deactivated *int32) *busv1.Turn {
	active := s.active()
	if deactivated != nil {
		active = false
	}
	if versions == nil {
		versions = s.versions
	}
	return &busv1.Turn{Messages: carry(messages, active), Versions: versions, Deactivated: deactivated}
}

// Answered returns the entry for what the execution environment answered.
func (s *State) Answered(response *toolhostv1.ExecuteResponse) *busv1.Turn {
	turn := s.Turn(response.GetAnswers(), response.GetVersions(), response.Deactivated)
	turn.SessionDigest, turn.ServiceAnswers = response.GetSessionDigest(), response.GetServiceAnswers()
	turn.Now, turn.NextDue = response.Now, response.NextDue
	return turn
}

// carry fills in conversation_active where a message does not set it: it carries over from the
// message before.
func carry(messages []*worldv1.Message, active bool) []*worldv1.Message {
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

// Rollout returns what is run; nil for an empty log.
func (s *State) Rollout() *busv1.Rollout { return s.rollout }

// Messages returns all messages so far. Do not change them.
func (s *State) Messages() []*worldv1.Message { return s.messages }

// Starting returns the number of starting messages.
func (s *State) Starting() int { return s.starting }

// Claims returns how many workers have claimed the rollout.
func (s *State) Claims() int { return s.claims }

// Round returns the round of the sweep in which the rollout is.
func (s *State) Round() int32 { return s.round }

// Versions returns the version of each table that holds now. Do not change them.
func (s *State) Versions() []*worldv1.TableVersion { return s.versions }

// Executions returns what was executed, oldest first; one without calls is an event that took
// place. Do not change it.
func (s *State) Executions() []*toolhostv1.Execution { return s.executed }

// SessionDigest returns the digest that the rollout's session has now.
func (s *State) SessionDigest() []byte {
	if n := len(s.executed); n > 0 {
		return s.executed[n-1].GetOutcome().GetSessionDigest()
	}
	sum, err := hex.DecodeString(s.rollout.GetSetupDigest())
	if err != nil {
		return nil // no session can be made from it either
	}
	return sum
}

// Usage returns what the turns of models cost, in order, the one that ended the rollout included. A
// rollout that was played on after its end has the turn that was played instead.
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

// End returns the end record, nil while the rollout runs.
func (s *State) End() *busv1.End { return s.end }

// Turns returns what was said after the starting messages, oldest first. Do not change it.
func (s *State) Turns() []*busv1.Turn { return s.turns }

// TurnsOf returns how many of the turns are a role's.
func (s *State) TurnsOf(role worldv1.Role) int {
	n := 0
	for _, turn := range s.turns {
		if turn.GetMessages()[0].GetSender() == role {
			n++
		}
	}
	return n
}

// Next returns who speaks next, or the end that the rollout has come to. It is the turn rule: the
// recipient of the last message speaks, unless that message says that the conversation is over or a
// limit is reached.
func (s *State) Next() (speaker worldv1.Role, over *busv1.End) {
	last := s.messages[len(s.messages)-1]
	switch {
	case !last.GetConversationActive():
		return worldv1.Role_ROLE_UNSPECIFIED, &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}
	case len(s.messages)-s.starting >= s.limit:
		return worldv1.Role_ROLE_UNSPECIFIED, &busv1.End{Reason: busv1.EndReason_END_REASON_MESSAGE_LIMIT}
	case s.rollout.GetMaxBytes() > 0 && s.Bytes() > s.rollout.GetMaxBytes():
		return worldv1.Role_ROLE_UNSPECIFIED, s.tooLarge()
	}
	return last.GetRecipient(), nil
}

// View returns the messages that a role can see.
func (s *State) View(role worldv1.Role) []*worldv1.Message {
	var view []*worldv1.Message
	for _, message := range s.messages {
		if world.VisibleTo(message, role) {
			view = append(view, message)
		}
	}
	return view
}

// Calls returns the trailing messages that one sender addressed to the execution environment.
func (s *State) Calls() []*worldv1.Message {
	last := len(s.messages)
	first := last
	for first > 0 && s.messages[first-1].GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT &&
		s.messages[first-1].GetSender() == s.messages[last-1].GetSender() {
		first--
	}
	return s.messages[first:last]
}

// Finish ends the rollout with the entry that was applied last.
func (s *State) Finish(end *busv1.End) { s.end = end }
