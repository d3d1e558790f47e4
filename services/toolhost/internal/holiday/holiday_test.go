package holiday

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/clock"
)

// nowLocal is the local time of all vectors.
var nowLocal = time.Date(2024, time.May, 22, 10, 30, 0, 0, time.UTC)

// load returns a zone and the vectors' time in it, in POSIX seconds.
func load(t *testing.T, name string) (clock.Zone, float64) {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	zone := clock.FromLocation(location)
	now, err := zone.Midnight(nowLocal.Year(), nowLocal.Month(), nowLocal.Day())
	if err != nil {
		t.Fatal(err)
	}
	seconds, _ := now.AsFloat()
	return zone, seconds + 10.5*60*60
}

func TestFederalVectors(t *testing.T) {
	t.Parallel()
	cases := 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/us_holidays.jsonl"), func(line int, raw []byte) {
		var c struct {
			Year     int
			Holidays [][2]string
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		days, err := Federal(c.Year)
		if err != nil {
			t.Errorf("line %d: Federal(%d): %v", line, c.Year, err)
		}
		got := [][2]string{}
		for _, day := range days {
			got = append(got, [2]string{day.Date.Format(time.DateOnly), day.Name})
		}
		if diff := cmp.Diff(c.Holidays, got); diff != "" {
			t.Errorf("line %d: Federal(%d) (-want +got):\n%s", line, c.Year, diff)
		}
		cases++
	})
	t.Logf("us_holidays.jsonl: %d cases", cases)
}

// check compares the result of a search with the vector's content.
func check(t *testing.T, line int, zone clock.Zone, now float64, args *python.Dict, content string) {
	t.Helper()
	name, _ := args.Get("holiday_name")
	year, _ := args.Get("year")
	text, _ := name.AsStr()
	result, err := Search(zone, now, text, year)
	got := python.Text(result)
	if err != nil {
		got = err.Error()
	}
	if got != content {
		t.Errorf("line %d: Search(%s) = %s, want %s", line, python.Repr(args.Value()), got, content)
	}
}

func TestSearchVectors(t *testing.T) {
	t.Parallel()
	zone, now := load(t, "America/Los_Angeles")
	cases := 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/holidays.jsonl"), func(line int, raw []byte) {
		vector, err := python.ParseJSON(raw)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		args, _ := vector.AsDict()
		content, _ := args.Get("content")
		check(t, line, zone, now, args, python.Text(content))
		cases++
	})
	t.Logf("holidays.jsonl: %d cases", cases)
}

func TestCallVectors(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"tools/calls/search_holiday.jsonl", "tools/datetime.jsonl"} {
		cases, others := 0, 0
		vectortest.Lines(t, vectortest.Dir(t, file), func(line int, raw []byte) {
			var c struct {
				Timezone, Tool, Arguments, Content string
				Exception                          *string
			}
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatalf("line %d: %v", line, err)
			}
			if c.Tool != "search_holiday" {
				return
			}
			if c.Exception != nil && !strings.HasPrefix(*c.Exception, "ValueError: ") && !strings.HasPrefix(*c.Exception, "OverflowError: ") {
				others++ // binding, type checks, wifi
				return
			}
			if c.Timezone == "" {
				c.Timezone = "America/Los_Angeles"
			}
			args, err := python.ParseJSON(c.Arguments)
			if err != nil {
				t.Fatalf("line %d: %v", line, err)
			}
			zone, now := load(t, c.Timezone)
			dict, _ := args.AsDict()
			check(t, line, zone, now, dict, c.Content)
			cases++
		})
		t.Logf("%s: %d cases, and %d that fail before", file, cases, others)
	}
}

func TestSearchYear(t *testing.T) {
	t.Parallel()
	zone, now := load(t, "UTC")
	huge, err := python.ParseJSON("-100000000000000000000")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		year python.Value
		want string
	}{
		{huge, "None"},
		{python.Int(1870), "None"},
		{python.Bool(true), "None"},
		{python.None(), "1735084800.0"},
		{python.Int(9998), "253370160000.0"},
		{python.Int(9999), "ValueError: year 10000 is out of range"},
		{python.Int(1<<31 - 1), "ValueError: year 2147483647 is out of range"},
		{python.Int(1 << 31), "OverflowError: signed integer is greater than maximum"},
	}
	for _, c := range cases {
		result, err := Search(zone, now, "christmas", c.year)
		got := python.Repr(result)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Search in %s = %s, want %s", python.Repr(c.year), got, c.want)
		}
	}
}
