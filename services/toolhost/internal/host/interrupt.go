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

// interrupt lets the next event take place. It returns the world without the event, and the
// message. The error is ErrElsewhere if no event is due at now.
func (l *openSession) interrupt(before session.World, index int32, now float64) (session.World, *worldv1.Message, error) {
	event, place, ok := l.nextEvent(&before)
	if !ok || event.Due > now {
		return session.World{}, nil, fmt.Errorf("%w: no event is due at %v", ErrElsewhere, now)
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

// nextEvent returns the event of a world that takes place next.
func (l *openSession) nextEvent(w *session.World) (event world.ScheduledEvent, place int, ok bool) {
	if !l.setup.schema.HasEvents() {
		return world.ScheduledEvent{}, 0, false
	}
	return world.NextEvent(session.Encode(world.Event, 0, w.Rows(world.Event)).GetRows())
}

// setTimes adds to a response when the execution took place and when the next event is due.
func (l *openSession) setTimes(response *toolhostv1.ExecuteResponse, now *float64) {
	response.Now = now
	if event, _, ok := l.nextEvent(&l.world); ok {
		response.NextDue = &event.Due
	}
}
