package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func endedRow(name string, reason busv1.EndReason, detail string) Row {
	return Row{Name: name, Duration: time.Second, Result: &busv1.Result{MilestoneCount: 2, End: &busv1.End{Reason: reason, Detail: detail}}}
}

// TestReasons checks that each reason is on one line: complete in a pipe, truncated to the width of
// a terminal.
func TestReasons(t *testing.T) {
	rows := []Row{
		endedRow("a", busv1.EndReason_END_REASON_INFRASTRUCTURE, "the server says: "+strings.Repeat("no, ", 50)+"never"),
		endedRow("bb", busv1.EndReason_END_REASON_MODEL_FAILURE, "NameError: x\n\tin line 1\r\n\x1b[31mred\n"),
		endedRow("c", busv1.EndReason_END_REASON_FINISHED, ""),
		endedRow("d", busv1.EndReason_END_REASON_INFRASTRUCTURE, "日本語日本語日本語日本語日本語日本語日本語日本語日本語"),
	}
	for name, test := range map[string]struct {
		width int
		want  []string
	}{
		"pipe": {0, []string{
			" a             –      0         0/2    1s  not scored: the server says: " + strings.Repeat("no, ", 50) + "never",
			" bb        0.000      0         0/2    1s  model failure: NameError: x;  in line 1; \\u001b[31mred",
			" c         0.000      0         0/2    1s ",
			" d             –      0         0/2    1s  not scored: 日本語日本語日本語日本語日本語日本語日本語日本語日本語",
		}},
		"terminal": {70, []string{
			" a             –      0         0/2    1s  not scored: the server say…",
			" bb        0.000      0         0/2    1s  model failure: NameError: …",
			" c         0.000      0         0/2    1s ",
			" d             –      0         0/2    1s  not scored: 日本語日本語日…",
		}},
		"narrow terminal": {30, []string{
			" a             –      0         0/2    1s  not scored: the ser…",
			" bb        0.000      0         0/2    1s  model failure: Name…",
			" c         0.000      0         0/2    1s ",
			" d             –      0         0/2    1s  not scored: 日本語…",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(rollouts(rows, scoreColumns, test.width), "\n")
			if diff := cmp.Diff(test.want, lines[2:]); diff != "" {
				t.Errorf("rollouts (-want +got):\n%s", diff)
			}
			if longest := text.LongestLineLen(strings.Join(lines, "\n")); test.width == 70 && longest != test.width {
				t.Errorf("longest line: got %d columns, want %d", longest, test.width)
			}
		})
	}
	var out bytes.Buffer
	if err := WriteTable(&out, rows, nil); err != nil || !strings.Contains(out.String(), "no, never\n") {
		t.Errorf("Table into a buffer: got %v and\n%s\nwant whole reasons", err, &out)
	}
}

// TestLongNames checks that rollouts with long names fit 80 columns, each remark beside its row.
func TestLongNames(t *testing.T) {
	name := strings.Repeat("add_reminder_content_", 6)
	rows := []Row{
		endedRow(name+"a", busv1.EndReason_END_REASON_INFRASTRUCTURE, "the server says no"),
		endedRow("b", busv1.EndReason_END_REASON_MESSAGE_LIMIT, ""),
		endedRow(name+"c", busv1.EndReason_END_REASON_FINISHED, ""),
	}
	lines := strings.Split(rollouts(rows, scoreColumns, 80), "\n")
	if longest := text.LongestLineLen(strings.Join(lines, "\n")); longest > 80 {
		t.Errorf("got %d columns, want at most 80:\n%s", longest, strings.Join(lines, "\n"))
	}
	whole := ""
	for _, line := range lines[2:] {
		first, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		whole += first
	}
	if want := name + "ab" + name + "c"; whole != want {
		t.Errorf("names: got %s, want %s", whole, want)
	}
	for remark, at := range map[string]string{"not scored": " add_reminder", "message limit": " b "} {
		if i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, remark) }); i < 0 || !strings.HasPrefix(lines[i], at) {
			t.Errorf("%q is not beside %q:\n%s", remark, at, strings.Join(lines, "\n"))
		}
	}
}

// TestManyRollouts checks that a run with more than 60 rollouts shows categories and the worst
// rollouts, unscored ones first. A smaller run shows every row.
func TestManyRollouts(t *testing.T) {
	var rows []Row
	for i := range 61 {
		row := endedRow(fmt.Sprintf("r%02d", i), busv1.EndReason_END_REASON_FINISHED, "")
		row.Result.Similarity = 1 - float64(i)/100
		rows = append(rows, row)
	}
	totals := resultfile.Categories{{Name: "ALL_CATEGORIES"}, {Name: "A", Similarity: new(0.5), TurnCount: new(3.0)}}
	names := func(rows []Row) []string {
		var out bytes.Buffer
		if err := WriteTable(&out, rows, totals); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, "milestones: reached with a similarity above 0, of all") || !strings.Contains(text, "ALL_CATEGORIES      –      –") {
			t.Errorf("got\n%s\nwant what the columns count, and no mean where there is none", text)
		}
		var names []string
		for line := range strings.Lines(out.String()) {
			if fields := strings.Fields(line); len(fields) > 0 && strings.HasPrefix(fields[0], "r") && len(fields[0]) == 3 {
				names = append(names, fields[0])
			}
		}
		return names
	}
	if got := names(rows[:60]); len(got) != 60 || got[0] != "r00" {
		t.Errorf("60 rollouts: got %d lines from %s on, want all by name", len(got), got[0])
	}
	rows[7].Result.End.Reason = busv1.EndReason_END_REASON_INFRASTRUCTURE
	got := names(rows)
	want := []string{"r07"}
	for i := range worstRows {
		want = append(want, fmt.Sprintf("r%02d", 60-i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("61 rollouts (-want +got):\n%s", diff)
	}
	if _, others := choose(rows); others != "1 of 61 rollouts have no score, 59 have less than 1; the first 20 of each are shown, and the results have every one\n" {
		t.Errorf("got %q, want how many are not shown", others)
	}
}
