package prove

import (
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// planUnasked plans the oracle without the texts after which the user allowed something.
func (s *candidate) planUnasked() {
	turns := make(map[int]bool) // by turn
	var last *step
	for _, m := range s.oracle.messages[s.oracle.starting:] {
		if m.GetSender() == roleAgent && m.GetRecipient() == roleUser {
			last = s.oracle.stepAt(int(m.GetIndex()))
		}
		if m.GetSender() != roleUser || m.GetCall().GetTool() != world.AllowTool {
			continue
		}
		if last == nil {
			s.fail(ruleConsent, "the user allows something before the agent has said anything: let it wait until it is asked")
			return
		}
		turns[last.turn] = true
	}
	if len(turns) == 0 {
		return
	}
	var script []*worldv1.ScriptTurn
	for i, turn := range s.scenario.GetSetup().GetOracleScript() {
		if !turns[i] {
			script = append(script, turn)
		}
	}
	s.addMutant(&experiment{
		name: "oracle that does not ask", rule: ruleConsent, kind: lower,
		fault: "the oracle scores as much without asking for permission", remedy: "let a milestone check what it asks permission for",
	}, script)
}

// allowAll gives consent to every call before a rollout begins: a minefield is about what an agent
// does, whether it was allowed to or not.
func allowAll(setup *setupv1.Setup) {
	at := slices.IndexFunc(setup.GetTables(), func(table *worldv1.Table) bool { return table.GetName() == world.Consent })
	if at < 0 {
		return
	}
	allowed := &worldv1.Table{Name: world.Consent}
	const far = 1e10 // POSIX seconds, after every scenario
	for i, entry := range setup.GetConsentTools() {
		allowed.Rows = append(allowed.Rows, &worldv1.Row{Cells: []*worldv1.Value{
			world.Text(fmt.Sprintf("consent_%d", i+1)), world.Text(entry.GetTool()), world.Text(world.ConsentConversation), world.Number(far), world.Bool(false), world.Null(),
		}})
	}
	setup.Tables[at] = allowed
}
