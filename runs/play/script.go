package play

import (
	"errors"
	"io"

	"github.com/toolsandbox/toolsandbox/internal/process"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// scriptedRole is a role that a scenario's own script can play.
type scriptedRole struct {
	flag    string
	players []*agentgwv1.Player
	script  func(*setupv1.Setup) []*worldv1.ScriptTurn
	// lacks names what a scenario lacks, the consequence, and alternative players.
	lacks, so, instead string
}

// userFlag names the user's player.
const userFlag = "--user"

// checkScripts rejects players of the scenarios' own scripts if no scenario has one, and warns if
// some have none.
func checkScripts(spec sweep.Spec, stderr io.Writer) error {
	if spec.Recording != nil {
		return nil
	}
	return errors.Join(
		scriptedRole{"--agent", spec.Agents, (*setupv1.Setup).GetOracleScript, "solution", "their agent does nothing", "grpc://localhost:9000"}.check(spec, stderr),
		scriptedRole{userFlag, spec.Users, (*setupv1.Setup).GetUserScript, "script for the user", "their user ends the conversation after the agent's first answer", "openai:gpt-4o"}.check(spec, stderr),
	)
}

func (p scriptedRole) check(spec sweep.Spec, stderr io.Writer) error {
	for _, player := range p.players {
		if player.GetScripted().GetSource() != agentgwv1.Scripted_SOURCE_SCENARIO {
			continue
		}
		var without []string
		for _, scenario := range spec.Scenarios {
			if scenario.GetSetup().GetFunctionCalling() != nil && p.flag == userFlag { // a record's user says nothing more
				continue
			}
			if len(p.script(scenario.GetSetup())) == 0 {
				without = append(without, scenario.GetSetup().GetName())
			}
		}
		switch n, all := len(without), len(spec.Scenarios); {
		case n == 0:
		case n == all:
			return process.UsageErrorf("%s %s: none of the scenarios (%d) has a %s: name another one, e.g. %s %s", p.flag, player.GetName(), n, p.lacks, p.flag, p.instead)
		default:
			if err := report.Warn(stderr, "%s %s: %d of %d scenarios have no %s, %s among them: %s", p.flag, player.GetName(), n, all, p.lacks, without[0], p.so); err != nil {
				return err
			}
		}
	}
	return nil
}
