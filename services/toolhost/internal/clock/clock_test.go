package clock

import (
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/python"
)

func load(t *testing.T, name string) Zone {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return FromLocation(location)
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
		{"overflow of float", float(zone.LocalTime(python.Float(1 << 63))), "OSError: [Errno 75] Value too large for defined data type"},
		{"no number", float(zone.LocalTime(python.Str("x"))), "TypeError: an integer is required (got type str)"},
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
