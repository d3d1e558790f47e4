package play

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// TestVerdict checks the reasons for unscored rollouts. A person's end of a rollout is not a
// failure of the infrastructure. Only the terminal's own text counts as such.
func TestVerdict(t *testing.T) {
	row := func(agent string, reason busv1.EndReason, detail string) report.Row {
		p, err := player.Parse(worldv1.Role_ROLE_AGENT, agent)
		if err != nil {
			t.Fatal(err)
		}
		return report.Row{Result: &busv1.Result{
			Rollout: &busv1.Rollout{Agent: p, User: &agentgwv1.Player{Name: "scripted"}}, End: &busv1.End{Reason: reason, Detail: detail},
		}}
	}
	const words = "the agent ended the conversation, turn 0: ended by the person at the terminal"
	scored := row("cli", busv1.EndReason_END_REASON_FINISHED, "")
	left := row("cli", busv1.EndReason_END_REASON_INFRASTRUCTURE, words)
	lost := row("cli", busv1.EndReason_END_REASON_INFRASTRUCTURE, "plug-in cannot be reached")
	other := row("grpc://localhost:1", busv1.EndReason_END_REASON_INFRASTRUCTURE, words)
	broken := row("cli", busv1.EndReason_END_REASON_INFRASTRUCTURE, "measures/price.py:8: near()")
	broken.Result.End.ExceptionType = measure.Exception
	for name, test := range map[string]struct {
		rows   []report.Row
		replay string
		want   string
	}{
		"all scored": {[]report.Row{scored, scored}, "", ""},
		"left":       {[]report.Row{left, scored}, "", "1 of 2 rollouts have no score because the person at the terminal ended them: --out o --resume asks for them again"},
		"lost":       {[]report.Row{lost, scored}, "", "1 of 2 rollouts have no score because a service, a provider or a player failed: see the table, fix the cause, and --out o --resume plays them again"},
		"no person":  {[]report.Row{other, scored}, "", "1 of 2 rollouts have no score because a service, a provider or a player failed: see the table, fix the cause, and --out o --resume plays them again"},
		"both": {[]report.Row{lost, left}, "", "1 of 2 rollouts have no score because a service, a provider or a player failed: see the table, fix the cause, and --out o --resume plays them again\n" +
			"1 of 2 rollouts have no score because the person at the terminal ended them: --out o --resume asks for them again"},
		"a measure": {[]report.Row{lost, broken}, "", "1 of 2 rollouts have no score because a service, a provider or a player failed: see the table, fix the cause, and --out o --resume plays them again\n" +
			"1 of 2 rollouts have no score because a measure failed: see the table, fix the measure in the pack, and toolsandbox score o --write with its --pack scores the messages"},
		"a measure, replayed": {[]report.Row{scored, broken}, "p",
			"1 of 2 rollouts have no score because a measure failed: see the table, fix the measure in the pack, and toolsandbox score o --write with its --pack scores the messages"},
		"replayed": {[]report.Row{lost, left}, "p", "1 of 2 rollouts have no score because a service, a provider or a player failed: see the table\n" +
			"1 of 2 rollouts have no score because the person at the terminal ended them"},
	} {
		t.Run(name, func(t *testing.T) {
			options := &Options{out: "o", replay: test.replay}
			rollouts := make([]results.Rollout, len(test.rows))
			for i, row := range test.rows {
				rollouts[i] = results.Rollout{Rollout: resultfile.Rollout{Result: row.Result}}
			}
			err := options.verdict(&collector{spec: sweep.Spec{
				Scenarios: make([]*scenariov1.Scenario, 2), Agents: make([]*agentgwv1.Player, 1), Users: make([]*agentgwv1.Player, 1), Trials: 1,
			}, rollouts: rollouts})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestAgain quotes a path for a shell.
func TestAgain(t *testing.T) {
	t.Parallel()
	const want = "--out 'my runs/a' --resume"
	for name, o := range map[string]*Options{"run": {out: "my runs/a"}, "cell": {out: "my runs/a/seed=1", experimentDir: "my runs/a"}} {
		if got := o.again(); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
