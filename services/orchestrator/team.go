package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// errNotGranted: the caller's team may not use something.
var errNotGranted = errors.New("not granted to the team")

// errBudget: a budget of the caller's team is used up.
var errBudget = errors.New("over the budget of the team")

// microsPerDollar converts dollars to the unit of spend limits.
const microsPerDollar = 1e6

// hostedProvider is the provider in a grant that stands for hosted services.
const hostedProvider = "services"

// checkSweep returns bus.ErrNotFound for a sweep that the caller may not see.
func checkSweep(ctx context.Context, sweep *busv1.Sweep) error {
	if access.FromContext(ctx).Owns(sweep.GetTeam()) {
		return nil
	}
	return fmt.Errorf("sweep %s: %w", sweep.GetId(), bus.ErrNotFound)
}

// checkRollout returns bus.ErrNotFound for a rollout of a sweep that the caller may not see.
func (s *server) checkRollout(ctx context.Context, rolloutID string) error {
	if access.FromContext(ctx).IsAdmin() {
		return nil
	}
	sweep, err := s.bus.Sweep(ctx, bus.SweepOf(rolloutID))
	if err != nil {
		return err
	}
	return checkSweep(ctx, sweep)
}

// claim returns the team of a sweep. A sweep without a plan is reserved for the caller's team, so
// that no other team can prepare its recordings. The error is bus.ErrExists if another team owns
// it.
func (s *server) claim(ctx context.Context, id string) (team string, err error) {
	caller := access.FromContext(ctx)
	control, err := s.bus.Control(ctx, id)
	if err == nil && control.GetDeleted() {
		err = fmt.Errorf("sweep %s was deleted: %w: choose another id", id, bus.ErrExists)
	}
	if err != nil {
		return "", err
	}
	sweep, err := s.bus.Sweep(ctx, id)
	switch {
	case err == nil:
		team = sweep.GetTeam()
	case !errors.Is(err, bus.ErrNotFound):
		return "", err
	case caller == nil:
		return "", nil
	default:
		err = s.bus.UpdateControl(ctx, id, func(control *busv1.SweepControl) bool {
			if team = control.GetTeam(); team != "" {
				return false
			}
			team, control.Team = caller.Team, caller.Team
			return true
		})
	}
	if err == nil && !caller.Owns(team) {
		err = fmt.Errorf("sweep %s is another team's: %w: choose another id", id, bus.ErrExists)
	}
	return team, err
}

// checkGrant checks that the caller's team may use the players, the hosted services and the tool
// servers of a sweep.
func checkGrant(ctx context.Context, spec *orchestratorv1.SweepSpec) error {
	for _, players := range [][]*agentgwv1.Player{spec.GetAgents(), spec.GetUsers()} {
		for _, player := range players {
			if err := checkPlayerGrant(ctx, player); err != nil {
				return err
			}
		}
	}
	caller := access.FromContext(ctx)
	if caller.IsAdmin() {
		return nil
	}
	if isHosted(spec) && !access.Has(caller.Grant.Providers, hostedProvider) {
		return fmt.Errorf("hosted services: provider %q: %w %s", hostedProvider, errNotGranted, caller.Team)
	}
	for _, scenario := range spec.GetScenarios() {
		for _, server := range scenario.GetSetup().GetToolServers() {
			if !access.Has(caller.Grant.ToolServers, server.GetName()) {
				return fmt.Errorf("scenario %s: tool server %q: %w %s", scenario.GetSetup().GetName(), server.GetName(), errNotGranted, caller.Team)
			}
		}
	}
	return checkParallel(ctx, spec)
}

// isHosted reports whether tools of a sweep send requests to hosted services, with the operator's
// key.
func isHosted(spec *orchestratorv1.SweepSpec) bool {
	source := spec.GetHostedServices()
	return source == toolhostv1.HostedServices_HOSTED_SERVICES_LIVE || source == toolhostv1.HostedServices_HOSTED_SERVICES_RECORD
}

