package expression

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

// zone returns a time zone.
func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return location
}

// seconds compiles an expression and evaluates it.
func seconds(text string, now float64, in *time.Location) (float64, error) {
	compiled, err := CompileTime(text)
	if err != nil {
		return 0, err
	}
	return compiled.Seconds(now, in)
}

func TestTime(t *testing.T) {
	// Wednesday, 22 May 2024, 13:30 in New York.
	const now = 1716399000.0
	newYork := zone(t, "America/New_York")
	for _, test := range []struct{ text, want string }{
		{`now`, "2024-05-22T13:30:00-04:00"},
		{`now + 26 * 3600`, "2024-05-23T15:30:00-04:00"},
		{`now - 90 * 60`, "2024-05-22T12:00:00-04:00"},
		{`local("2025-03-15T10:00")`, "2025-03-15T10:00:00-04:00"},
		{`local("2025-01-15T10:00:30")`, "2025-01-15T10:00:30-05:00"},
		{`local("2025-03-15")`, "2025-03-15T00:00:00-04:00"},
		{`local("2025-03-15", "Europe/Berlin")`, "2025-03-14T19:00:00-04:00"},
		{`shift(now, days=1, hours=-2)`, "2024-05-23T11:30:00-04:00"},
		{`shift(now, weeks=26)`, "2024-11-20T13:30:00-05:00"},
		{`at(now, "10:00")`, "2024-05-22T10:00:00-04:00"},
		{`at(shift(now, days=1), "10:00:30")`, "2024-05-23T10:00:30-04:00"},
		{`next_weekday(now, "saturday")`, "2024-05-25T13:30:00-04:00"},
		{`next_weekday(now, "wednesday")`, "2024-05-29T13:30:00-04:00"},
		{`at(next_weekday(now, "thursday"), "00:00")`, "2024-05-23T00:00:00-04:00"},
		{`now if local("2024-05-22T13:30") == now else local("1999-01-01")`, "2024-05-22T13:30:00-04:00"},
		{`1716399000`, "2024-05-22T13:30:00-04:00"},
		{`1716399000.5`, "2024-05-22T13:30:00.5-04:00"},
		{`local("2024-05-22", zone="UTC")`, "2024-05-21T20:00:00-04:00"},
		{`local("2024-05-22", zone)`, "2024-05-22T00:00:00-04:00"},
		{"shift(\n  now,\n  days=1) +\n3600  # an hour", "2024-05-23T14:30:00-04:00"},
		{`max([shift(now, days=n) for n in range(3)])`, "2024-05-24T13:30:00-04:00"},
		// On 10 March 2024 the clock goes from 2:00 to 3:00, on 3 November from 2:00 to 1:00.
		{`local("2024-03-10T02:30")`, "2024-03-10T03:30:00-04:00"},
		{`shift(local("2024-03-09T02:30"), days=1)`, "2024-03-10T03:30:00-04:00"},
		{`shift(local("2024-03-10T01:30"), hours=2)`, "2024-03-10T03:30:00-04:00"},
		{`local("2024-11-03T01:30")`, "2024-11-03T01:30:00-04:00"},
		{`local("2024-11-03T01:30") + 3600`, "2024-11-03T01:30:00-05:00"},
		{`shift(local("2024-11-03T00:30"), hours=2)`, "2024-11-03T02:30:00-05:00"},
	} {
		got, err := seconds(test.text, now, newYork)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if output := time.UnixMilli(int64(got * 1000)).In(newYork).Format(time.RFC3339Nano); output != test.want {
			t.Errorf("%s: got %s, want %s", test.text, output, test.want)
		}
	}
	if got, err := seconds(`now`, 1716399000.123456, newYork); got != 1716399000.123456 || err != nil {
		t.Errorf("now with microseconds: got %v, %v, want it back", got, err)
	}
}

