package report

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

func TestWriteFloors(t *testing.T) {
	floors := &results.Floors{Scenarios: 12, Idle: results.Floor{Mean: 0.31, Rollouts: 36}, Random: results.Floor{Mean: 0.2701, Rollouts: 36}}
	one := &results.Floors{Scenarios: 1, Idle: results.Floor{Mean: 0.2}, Random: results.Floor{Mean: 0.3}}
	oracle := &results.Floors{Scenarios: 2, Oracle: &results.Floor{Mean: 1}}
	mean := func(score float64) *float64 { return &score }
	const line = "\nfloors on these 12 scenarios: idle 0.310, random 0.270\n"
	for name, test := range map[string]struct {
		floors *results.Floors
		mean   *float64
		scored int
		want   string
	}{
		"unknown":      {nil, mean(0), 9, ""},
		"above":        {floors, mean(0.31), 9, line},
		"oracle":       {oracle, nil, 0, "\nfloors on these 2 scenarios: idle 0.000, random 0.000; oracle 1.000\n"},
		"no score":     {floors, nil, 0, line},
		"below idle":   {floors, mean(0.3), 9, line + "the agent's mean, 0.300, is below an idle agent's\n"},
		"below random": {one, mean(0.25), 9, "\nfloors on this 1 scenario: idle 0.200, random 0.300\nthe agent's mean, 0.250, is below that of random calls\n"},
		"below both":   {floors, mean(0), 8, line + "the agent's mean, 0.000 (n 8 of 9), is below both\n"},
	} {
		var out strings.Builder
		if err := WriteFloors(&out, test.floors, test.mean, test.scored, 9); err != nil || out.String() != test.want {
			t.Errorf("%s: got %q and %v, want %q", name, out.String(), err, test.want)
		}
	}
}
