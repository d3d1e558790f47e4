// Package computed plays the players whose turns are functions of the rollout so far: scripted
// players, the unhelpful agent and the random one. Nobody outside the orchestrator is asked for
// their turns, and none is recorded.
package computed

import (
	"fmt"
	"runtime/debug"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Position is where a role is to speak.
type Position struct {
	Role worldv1.Role
	// Index is the index of the first new message.
	Index int32
	// Turn is the number of turns that the role has taken, without demonstrations.
	Turn int
	// Scripted is the coming turn of the scenario's script, nil after its end.
	Scripted *worldv1.ScriptTurn
	// View returns the messages visible to the role, in order.
	View func() []*worldv1.Message
	// Tools are the role's.
	Tools *turn.Tools
	// Seed is the rollout's.
	Seed int64
	// Compat reports a call that the original refuses as its exception.
	Compat bool
}

func (p *Position) composer() turn.Composer {
	return turn.Composer{Role: p.Role, Index: p.Index, Compat: p.Compat}
}

// Plays reports whether a player is computed.
func Plays(player *agentgwv1.Player) bool {
	switch player.GetKind().(type) {
	case *agentgwv1.Player_Scripted, *agentgwv1.Player_Unhelpful, *agentgwv1.Player_Random:
		return true
	}
	return false
}

// PanicError is a panic while a turn was computed. A turn is a function that changes nothing and
// holds no lock, so its panic leaves nothing half-done. It would end each worker that gets the
// rollout, one after another.
type PanicError struct {
	Player string
	Reason any
	Stack  []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("the turn of %s panicked, which is a fault of the program: %v", e.Player, e.Reason)
}

// Turn plays the next turn. Safe for concurrent use. The error is a *turn.Mistake or a *PanicError,
// or says that the player cannot play the role.
func Turn(player *agentgwv1.Player, p *Position) (messages []*worldv1.Message, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			messages, err = nil, &PanicError{player.GetName(), reason, debug.Stack()}
		}
	}()
	if p.Role != worldv1.Role_ROLE_AGENT && player.GetScripted() == nil {
		return nil, fmt.Errorf("%s cannot play the %s", player.GetName(), world.RoleName(p.Role))
	}
	switch kind := player.GetKind().(type) {
	case *agentgwv1.Player_Scripted:
		return scripted(kind.Scripted, p)
	case *agentgwv1.Player_Random:
		return random(kind.Random, p)
	default:
		return p.composer().Say(noHelp), nil
	}
}