func TestTimeErrors(t *testing.T) {
	const weekdays = "expected one of monday, tuesday, wednesday, thursday, friday, saturday, sunday"
	for _, test := range []struct{ text, want string }{
		{``, "the expression is empty"},
		{` `, "the expression is empty"},
		{`now +`, "column 6 of the expression: Python cannot read this: invalid syntax"},
		{`now) + (now`, "column 4 of the expression: Python cannot read this: unmatched ')'"},
		{"now\n  now", "line 2, column 3 of the expression: Python cannot read this: invalid syntax"},
		{`[now`, "column 5 of the expression: Python cannot read this: the source ends too early"},
		{`x = now`, "column 3 of the expression: Python cannot read this: invalid syntax"},
		{`now and "\x00"`, "gives str, expected a time: a number of seconds"},
		{`now + nine`, `column 7 of the expression: name "nine" is not defined; the expression knows now, zone, local, at, next_weekday, shift, and what Python has built in`},
		{`f"{nine}"`, `column 1 of the expression: name "nine" is not defined; the expression knows now, zone, local, at, next_weekday, shift, and what Python has built in`},
		{`"tomorrow"`, "gives str, expected a time: a number of seconds"},
		{`True`, "gives bool, expected a time: a number of seconds"},
		{`local`, "TypeError: Object of type function is not JSON serializable"},
		{`now + "1"`, "TypeError: unsupported operand type(s) for +: 'float' and 'str'"},
		{`at(now)`, "at: TypeError: missing a required argument: 'clock'"},
		{`at(clock="9:00", now)`, "column 21 of the expression: Python cannot read this: positional argument follows keyword argument"},
		{`at("now", "10:00")`, "at: time is 'now', expected a time in seconds since 1970"},
		{`at(now, 10)`, "at: clock is int, expected a text"},
		{`at(1e300, "10:00")`, "at: time is 1e+300, expected a time in seconds since 1970"},
		{`at(True, "10:00")`, "at: time is True, expected a time in seconds since 1970"},
		{`at(now, "25:00")`, `at: "25:00" is no time of day, expected one like 10:00 or 10:00:30`},
		{`local("15.3.2025")`, `local: "15.3.2025" is no local time, expected one like 2025-03-15T10:00 or a date like 2025-03-15`},
		{`local("2025-03-15", "Local")`, `local: "Local" is no time zone, expected an IANA name like Europe/Berlin`},
		{`local("2025-03-15", "Mars/Base")`, `local: "Mars/Base" is no time zone, expected an IANA name like Europe/Berlin`},
		{`local("2025-03-15", zone=1)`, `local: zone is int, expected a text`},
		{`next_weekday(now, "Sat")`, `next_weekday: "Sat" is no weekday, ` + weekdays},
		{`shift(now, days=1, aeons=1)`, `shift: TypeError: got an unexpected keyword argument 'aeons'`},
		{`shift(now, days=1.5)`, `shift: days is float, expected a whole number`},
		{`shift(now, days=10 ** 30)`, `shift: days is int, expected a whole number`},
		{`shift(now, days=999999999999)`, "shift: 999999999999 days lead out of the calendar"},
		{`shift(now, days=-800000)`, "shift: the year -166 is out of the calendar"},
		{`1e308 * 10`, "gives +Inf seconds, which is no time"},
		{`1 / 0`, "ZeroDivisionError: division by zero"},
	} {
		_, err := seconds(test.text, 1716399000, zone(t, "Europe/Berlin"))
		var mistake *Error
		if !errors.As(err, &mistake) || mistake.Error() != test.want {
			t.Errorf("%s:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
	for _, now := range []float64{math.NaN(), math.Inf(1), 1e300} {
		if got, err := seconds(`now`, now, time.UTC); err == nil {
			t.Errorf("now of %v: got %v, want an error", now, got)
		}
	}
}

// TestHostileTimes evaluates expressions that would not end or take much memory, or that reach for
// what they must not see.
func TestHostileTimes(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"endless comprehension", `sum(1 for a in range(10**9) for b in range(10**9))`, "TimeoutError: more than 200000 steps are needed"},
		{"endless list", `[a for a in range(10**9)]`, "TimeoutError: more than 200000 steps are needed"},
		{"huge text", `len("x" * 10**9)`, "MemoryError: more than 8388608 bytes are needed"},
		{"huge list", `len([0] * 10**9)`, "MemoryError: more than 8388608 bytes are needed"},
		{"huge int", `10**10**10`, "MemoryError: the number is too large"},
		{"recursion", `(lambda f: f(f))(lambda f: f(f))`, "RecursionError: maximum recursion depth exceeded"},
		{"many calls", `max(at(now, "10:00") for n in range(10**6))`, "TimeoutError: more than 200000 steps are needed"},
		{"long", `now + ` + strings.Repeat("1", 2000), "the expression has 2006 bytes, at most 2000 are allowed"},
		{"deep", strings.Repeat("(", 900) + "now" + strings.Repeat(")", 900), "column 201 of the expression: Python cannot read this: too many nested parentheses"},
		{"import", `__import__("os")`, `column 1 of the expression: name "__import__" is not defined; the expression knows now, zone, local, at, next_weekday, shift, and what Python has built in`},
		{"escape", `().__class__.__bases__`, "AttributeError: type object 'tuple' has no attribute '__bases__'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := seconds(test.text, 1716399000, time.UTC); err == nil || err.Error() != test.want {
				t.Errorf("got %v, %v, want %s", got, err, test.want)
			}
		})
	}
}

// TestConcurrency evaluates one expression concurrently, for the race detector.
func TestConcurrency(t *testing.T) {
	compiled, err := CompileTime(`at(shift(now, days=1), "10:00")`)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 100 {
				if got, err := compiled.Seconds(float64(i)*86400, time.UTC); err != nil || got != float64(i+1)*86400+36000 {
					t.Errorf("day %d: got %v, %v, want ten o'clock on the next", i, got, err)
				}
			}
		})
	}
	group.Wait()
}

// FuzzTime compiles any text and evaluates valid times.
func FuzzTime(f *testing.F) {
	for _, text := range []string{
		`now + 26 * 3600`, `at(next_weekday(now, "saturday"), "10:00")`, `shift(now, {"days": 1, "weeks": -9})`,
		`local("2024-03-10T02:30", zone)`, `int(now) / 2`, `true ? 1.5 : 2.5`,
		`shift(now, {"days": 1, b"days": 1})`,
	} {
		f.Add(text, 1716399000.0)
	}
	newYork := zone(f, "America/New_York")
	f.Fuzz(func(t *testing.T, text string, now float64) {
		got, err := seconds(text, now, newYork)
		var mistake *Error
		switch {
		case err != nil && (!errors.As(err, &mistake) || mistake.Problem == ""):
			t.Errorf("%q at %v: got %#v, want an *Error with a problem", text, now, err)
		case math.IsNaN(got) || math.IsInf(got, 0):
			t.Errorf("%q at %v: got %v, want a time", text, now, got)
		}
		again, _ := seconds(text, now, newYork)
		if again != got {
			t.Errorf("%q at %v: got %v, then %v", text, now, got, again)
		}
	})
}
