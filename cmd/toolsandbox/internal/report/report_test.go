package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func ended(name string, reason busv1.EndReason, detail string) Row {
	return Row{Name: name, Took: time.Second, Result: &busv1.Result{MilestoneCount: 2, End: &busv1.End{Reason: reason, Detail: detail}}}
}

// TestReasons prints why rollouts ended: on one line each, whole in a pipe, and as wide as a terminal is.
func TestReasons(t *testing.T) {
	rows := []Row{
		ended("a", busv1.EndReason_END_REASON_INFRASTRUCTURE, "the server says: "+strings.Repeat("no, ", 50)+"never"),
		ended("bb", busv1.EndReason_END_REASON_MODEL_FAILURE, "NameError: x\n\tin line 1\r\n\x1b[31mred\n"),
		ended("c", busv1.EndReason_END_REASON_FINISHED, ""),
		ended("d", busv1.EndReason_END_REASON_INFRASTRUCTURE, "日本語日本語日本語日本語日本語日本語日本語日本語日本語"),
	}
	for name, test := range map[string]struct {
		width int
		want  []string
	}{
		"pipe": {0, []string{
			" a             –      0         0/2    1s  not scored: the server says: " + strings.Repeat("no, ", 50) + "never",
			" bb        0.000      0         0/2    1s  model failure: NameError: x;  in line 1; \uFFFD[31mred",
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
			lines := strings.Split(rollouts(rows, test.width), "\n")
			if diff := cmp.Diff(test.want, lines[2:]); diff != "" {
				t.Errorf("rollouts (-want +got):\n%s", diff)
			}
			if longest := text.LongestLineLen(strings.Join(lines, "\n")); test.width == 70 && longest != test.width {
				t.Errorf("longest line: got %d columns, want %d", longest, test.width)
			}
		})
	}
	var out bytes.Buffer
	if err := Table(&out, rows, nil); err != nil || !strings.Contains(out.String(), "no, never\n") {
		t.Errorf("Table into a buffer: got %v and\n%s\nwant whole reasons", err, &out)
	}
}
