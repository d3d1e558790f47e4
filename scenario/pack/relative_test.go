package pack

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// relativeScenario uses relative times in every place.
const relativeScenario = `world: later
extra_tools: all
categories: [SINGLE_TOOL_CALL]
user:
  goal: Be reminded.
  says: Remind me tomorrow at nine.
  script:
    - calls: [{tool: end_conversation, arguments: {}}]
oracle:
  - calls: [{tool: add_reminder, arguments: {content: Tea, reminder_timestamp: {python: 'at(shift(now, days=1), "09:00")'}}}]
  - say: Done.
recordings:
  - {url: "https://example.org/news", params: {since: {python: now}}, response: {at: [{python: 'now + 90 * 60'}]}}
milestones:
  called:
    call:
      - {tool: add_reminder, arguments: {reminder_timestamp: {python: 'at(shift(now, days=1), "09:00")'}}}
  added:
    table: reminder
    measure: addition
    reference: start
    expect: {content: Tea, reminder_timestamp: {python: 'at(shift(now, days=1), "09:00")'}}
  traced:
    table: sandbox
    expect: {tool_trace: {tool_name: add_reminder, arguments: {reminder_timestamp: {python: 'local("2025-01-03T09:00")'}}}}
  told:
    table: sandbox
    measure: derived
    reference: called
    into: content
    extractor:
      python: >-
        [{"id": str(result)}]
    expect: {content: "Its id is {id}."}
`

// earlyWorld has rows that depend on the clock.
const earlyWorld = `clock: {now: 2024-06-01T12:00:00, time_zone: Europe/Berlin}
tables:
  setting:
    - {cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 1, longitude: 2.5}
  reminder:
    - {content: moves, reminder_timestamp: {python: 'shift(now, hours=-1)'}}
    - {content: stays, reminder_timestamp: 2024-06-01T11:00:00}
    - {content: fixed later, reminder_timestamp: {python: now}}
`

// laterWorld has another clock.
const laterWorld = `extends: early
clock: {now: 2025-01-02T12:00:00}
tables:
  reminder:
    change:
      - {where: {content: fixed later}, set: {reminder_timestamp: 5}}
`

func TestRelativeTimes(t *testing.T) {
	fsys := files(relativeScenario, earlyWorld)
	fsys["worlds/early.yaml"], fsys["worlds/later.yaml"] = fsys["worlds/base.yaml"], files("", laterWorld)["worlds/base.yaml"]
	moved := "clock: {now: 2025-01-02T12:30:00}\n" + relativeScenario
	fsys["b.yaml"] = files("", "")["a.yaml"]
	fsys["b.yaml"].Data = []byte(named("moved", moved))
	loaded, err := readPack(fsys, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// This is nine o'clock on the next day in Berlin.
	const nine = "1735891200.0"
	for i, name := range []string{"moved", "one"} {
		now := time.Date(2025, 1, 2, 11, 0, 0, 0, time.UTC).Add(time.Duration(1-i) * 30 * time.Minute).Unix()
		setup := loaded[i].Scenario.GetSetup()
		if setup.GetName() != name {
			t.Fatalf("scenario %d: got %s, want %s", i, setup.GetName(), name)
		}
		var times []float64
		for _, table := range setup.GetTables() {
			if table.GetName() == world.Reminder {
				for _, row := range table.GetRows() {
					times = append(times, row.GetCells()[3].GetNumber())
				}
			}
		}
		if diff := cmp.Diff([]float64{float64(now - 3600), 1717232400, 5}, times); diff != "" {
			t.Errorf("%s: reminders (-want +got):\n%s", name, diff)
		}
		arguments := `{"content": "Tea", "reminder_timestamp": ` + nine + `}`
		if got := setup.GetOracleScript()[0].GetCalls()[0].GetArgumentsJson(); got != arguments {
			t.Errorf("%s: arguments of the oracle: got %s, want %s", name, got, arguments)
		}
		seconds := time.Unix(now, 0).UTC()
		recorded := setup.GetRecordings()[0].GetParamsJson() + setup.GetRecordings()[0].GetResponseJson()
		if want := `{"since": ` + decimal(seconds) + `}{"at": [` + decimal(seconds.Add(90*time.Minute)) + `]}`; recorded != want {
			t.Errorf("%s: recording: got %s, want %s", name, recorded, want)
		}
		nodes := loaded[i].Scenario.GetEvaluation().GetMilestones().GetNodes()
		trace := `{"tool_name": "add_reminder", "arguments": {"reminder_timestamp": ` + nine + `}}`
		if got := nodes[0].GetConstraints()[0].GetTarget()[0].GetCells()[2].GetValue().GetText(); got != "["+trace+"]" {
			t.Errorf("%s: wanted call: got %s, want [%s]", name, got, trace)
		}
		if got := nodes[1].GetConstraints()[0].GetTarget()[0].GetCells()[1].GetValue().GetNumber(); got != 1735891200 {
			t.Errorf("%s: wanted reminder: got %v, want %s", name, got, nine)
		}
		if got := nodes[2].GetConstraints()[0].GetTarget()[0].GetCells()[0].GetValue().GetText(); got != trace {
			t.Errorf("%s: wanted trace: got %s, want %s", name, got, trace)
		}
		if got := nodes[3].GetConstraints()[0]; got.GetExtractor() != "" || got.GetExtractorExpression() != `[{"id": str(result)}]` {
			t.Errorf("%s: extractor: got %v, want the expression", name, got)
		}
	}
}

// decimal formats a time as in arguments.
func decimal(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) + ".0" }

