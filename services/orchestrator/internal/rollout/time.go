package rollout

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// timeline is the virtual time of a log. The zero value is that of a log whose start has no clock:
// its time follows from the number of messages.
type timeline struct {
	clock *setupv1.Clock
	// now is the time of the newest message, due that of the next event, nil without one.
	now float64
	due *float64
	// hasMessages reports whether there is a message beyond the starting ones.
	hasMessages bool
	// times are the times of the turns of the execution environment.
	times map[int32]float64
}

// setTimes adds to a start what the timeline follows from, where the setup asks for one.
func setTimes(start *busv1.Start, setup *setupv1.Setup) {
	clock, events := setup.GetClock(), world.SchemaOrBuiltin(setup.GetSchema()).HasEvents()
	if clock.GetUserTurn() == 0 && clock.GetAgentTurn() == 0 && !events {
		return
	}
	start.Clock = clock
	if !events {
		return
	}
	var newest *worldv1.Table
	for _, table := range setup.GetTables() {
		if table.GetName() == world.Event && table.GetIndex() >= newest.GetIndex() {
			newest = table
		}
	}
	if event, _, ok := world.NextEvent(newest.GetRows()); ok {
		start.NextDue = &event.Due
	}
}

func newTimeline(start *busv1.Start) timeline {
	return timeline{clock: start.GetClock(), now: start.GetClock().GetNow(), due: start.NextDue, times: make(map[int32]float64)}
}

// until returns when the first message of a role's turn is said if nothing interrupts.
func (t *timeline) until(role worldv1.Role) float64 {
	at := t.now
	if t.hasMessages {
		at += t.clock.GetStep()
	}
	switch role { // others take no time
	case worldv1.Role_ROLE_USER:
		at += t.clock.GetUserTurn()
	case worldv1.Role_ROLE_AGENT:
		at += t.clock.GetAgentTurn()
	}
	return at
}

// advance moves the time to the last message of a turn. The turn of an event is at the event's
// time.
func (t *timeline) advance(turn *busv1.Turn) {
	if t.clock == nil {
		return
	}
	first, rest := turn.GetMessages()[0], turn.GetMessages()[1:]
	t.now, t.hasMessages = t.until(first.GetSender()), true
	if first.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
		t.due, t.times[first.GetIndex()] = turn.NextDue, turn.GetNow()
		if first.GetResult() == nil {
			t.now = turn.GetNow()
		}
	}
	t.now += t.clock.GetStep() * float64(len(rest))
}

// Now returns the virtual time of the newest message in POSIX seconds, nil if it follows from the
// number of messages.
func (s *State) Now() *float64 {
	if s.time.clock == nil {
		return nil
	}
	now := s.time.now
	return &now
}

// Times returns the virtual times of the turns of the execution environment by the indices of their
// first messages, as far as the log says. Do not change it.
func (s *State) Times() map[int32]float64 { return s.time.times }

// Interruption returns the virtual time at which an event takes place before the next speaker
// speaks, if one does. It never comes between calls and their answers.
func (s *State) Interruption(speaker worldv1.Role) (at float64, ok bool) {
	players := []worldv1.Role{worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER}
	if s.time.due == nil || !slices.Contains(players, speaker) || *s.time.due > s.time.until(speaker) {
		return 0, false
	}
	return max(s.time.now, *s.time.due), true
}
