package world

import (
	"errors"
	"fmt"
	"math"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Event is the table of events that are scheduled and have not taken place. A pack has it if its
// schema says so; a table of this name with other columns is the pack's own.
const Event = "EVENT"

// The columns of Event.
const (
	eventID = iota
	eventDue
	eventRecipient
	eventContent
)

// MaxEvents is how many events may be scheduled at a time.
const MaxEvents = 64

// The recipients of events, as cells name them.
const (
	EventToAgent = "AGENT"
	EventToUser  = "USER"
)

// EventTable returns the declaration of Event. The result is the caller's own.
func EventTable() *worldv1.TableSchema {
	column := func(name string, kind Kind, measure, description string) *worldv1.Column {
		return &worldv1.Column{Name: name, Type: worldv1.CellType(kind), Measure: measure, Description: description}
	}
	return &worldv1.TableSchema{Name: Event, Description: "An event that is scheduled.", Columns: []*worldv1.Column{
		eventID:        column("event_id", KindText, DefaultMeasure, "The event's id."),
		eventDue:       column("due_timestamp", KindNumber, DefaultMeasure, "When it takes place, in POSIX seconds."),
		eventRecipient: column("recipient", KindText, DefaultMeasure, "Who is told, AGENT or USER."),
		eventContent:   column("content", KindText, "rouge_l", "What is told."),
	}}
}

// HasEvents says whether events may be scheduled in a world.
func (s *Schema) HasEvents() bool {
	table, ok := s.Table(Event)
	if !ok {
		return false
	}
	want := tableOf(EventTable())
	if len(table.Columns) != len(want.Columns) {
		return false
	}
	for i, column := range want.Columns {
		if table.Columns[i].Name != column.Name || table.Columns[i].Kind != column.Kind {
			return false
		}
	}
	return true
}

// ScheduledEvent is a row of Event.
type ScheduledEvent struct {
	// Due is when it takes place, in POSIX seconds. It is finite.
	Due       float64
	Recipient worldv1.Role
	Content   string
}

// NewEvent reads a row of Event. The error says what is wrong with it.
func NewEvent(row *worldv1.Row) (ScheduledEvent, error) {
	cells := row.GetCells()
	due, ok := cells[eventDue].GetKind().(*worldv1.Value_Number)
	if !ok || math.IsNaN(due.Number) || math.IsInf(due.Number, 0) {
		return ScheduledEvent{}, errors.New("an event needs a due_timestamp, a finite number of POSIX seconds")
	}
	event := ScheduledEvent{Due: due.Number, Content: cells[eventContent].GetText()}
	switch recipient := cells[eventRecipient].GetText(); recipient {
	case EventToAgent:
		event.Recipient = worldv1.Role_ROLE_AGENT
	case EventToUser:
		event.Recipient = worldv1.Role_ROLE_USER
	default:
		return ScheduledEvent{}, fmt.Errorf("the recipient of an event is %q, expected %s or %s", recipient, EventToAgent, EventToUser)
	}
	if event.Content == "" {
		return ScheduledEvent{}, errors.New("an event needs a content, the text that is told")
	}
	return event, nil
}

// NextEvent returns the event of the table that takes place next and its place among the rows: the
// earliest one, of several that are due at once the first. ok is false if there is none.
func NextEvent(rows []*worldv1.Row) (event ScheduledEvent, place int, ok bool) {
	for i, row := range rows {
		next, err := NewEvent(row)
		if err == nil && (!ok || next.Due < event.Due) { // other rows never are in the table
			event, place, ok = next, i, true
		}
	}
	return event, place, ok
}

// CheckEvents says what is wrong with the events that a world starts with.
func CheckEvents(rows []*worldv1.Row) error {
	if len(rows) > MaxEvents {
		return fmt.Errorf("%d events are scheduled, at most %d may be", len(rows), MaxEvents)
	}
	for i, row := range rows {
		if _, err := NewEvent(row); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}
