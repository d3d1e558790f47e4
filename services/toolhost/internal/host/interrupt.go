package host

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// interrupt executes the next event. It returns the world without the event, and the message. The
// error is ErrStateMismatch if no event is due at now.
func (s *openSession) interrupt(before session.World, index int32, now float64) (session.World, *worldv1.Message, error) {
	event, place, ok := s.nextEvent(&before)
	if !ok || event.Due > now {
		return session.World{}, nil, fmt.Errorf("%w: no event is due at %v", ErrStateMismatch, now)
	}
	before.Write(world.Event, slices.Delete(slices.Clone(before.Rows(world.Event)), place, place+1))
	return before, &worldv1.Message{
		Index:              index,
		Sender:             worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
		Recipient:          event.Recipient,
		Body:               &worldv1.Message_Text{Text: event.Content},
		ConversationActive: proto.Bool(before.Active()),
		VisibleTo:          []worldv1.Role{worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, event.Recipient},
	}, nil
}

// nextEvent returns the next event of a world.
func (s *openSession) nextEvent(w *session.World) (event world.ScheduledEvent, place int, ok bool) {
	if !s.setup.schema.HasEvents() {
		return world.ScheduledEvent{}, 0, false
	}
	return world.NextEvent(session.Encode(world.Event, 0, w.Rows(world.Event)).GetRows())
}

// setTimes sets the time of the execution and of the next event in a response.
func (s *openSession) setTimes(response *toolhostv1.ExecuteResponse, now *float64) {
	response.Now = now
	if event, _, ok := s.nextEvent(&s.world); ok {
		response.NextDue = &event.Due
	}
}
