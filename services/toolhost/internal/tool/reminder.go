package tool

import (
	"context"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	reminderModule = "reminder"
	reminderTable  = world.Reminder
)

// reminderTools returns the tools of reminders.
func reminderTools() []*Tool {
	return []*Tool{
		{
			Name: "add_reminder", Module: reminderModule,
			Description: "Stores a new reminder and returns the id that the reminder got.",
			Params: []Param{
				{Name: "content", Type: Str(), Description: "What to be reminded of."},
				{Name: "reminder_timestamp", Type: Float(), Description: "When to be reminded, in POSIX seconds."},
				{Name: "latitude", Type: OptionalFloat(), Optional: true, Description: "Latitude of the place that the reminder is about, in degrees."},
				{Name: "longitude", Type: OptionalFloat(), Optional: true, Description: "Longitude of the place that the reminder is about, in degrees."},
			},
			Check: inReminderRange,
			Run:   addReminder,
		},
		{
			Name: "modify_reminder", Module: reminderModule, KeepsArgs: true,
			Description: "Changes the given fields of a reminder and leaves the others as they are. The reminder counts as created anew.",
			Params: []Param{
				{Name: "reminder_id", Type: Str(), Description: "Id of the reminder to change."},
				{Name: "content", Type: StrOrNotGiven(), Optional: true, Description: "What to be reminded of instead."},
				{Name: "reminder_timestamp", Type: FloatOrNotGiven(), Optional: true, Description: "When to be reminded instead, in POSIX seconds."},
				{Name: "latitude", Type: OptionalFloatOrNotGiven(), Optional: true, Description: "New latitude of the place in degrees, null for no place."},
				{Name: "longitude", Type: OptionalFloatOrNotGiven(), Optional: true, Description: "New longitude of the place in degrees, null for no place."},
			},
			Check: checkModifyReminder,
			Run:   modifyReminder,
		},
		{
			Name: "remove_reminder", Module: reminderModule, ConsentAction: "remove a reminder",
			Description: "Deletes a reminder.",
			Params:      []Param{{Name: "reminder_id", Type: Str(), Description: "Id of the reminder to delete."}},
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				return python.None(), removeRows(w, reminderTable, "reminder_id", args.Value("reminder_id"))
			},
		},
		searching(reminderTable, map[string]float64{"content": contentCutoff}, checkReminderSearch, Tool{
			Name: "search_reminder", Module: reminderModule, ReadOnly: true,
			Description: "Finds reminders that fit all of the given fields. The text may differ in wording.",
			Params: []Param{
				{Name: "reminder_id", Type: StrOrNotGiven(), Optional: true, Description: "Exact id of the reminder."},
				{Name: "content", Type: StrOrNotGiven(), Optional: true, Description: "Text of the reminder or part of it."},
				{Name: "creation_timestamp_lowerbound", Type: FloatOrNotGiven(), Optional: true, Description: "Earliest time at which the reminder was created or changed, in POSIX seconds."},
				{Name: "creation_timestamp_upperbound", Type: FloatOrNotGiven(), Optional: true, Description: "Latest time at which the reminder was created or changed, in POSIX seconds."},
				{Name: "reminder_timestamp_lowerbound", Type: FloatOrNotGiven(), Optional: true, Description: "Earliest time for which the reminder is set, in POSIX seconds."},
				{Name: "reminder_timestamp_upperbound", Type: FloatOrNotGiven(), Optional: true, Description: "Latest time for which the reminder is set, in POSIX seconds."},
				{Name: "latitude", Type: FloatOrNotGiven(), Optional: true, Description: "Exact latitude of the place in degrees."},
				{Name: "longitude", Type: FloatOrNotGiven(), Optional: true, Description: "Exact longitude of the place in degrees."},
			},
		}),
	}
}

func checkReminderSearch(args Args) error {
	err := inClockRange(args, "creation_timestamp_lowerbound", "creation_timestamp_upperbound",
		"reminder_timestamp_lowerbound", "reminder_timestamp_upperbound")
	if err != nil {
		return err
	}
	return inEarthRange(args)
}

func inReminderRange(args Args) error {
	if err := inClockRange(args, "reminder_timestamp"); err != nil {
		return err
	}
	return inEarthRange(args)
}

func addReminder(_ context.Context, w *session.World, args Args) (python.Value, error) {
	id := python.Str(w.NewID())
	now, err := currentTimestamp(w)
	if err != nil {
		return python.Value{}, err
	}
	err = addRow(w, reminderTable, session.Row{
		id, args.Value("content"), now, args.Value("reminder_timestamp"), args.Value("latitude"), args.Value("longitude"),
	})
	if err != nil {
		return python.Value{}, err
	}
	return id, nil
}

// reminderFields returns the fields that modify_reminder can change.
func reminderFields() []string {
	return []string{"content", "reminder_timestamp", "latitude", "longitude"}
}

func checkModifyReminder(args Args) error {
	if err := inReminderRange(args); err != nil {
		return err
	}
	return needFields(args, "reminder", reminderFields())
}

func modifyReminder(_ context.Context, w *session.World, args Args) (python.Value, error) {
	now, err := currentTimestamp(w)
	if err != nil {
		return python.Value{}, err
	}
	changes := append(changesFromArguments(reminderTable, args, reminderFields()),
		session.Change{Column: columnOf(reminderTable, "creation_timestamp"), Value: now})
	return python.None(), modifyRow(w, reminderTable, "reminder_id", args.Value("reminder_id"), changes...)
}
