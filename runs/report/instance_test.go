package report

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

func TestWriteInstances(t *testing.T) {
	var out strings.Builder
	one := results.Player{Name: "attached:one", Instances: make([]results.Instance, 1)}
	two := results.Player{Name: "attached:two", Instances: []results.Instance{{ID: "a", Peer: "10.0.0.1:1", Turns: 2}, {Peer: "10.0.0.2:1", Turns: 3}}}
	many := results.Player{Name: "attached:many", Instances: make([]results.Instance, 7)}
	if err := WriteInstances(&out, results.Player{Name: "oracle"}, one, two, many); err != nil {
		t.Fatal(err)
	}
	want := "2 processes answered the turns of attached:two (see answered_by in run.json): a from 10.0.0.1:1 (2), one without an id from 10.0.0.2:1 (3)\n" +
		"7 processes answered the turns of attached:many (see answered_by in run.json): " + strings.Repeat("one without an id (0), ", 5) + "…\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
