package clock

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/python"
)

// tools returns the time tools by name. Their arguments must have passed the type checks.
func tools(z Zone, now float64) map[string]func(args *python.Dict) (python.Value, error) {
	number := func(args *python.Dict, name string) python.Value {
		value, ok := args.Get(name)
		if !ok {
			return python.Int(0)
		}
		return value
	}
	return map[string]func(args *python.Dict) (python.Value, error){
		"get_current_timestamp": func(*python.Dict) (python.Value, error) { return z.Now(now) },
		"timestamp_to_datetime_info": func(args *python.Dict) (python.Value, error) {
			return z.DatetimeInfo(number(args, "timestamp"))
		},
		"datetime_info_to_timestamp": func(args *python.Dict) (python.Value, error) {
			return z.Timestamp(Fields{
				Year: number(args, "year"), Month: number(args, "month"), Day: number(args, "day"),
				Hour: number(args, "hour"), Minute: number(args, "minute"), Second: number(args, "second"),
			})
		},
		"shift_timestamp": func(args *python.Dict) (python.Value, error) {
			return z.Shift(number(args, "timestamp"), Delta{
				Weeks: number(args, "weeks"), Days: number(args, "days"), Hours: number(args, "hours"),
				Minutes: number(args, "minutes"), Seconds: number(args, "seconds"),
			})
		},
		"timestamp_diff": func(args *python.Dict) (python.Value, error) {
			return z.Diff(number(args, "timestamp_0"), number(args, "timestamp_1"))
		},
		"seconds_to_hours_minutes_seconds": func(args *python.Dict) (python.Value, error) {
			return z.HoursMinutesSeconds(number(args, "seconds"))
		},
	}
}

type vector struct {
	Timezone  string
	Tool      string
	Arguments string
	Content   string
	Exception *string
}

// check compares a tool's result with the vector's.
func check(t *testing.T, line int, c vector, zone Zone, now float64) {
	t.Helper()
	args, err := python.ParseJSON(c.Arguments)
	if err != nil {
		t.Fatalf("line %d: %v", line, err)
	}
	dict, _ := args.AsDict()
	result, err := tools(zone, now)[c.Tool](dict)
	got := python.Text(result)
	if err != nil {
		got = err.Error()
	}
	if got != c.Content || (err != nil) != (c.Exception != nil) {
		t.Errorf("line %d: %s(%s) in %q = %s, want %s", line, c.Tool, c.Arguments, c.Timezone, got, c.Content)
	}
}

func load(t *testing.T, name string) Zone {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return FromLocation(location)
}

func TestVectors(t *testing.T) {
	t.Parallel()
	cases, others := 0, 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/datetime.jsonl"), func(line int, raw []byte) {
		var c vector
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		if c.Tool == "search_holiday" { // package holiday
			others++
			return
		}
		zone := load(t, c.Timezone)
		now := time.Date(2024, time.May, 22, 10, 30, 0, 0, zone.location).Unix()
		check(t, line, c, zone, float64(now))
		cases++
	})
	t.Logf("datetime.jsonl: %d cases, and %d of another package", cases, others)
}

func TestCallVectors(t *testing.T) {
	t.Parallel()
	zone := load(t, "America/Los_Angeles")
	for name := range tools(zone, 0) {
		cases, others := 0, 0
		vectortest.Lines(t, vectortest.Dir(t, "tools/calls/"+name+".jsonl"), func(line int, raw []byte) {
			var c vector
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatalf("line %d: %v", line, err)
			}
			if c.Exception != nil && (strings.HasPrefix(*c.Exception, "TypeError: ") || strings.HasPrefix(*c.Exception, "NameError: ")) {
				others++ // binding and type checks
				return
			}
			check(t, line, c, zone, 1716399000)
			cases++
		})
		t.Logf("calls/%s.jsonl: %d cases, and %d that fail in binding or type checks", name, cases, others)
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	zone := load(t, "America/Los_Angeles")
	float := func(v python.Value, err error) string {
		if err != nil {
			return err.Error()
		}
		return python.Repr(v)
	}
	zero := Delta{Weeks: python.Int(0), Days: python.Int(0), Hours: python.Int(0), Minutes: python.Int(0), Seconds: python.Int(0)}
	cases := []struct{ name, got, want string }{
		{"second half of a repeated hour", float(zone.Now(1730626200.1234567)), "1730626200.123457"},
		{"shift forgets the half", float(zone.Shift(python.Int(1730626200), zero)), "1730622600.0"},
		{"midnight", float(zone.Midnight(2024, time.December, 25)), "1735113600.0"},
		{"midnight before the zone", float(zone.Midnight(1, time.January, 1)), "ValueError: year 0 is out of range"},
		{"zero zone", float(Zone{}.Midnight(1970, time.January, 1)), "0.0"},
		{"overflow of float", float(zone.HoursMinutesSeconds(python.Float(1 << 63))), "OSError: [Errno 75] Value too large for defined data type"},
		{"no number", float(zone.HoursMinutesSeconds(python.Str("x"))), "TypeError: an integer is required (got type str)"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
	}
	if year, err := zone.Year(1704095999); year != 2023 || err != nil {
		t.Errorf("Year = %d, %v, want 2023", year, err)
	}
}
