package tool

import (
	"context"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/ported/geodesic"
	"github.com/toolsandbox/toolsandbox/internal/ported/units"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/clock"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/holiday"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const utilityModule = "utilities"

// utilityTools returns the tools of time, calendar and units.
func utilityTools() []*Tool { return slices.Concat(timeTools(), spanTools(), measureTools()) }

// timeTools returns the tools that read the phone's local time and calendar.
func timeTools() []*Tool {
	field := func(name, description string) Param { return Param{Name: name, Type: Int(), Description: description} }
	return []*Tool{
		{
			Name: "get_current_timestamp", Module: utilityModule, ReadOnly: true,
			Description: "Returns the time now in POSIX seconds.",
			Run:         func(_ context.Context, w *session.World, _ Args) (python.Value, error) { return currentTimestamp(w) },
		},
		{
			Name: "timestamp_to_datetime_info", Module: utilityModule, ReadOnly: true,
			Description: "Tells the date, the time of day and the day of the week, 1 for Monday to 7 for Sunday, at a time.",
			Params:      []Param{{Name: "timestamp", Type: Float(), Description: "The time in POSIX seconds."}},
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				return zoneOf(w).DatetimeInfo(args.Value("timestamp"))
			},
		},
		{
			Name: "datetime_info_to_timestamp", Module: utilityModule, ReadOnly: true,
			Description: "Returns the time at a date and time of day in POSIX seconds.",
			Params: []Param{
				field("year", "Year with four digits."), field("month", "Month from 1 to 12."), field("day", "Day of the month from 1 on."),
				field("hour", "Hour from 0 to 23."), field("minute", "Minute from 0 to 59."), field("second", "Second from 0 to 59."),
			},
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				return zoneOf(w).Timestamp(clock.Fields{
					Year: args.Value("year"), Month: args.Value("month"), Day: args.Value("day"),
					Hour: args.Value("hour"), Minute: args.Value("minute"), Second: args.Value("second"),
				})
			},
		},
	}
}

// spanTools returns the tools that calculate with durations in local time.
func spanTools() []*Tool {
	shift := func(name string) Param {
		return Param{Name: name, Type: Int(), Optional: true, Default: python.Int(0), Description: "Number of " + name + " to go forward, back if negative."}
	}
	return []*Tool{
		{
			Name: "shift_timestamp", Module: utilityModule, ReadOnly: true,
			Description: "Moves a time on the calendar and the wall clock and returns it in POSIX seconds.",
			Params: []Param{
				{Name: "timestamp", Type: Float(), Description: "The time to start from in POSIX seconds."},
				shift("weeks"), shift("days"), shift("hours"), shift("minutes"), shift("seconds"),
			},
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				return zoneOf(w).Shift(args.Value("timestamp"), clock.Delta{
					Weeks: args.Value("weeks"), Days: args.Value("days"), Hours: args.Value("hours"),
					Minutes: args.Value("minutes"), Seconds: args.Value("seconds"),
				})
			},
		},
		{
			Name: "timestamp_diff", Module: utilityModule, ReadOnly: true,
			Description: "Tells how many days and seconds lie between two times.",
			Params: []Param{
				{Name: "timestamp_0", Type: Float(), Description: "The time to start from in POSIX seconds."},
				{Name: "timestamp_1", Type: Float(), Description: "The time to go to in POSIX seconds."},
			},
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				return zoneOf(w).Diff(args.Value("timestamp_0"), args.Value("timestamp_1"))
			},
		},
		{
			Name: "seconds_to_hours_minutes_seconds", Module: utilityModule, ReadOnly: true,
			Description: "Tells the hour, minute and second of a number of seconds.",
			Params:      []Param{{Name: "seconds", Type: Float(), Description: "Number of seconds."}},
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				return zoneOf(w).HoursMinutesSeconds(args.Value("seconds"))
			},
		},
	}
}

// measureTools returns the tools for units, distances and holidays.
func measureTools() []*Tool {
	return []*Tool{
		{
			Name: "unit_conversion", Module: utilityModule, ReadOnly: true,
			Description: "Converts an amount from one unit of measurement to another.",
			Params: []Param{
				{Name: "amount", Type: Float(), Description: "Amount in the first unit."},
				{Name: "from_unit", Type: Str(), Description: "Name of the first unit, for example inch."},
				{Name: "to_unit", Type: Str(), Description: "Name of the other unit."},
			},
			Run: func(_ context.Context, _ *session.World, args Args) (python.Value, error) {
				return units.Convert(args.Value("amount"), args.Str("from_unit"), args.Str("to_unit"))
			},
		},
		{
			Name: "calculate_lat_lon_distance", Module: utilityModule, ReadOnly: true,
			Description: "Returns the distance between two points on Earth in kilometers.",
			Params: []Param{
				{Name: "latitude_0", Type: Float(), Description: "Latitude of the first point in degrees."},
				{Name: "longitude_0", Type: Float(), Description: "Longitude of the first point in degrees."},
				{Name: "latitude_1", Type: Float(), Description: "Latitude of the other point in degrees."},
				{Name: "longitude_1", Type: Float(), Description: "Longitude of the other point in degrees."},
			},
			Run: func(_ context.Context, _ *session.World, args Args) (python.Value, error) {
				return geodesic.Between(
					geodesic.Point{Latitude: args.Value("latitude_0"), Longitude: args.Value("longitude_0")},
					geodesic.Point{Latitude: args.Value("latitude_1"), Longitude: args.Value("longitude_1")},
				)
			},
		},
		{
			Name: "search_holiday", Module: utilityModule, ReadOnly: true, Needs: []Need{NeedWifi},
			Description: "Returns when a holiday of the United States begins in POSIX seconds, null if there is no such holiday.",
			Params: []Param{
				{Name: "holiday_name", Type: Str(), Description: "Name of the holiday or part of it."},
				{Name: "year", Type: OptionalInt(), Optional: true, Description: "Year of the holiday, this year if left out."},
			},
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				if err := needWifi(w); err != nil {
					return python.Value{}, err
				}
				return holiday.Search(zoneOf(w), w.Now(), args.Str("holiday_name"), args.Value("year"))
			},
		},
	}
}
