package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/human"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/sweep"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// people are the roles of a sweep that the person at the terminal plays.
type people []*human.Player

// seat serves the person at the terminal for each role that they play, and tells the players where. In a replay nobody plays.
func seat(ctx context.Context, in io.Reader, out io.Writer, spec sweep.Spec) (people, error) {
	if spec.Recording != nil {
		return nil, nil
	}
	var seated people
	var console *human.Console
	for _, side := range []struct {
		role    worldv1.Role
		players []*agentgwv1.Player
	}{{worldv1.Role_ROLE_AGENT, spec.Agents}, {worldv1.Role_ROLE_USER, spec.Users}} {
		for _, p := range side.players {
			if _, ok := player.AtTerminal(p); !ok {
				continue
			}
			if console == nil {
				console = human.NewConsole(in, out)
			}
			served, err := human.Serve(ctx, console, side.role)
			if err != nil {
				return nil, errors.Join(err, seated.close())
			}
			seated = append(seated, served)
			p.GetPlugin().Address = served.Address()
		}
	}
	return seated, nil
}

func (p people) close() error {
	var errs []error
	for _, player := range p {
		errs = append(errs, player.Close())
	}
	return errors.Join(errs...)
}

// atTerminal says whether a person plays, and how long a turn may then take.
func atTerminal(players ...*agentgwv1.Player) (timeout time.Duration, ok bool) {
	for _, p := range players {
		if timeout, ok := player.AtTerminal(p); ok {
			return timeout, true
		}
	}
	return 0, false
}