func TestExpressionErrors(t *testing.T) {
	extracting := func(extractor, rest string) string {
		return "table: sandbox\n    measure: derived\n    reference: off\n    extractor: " + extractor + "\n    " + rest
	}
	const unknownNine = `name "nine" is not defined; the expression knows now, zone, local, at, next_weekday, shift, and what Python has built in`
	const text = "into: content\n    expect: {content: 'It is {a}'}"
	for _, c := range []struct{ name, old, replacement, want string }{
		{"syntax", "expect: {wifi: false}", "expect: {latitude: {python: 'now +'}}",
			"a.yaml:14:41: one.milestones.off.expect.latitude.python: column 6 of the expression: Python cannot read this: invalid syntax"},
		{"plain", "expect: {wifi: false}", "expect:\n      latitude:\n        python: now + nine",
			"a.yaml:16:25: one.milestones.off.expect.latitude.python: column 7 of the expression: " + unknownNine},
		{"block", "expect: {wifi: false}", "expect:\n      latitude:\n        python: |\n          now +\n            nine",
			"a.yaml:18:15: one.milestones.off.expect.latitude.python: line 2, column 3 of the expression: " + unknownNine},
		{"folded", "expect: {wifi: false}", "expect:\n      latitude:\n        python: >-\n          now +\n          nine",
			"a.yaml:16:19: one.milestones.off.expect.latitude.python: column 7 of the expression: " + unknownNine},
		{"evaluation", "expect: {wifi: false}", "expect: {latitude: {python: 'at(now, \"noon\")'}}",
			`a.yaml:14:35: one.milestones.off.expect.latitude.python: at: "noon" is no time of day, expected one like 10:00 or 10:00:30`},
		{"endless comprehension", "expect: {wifi: false}", "expect: {latitude: {python: 'sum(1 for a in range(10**9) for b in range(10**9))'}}",
			"a.yaml:14:35: one.milestones.off.expect.latitude.python: TimeoutError: more than 200000 steps are needed"},
		{"huge text", "expect: {wifi: false}", `expect: {latitude: {python: 'len("x" * 10**9)'}}`,
			"a.yaml:14:35: one.milestones.off.expect.latitude.python: MemoryError: more than 8388608 bytes are needed"},
		{"huge number", "expect: {wifi: false}", "expect: {latitude: {python: '10**10**10'}}",
			"a.yaml:14:35: one.milestones.off.expect.latitude.python: MemoryError: the number is too large"},
		{"recursion", "expect: {wifi: false}", "expect: {latitude: {python: '(lambda f: f(f))(lambda f: f(f))'}}",
			"a.yaml:14:35: one.milestones.off.expect.latitude.python: RecursionError: maximum recursion depth exceeded"},
		{"wrong type", "expect: {wifi: false}", "expect: {latitude: {python: 'zone'}}",
			"a.yaml:14:35: one.milestones.off.expect.latitude.python: gives str, expected a time: a number of seconds"},
		{"endless extractor", "says: Done.", extracting("{python: '[{\"a\": 1} for a in range(10**9) for b in range(10**9) if a < 0]'}", text),
			"a.yaml:19:27: one.milestones.told.extractor.python: TimeoutError: more than 200000 steps are needed"},
		{"no text", "expect: {wifi: false}", "expect: {latitude: {python: 5}}",
			"a.yaml:14:35: one.milestones.off.expect.latitude.python: is a number, expected a text (quote it)"},
		{"a time for a text", "expect: {wifi: false}", "expect: {device_id: {python: now}}",
			"a.yaml:14:27: one.milestones.off.expect.device_id: is a time, expected a text"},
		{"extractor of the wrong kind", "says: Done.", extracting("{python: now}", text),
			`a.yaml:19:27: one.milestones.told.extractor.python: column 1 of the expression: name "now" is not defined; the expression knows tool_name, arguments, result, and what Python has built in`},
		{"extractor without alternatives", "says: Done.", extracting(`{python: "result"}`, text),
			`a.yaml:19:28: one.milestones.told.extractor.python: column 1 of the expression: the names cannot be told here; write alternatives out as [{"name": value}], also with for, if and else`},
		{"unknown extractor", "says: Done.", extracting("day_extractor", text),
			`a.yaml:19:18: one.milestones.told.extractor: unknown extractor "day_extractor"; did you mean "days_extractor"?`},
		{"unknown place", "says: Done.", extracting("days_extractor", text),
			"a.yaml:21:25: one.milestones.told.expect.content: has a place for a, but the extractor gives days"},
		{"no place", "says: Done.", extracting("days_extractor", "into: content\n    expect: {content: It is late}"),
			"a.yaml:21:25: one.milestones.told.expect.content: has no place for what the extractor gives, which is days; write {days}"},
		{"unpaired brace", "says: Done.", extracting("days_extractor", "into: content\n    expect: {content: 'It is {days'}"),
			"a.yaml:21:25: one.milestones.told.expect.content: has an unpaired brace; write {{ or }} for a brace itself"},
		{"nothing to fill", "says: Done.", extracting("days_extractor", "into: tool_trace\n    expect: {content: It is late}"),
			"a.yaml:21:15: one.milestones.told.expect: has no tool_trace, which into says is to be filled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := c.old
			if old == "says: Done." { // the oracle's text too
				old = "    says: Done."
				c.replacement = "    " + c.replacement
			}
			checkErrors(t, files(edit(t, testScenario, old, c.replacement), testWorld), strings.Split(c.want, "\n"))
		})
	}
}

