package tool

import (
	"math"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// eventsOnly is the error for other changes of the table of events.
const eventsOnly = "events are changed by world.schedule and world.unschedule alone"

// These are the recipients of an event.
const (
	toAgent = "agent"
	toUser  = "user"
)

// eventMethods returns the methods that change the table of events.
func eventMethods() []string { return []string{scheduleMethod, unscheduleMethod} }

// isEventTable reports whether a table is the session's table of events.
func (m moduleWorld) isEventTable(table string) bool {
	return table == world.Event && m.world.Config().HasEvents()
}

// requireEvents raises KeyError in a session without a table of events.
func (m moduleWorld) requireEvents() error {
	if m.isEventTable(world.Event) {
		return nil
	}
	return raise("KeyError", python.Repr(python.Str(world.AuthorName(world.Event))))
}

// schedule adds an event and returns its id.
func (m moduleWorld) schedule(args []python.Value, _ *python.Dict) (python.Value, error) {
	if err := m.requireEvents(); err != nil {
		return python.Value{}, err
	}
	at, text, to := args[0], args[1], args[2]
	due, isNumber := at.Number()
	content, isText := text.AsStr()
	told, _ := to.AsStr()
	recipient := map[string]string{toAgent: world.EventToAgent, toUser: world.EventToUser}[told]
	switch {
	case !isNumber || at.Kind() == python.KindBool:
		return python.Value{}, raise("TypeError", "the time of an event is a number of POSIX seconds, not '"+at.TypeName()+"'")
	case math.IsNaN(due) || math.IsInf(due, 0):
		return python.Value{}, raise("ValueError", "the time of an event is a finite number of POSIX seconds, not "+python.Repr(at))
	case !isText || content == "":
		return python.Value{}, raise("ValueError", "the text of an event is a text that is not empty")
	case recipient == "":
		return python.Value{}, raise("ValueError", "an event is told to '"+toAgent+"' or '"+toUser+"', not "+python.Repr(to))
	}
	if err := encodable(text); err != nil {
		return python.Value{}, err
	}
	if m.world.Count(world.Event, session.All()) >= world.MaxEvents {
		return python.Value{}, raise("RuntimeError", "at most "+strconv.Itoa(world.MaxEvents)+" events can be scheduled at a time")
	}
	id := m.world.NewID()
	m.world.Append(world.Event, session.Row{python.Str(id), python.Float(due), python.Str(recipient), text})
	return python.Str(id), nil
}

// unschedule removes a scheduled event. Unlike remove it can remove the last one.
func (m moduleWorld) unschedule(args []python.Value, _ *python.Dict) (python.Value, error) {
	if err := m.requireEvents(); err != nil {
		return python.Value{}, err
	}
	rows := m.world.Rows(world.Event)
	at := slices.IndexFunc(rows, func(row session.Row) bool { return row[0].Equal(args[0]) })
	if at < 0 {
		return python.Value{}, raise(noDataError, "No event has the id "+python.Repr(args[0]))
	}
	m.world.Write(world.Event, slices.Delete(slices.Clone(rows), at, at+1))
	return python.None(), nil
}
