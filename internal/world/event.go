package world

import (
	"errors"
	"fmt"
	"math"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Event is the table of scheduled events. A pack has it if its schema declares events. A table of
// this name with other columns is the pack's own.
const Event = "EVENT"

// These are the columns of Event.
const (
	eventID = iota
	eventDue
	eventRecipient
	eventContent
)

// MaxEvents is the maximum number of scheduled events.
const MaxEvents = 64

// These are the recipients of events in cells.
const (
	EventToAgent = "AGENT"
	EventToUser  = "USER"
)

// EventTable returns the declaration of Event. The caller owns the result.
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

// HasEvents reports whether a world can have scheduled events.
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
	// Due is the time of the event in POSIX seconds. It is finite.
	Due       float64
	Recipient worldv1.Role
	Content   string
}

// NewEvent decodes a row of Event. The error describes an invalid row.
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

// NextEvent returns the next event and its row index: the earliest, and the first row of several at
// the same time. ok is false without events.
func NextEvent(rows []*worldv1.Row) (event ScheduledEvent, index int, ok bool) {
	for i, row := range rows {
		next, err := NewEvent(row)
		if err == nil && (!ok || next.Due < event.Due) { // rows of the table are valid
			event, index, ok = next, i, true
		}
	}
	return event, index, ok
}

// CheckEvents returns an error for invalid starting events of a world.
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