// checkParallel checks the concurrent rollouts of a sweep of the caller's team.
func checkParallel(ctx context.Context, spec *orchestratorv1.SweepSpec) error {
	caller := access.FromContext(ctx)
	if caller.IsAdmin() {
		return nil
	}
	if most := caller.Grant.Parallel; most > 0 && spec.GetParallel() > most {
		return fmt.Errorf("%d concurrent rollouts: %w %s, which has %d: give a lower --parallel", spec.GetParallel(), errNotGranted, caller.Team, most)
	}
	return nil
}

// checkPlayerGrant checks that the caller's team may use a player. Without a token any process may
// answer under the name of an attached agent, so a team's needs one.
func checkPlayerGrant(ctx context.Context, player *agentgwv1.Player) error {
	caller := access.FromContext(ctx)
	if caller.IsAdmin() {
		return nil
	}
	var provider string
	switch plugin := player.GetPlugin(); {
	case player.GetModel() != nil:
		provider = player.GetModel().GetProvider()
	case plugin == nil:
		return nil
	case plugin.GetAddress() != "":
		provider = "plugin"
	case plugin.GetSecretDigest() == "":
		return fmt.Errorf("player %s: an attached agent without a token is %w: give --attach-token-file", player.GetName(), errNotGranted)
	default:
		provider = "attached"
	}
	if access.Has(caller.Grant.Providers, provider) {
		return nil
	}
	return fmt.Errorf("player %s: provider %q: %w %s", player.GetName(), provider, errNotGranted, caller.Team)
}

// parallel returns the concurrent rollouts of a sweep per orchestrator, 0 for its default.
func parallel(ctx context.Context, spec *orchestratorv1.SweepSpec) int32 {
	if caller := access.FromContext(ctx); spec.GetParallel() == 0 && !caller.IsAdmin() {
		return caller.Grant.Parallel
	}
	return spec.GetParallel()
}

// budget is what sweeps count against the budgets of their team.
type budget struct{ rollouts, micros, tokens int64 }

// add adds a sweep. A sum that is too large for its type stays at the largest number.
func (b *budget) add(control *busv1.SweepControl) {
	limit := bus.LargestLimit(control)
	for sum, n := range map[*int64]int64{&b.rollouts: control.GetRollouts(), &b.micros: limit.GetCostMicros(), &b.tokens: limit.GetTokens()} {
		*sum += min(n, math.MaxInt64-*sum)
	}
}

// budgetCheck returns the check that a sweep fits into the budgets of the caller's team beside the
// team's other sweeps, nil if the team has no budget. Of each sweep the largest limit counts that
// it has had.
func (s *server) budgetCheck(ctx context.Context, id string) func(*busv1.SweepControl) error {
	caller := access.FromContext(ctx)
	if caller.IsAdmin() || caller.Grant.Spend == 0 && caller.Grant.Tokens == 0 && caller.Grant.Rollouts == 0 {
		return nil
	}
	grant := caller.Grant
	return func(control *busv1.SweepControl) error {
		switch limit := control.GetSpendLimit(); {
		case grant.Spend > 0 && limit.GetCostMicros() == 0:
			return fmt.Errorf("%w: its sweeps need a limit: give --spend-usd", errBudget)
		case grant.Tokens > 0 && limit.GetTokens() == 0:
			return fmt.Errorf("%w: its sweeps need a limit: give --spend-tokens", errBudget)
		}
		var used budget
		used.add(control)
		err := s.bus.VisitControls(ctx, func(other string, control *busv1.SweepControl) {
			if other != id && control.GetTeam() == caller.Team {
				used.add(control)
			}
		})
		switch {
		case err != nil:
			return err
		case grant.Rollouts > 0 && used.rollouts > grant.Rollouts:
			return fmt.Errorf("%w %s: %d rollouts with this sweep, %d granted", errBudget, caller.Team, used.rollouts, grant.Rollouts)
		case grant.Spend > 0 && float64(used.micros) > grant.Spend*microsPerDollar:
			return fmt.Errorf("%w %s: spend limits of $%.2f with this sweep, $%.2f granted", errBudget, caller.Team, float64(used.micros)/microsPerDollar, grant.Spend)
		case grant.Tokens > 0 && used.tokens > grant.Tokens:
			return fmt.Errorf("%w %s: limits of %d tokens with this sweep, %d granted", errBudget, caller.Team, used.tokens, grant.Tokens)
		}
		return nil
	}
}
