package session

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// reminders returns a version of REMINDER. Each row is an id ("" for null), a text and a time.
func reminders(index int32, rows ...[]any) *worldv1.Table {
	table := &worldv1.Table{Name: world.Reminder, Index: index}
	for _, row := range rows {
		id := world.Null()
		if text := row[0].(string); text != "" {
			id = world.Text(text)
		}
		table.Rows = append(table.Rows, worldtest.Row(world.Reminder, worldtest.Cells{
			"reminder_id": id, "content": world.Text(row[1].(string)), "creation_timestamp": world.Number(row[2].(float64)),
		}))
	}
	return table
}

// writeDiff returns the text of a difference after its first line.
func writeDiff(t *testing.T, diff Diff) string {
	t.Helper()
	var b strings.Builder
	changes := &Changes{Session: &toolhostv1.Session{Id: "s"}, Tables: []Diff{diff}}
	if err := changes.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(b.String(), "\n\n")
	var lines []string
	for line := range strings.Lines(rest) {
		if !strings.HasSuffix(line, ": null\n") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "; ")
}

func TestCompare(t *testing.T) {
	milk, bread := []any{"m", "milk", 1.0}, []any{"b", "bread", 2.0}
	tests := []struct {
		name     string
		from, to *worldv1.Table
		want     string
	}{
		{"nothing", nil, nil, "no change: REMINDER"},
		{"no version and no row", nil, reminders(3), "no change: REMINDER"},
		{"equal versions", reminders(0, milk, bread), reminders(3, milk, bread), "no change: REMINDER"},
		{
			"added", nil, reminders(3, milk),
			`REMINDER: 1 added; + reminder_id: "m"; content: "milk"; creation_timestamp: 1`,
		},
		{
			"removed", reminders(0, milk, bread), reminders(3, bread),
			`REMINDER: 1 removed; - reminder_id: "m"; content: "milk"; creation_timestamp: 1`,
		},
		{
			"cells", reminders(0, milk, bread), reminders(3, []any{"m", "oat \"milk\"\n", 1.5}, bread),
			`REMINDER: 1 changed; ~ reminder_id: "m"; content: "milk" → "oat \"milk\"\n"; creation_timestamp: 1 → 1.5`,
		},
		{
			"the sign of zero", reminders(0, []any{"m", "milk", 0.0}), reminders(3, []any{"m", "milk", math.Copysign(0, -1)}),
			`REMINDER: 1 changed; ~ reminder_id: "m"; creation_timestamp: 0 → -0`,
		},
		{"not a number stays", reminders(0, []any{"m", "milk", math.NaN()}), reminders(3, []any{"m", "milk", math.NaN()}), "no change: REMINDER"},
		{"order", reminders(0, milk, bread), reminders(3, bread, milk), "REMINDER: rows in another order"},
		{
			"removed from the middle and changed", reminders(0, []any{"a", "x", 1.0}, milk, bread), reminders(3, []any{"a", "x", 1.0}, []any{"b", "rolls", 2.0}),
			`REMINDER: 1 removed, 1 changed; - reminder_id: "m"; content: "milk"; creation_timestamp: 1; ~ reminder_id: "b"; content: "bread" → "rolls"`,
		},
		{
			"rows without a name", reminders(0, []any{"", "milk", 1.0}, []any{"", "milk", 1.0}), reminders(3, []any{"", "milk", 1.0}, []any{"", "bread", 1.0}),
			`REMINDER: 1 removed, 1 added; content: "milk"; creation_timestamp: 1; content: "bread"; creation_timestamp: 1`,
		},
		{
			"a name that two rows have", reminders(0, milk, []any{"m", "bread", 1.0}), reminders(3, []any{"m", "bread", 1.0}, []any{"m", "rolls", 1.0}),
			`REMINDER: 1 removed, 1 added; - reminder_id: "m"; content: "milk"; creation_timestamp: 1; + reminder_id: "m"; content: "rolls"; creation_timestamp: 1`,
		},
		{
			"a name that two rows have afterwards", reminders(0, milk), reminders(3, milk, []any{"m", "bread", 1.0}),
			`REMINDER: 1 added; + reminder_id: "m"; content: "bread"; creation_timestamp: 1`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			diff := Compare(reminderTable, test.from, test.to)
			if got := writeDiff(t, diff); got != test.want {
				t.Errorf("Compare:\ngot  %s\nwant %s", got, test.want)
			}
			if got, want := diff.Empty(), strings.HasPrefix(test.want, "no change"); got != want {
				t.Errorf("Empty: got %v, want %v", got, want)
			}
			back := Compare(reminderTable, test.to, test.from)
			if len(back.Added) != len(diff.Removed) || len(back.Removed) != len(diff.Added) || len(back.Changed) != len(diff.Changed) || back.Reordered != diff.Reordered {
				t.Errorf("reversed: got %+v, want the reverse of %+v", back, diff)
			}
		})
	}
}

func TestCompareVersionNumbers(t *testing.T) {
	diff := Compare(reminderTable, nil, reminders(7))
	if diff.From != -1 || diff.To != 7 {
		t.Errorf("versions: got %d and %d, want -1 and 7", diff.From, diff.To)
	}
}

func TestChangesJSON(t *testing.T) {
	from := reminders(0, []any{"m", "<milk>", 1741967520.5}, []any{"b", "bread", 1.0})
	to := reminders(3, []any{"m", "oats", math.Inf(1)}, []any{"c", "cake", 1e21})
	changes := &Changes{
		Session: &toolhostv1.Session{Id: "f", SetupName: "shopping", LastIndex: 8, ParentId: "s.0", ForkedAt: 5},
		From:    0, To: 4, Tables: []Diff{Compare(reminderTable, from, to)},
	}
	got, err := output.JSON(changes, "")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"session":{"id":"f","scenario":"shopping","messages":9,"parent":"s.0","forked_at":5},"from":0,"to":4,"tables":[` +
		`{"table":"REMINDER","from_version":0,"to_version":3,` +
		`"added":[{"reminder_id":"c","content":"cake","creation_timestamp":1e+21,"reminder_timestamp":null,"latitude":null,"longitude":null}],` +
		`"removed":[{"reminder_id":"b","content":"bread","creation_timestamp":1,"reminder_timestamp":null,"latitude":null,"longitude":null}],` +
		`"changed":[{"id":"m","cells":[{"column":"content","from":"<milk>","to":"oats"},{"column":"creation_timestamp","from":1741967520.5,"to":"+Inf"}]}],` +
		`"reordered":false}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

var reminderTable, _ = world.Builtin().Table(world.Reminder)