// TestPlainTimes checks that plain times equal expressions in every timestamp field.
func TestPlainTimes(t *testing.T) {
	t.Parallel()
	written := `world: base
extra_tools: all
categories: [SINGLE_TOOL_CALL]
user:
  goal: Be reminded.
  tools: [timestamp_diff]
  says: Remind me.
  script:
    - calls: [{tool: timestamp_diff, arguments: {timestamp_0: NOW, timestamp_1: DAY}}]
oracle:
  - calls: [{tool: add_reminder, arguments: {content: now, reminder_timestamp: NINE}}]
milestones:
  called:
    call: [{tool: search_reminder, arguments: {reminder_timestamp_lowerbound: NOW, in: {timestamp: NINE}}}]
  kept:
    table: reminder
    expect: {content: Tea, reminder_timestamp: NINE, creation_timestamp: NOW}
  traced:
    table: sandbox
    expect: {tool_trace: {tool_name: add_reminder, arguments: {reminder_timestamp: NINE}}}
`
	world := `clock: {now: 2025-01-02T12:00:00, time_zone: Europe/Berlin}
tables:
  setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 1, longitude: 2.5}]
  reminder: [{content: Tea, creation_timestamp: NOW, reminder_timestamp: NINE}]
`
	load := func(words ...string) *scenariov1.Scenario {
		replace := strings.NewReplacer(words...)
		loaded, err := readPack(files(replace.Replace(written), replace.Replace(world)), scenario.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return loaded[0].Scenario
	}
	got := load("NOW", "now", "NINE", "2025-01-03T09:00", "DAY", "2025-01-03")
	want := load("NOW", "{python: now}", "NINE", `{python: 'local("2025-01-03T09:00")'}`, "DAY", `{python: 'local("2025-01-03")'}`)
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("plain times (-expressions +plain):\n%s", diff)
	}
	if text := got.GetSetup().GetOracleScript()[0].GetCalls()[0].GetArgumentsJson(); text != `{"content": "now", "reminder_timestamp": 1735891200.0}` {
		t.Errorf("arguments of the oracle: %s", text)
	}
}
