package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/runs/terminal"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// terminalPlayers are the roles of a sweep that the person at the terminal plays.
type terminalPlayers []*terminal.Player

// servePlayers serves the person at the terminal for each of their roles, and sets the players'
// addresses.
// In a replay nobody plays. The addresses are part of the sweep, so the directory keeps them for a
// resumed run. leave is called when the person is gone.
func servePlayers(ctx context.Context, in io.Reader, out io.Writer, spec sweep.Spec, d *directory, leave func()) (seated terminalPlayers, err error) {
	if spec.Recording != nil {
		return nil, nil
	}
	addresses, err := d.playerAddresses()
	if err != nil {
		return nil, err
	}
	var console *terminal.Console
	for _, side := range []struct {
		role    worldv1.Role
		players []*agentgwv1.Player
	}{{worldv1.Role_ROLE_AGENT, spec.Agents}, {worldv1.Role_ROLE_USER, spec.Users}} {
		for _, p := range side.players {
			if !player.AtTerminal(p) {
				continue
			}
			if console == nil {
				console = terminal.NewConsole(in, out, leave)
			}
			player, err := terminal.Serve(ctx, console, side.role, addresses[side.role.String()])
			if errors.Is(err, terminal.ErrAddressInUse) {
				err = fmt.Errorf("--resume: the person at the terminal answers at %w: end that program, then resume", err)
			}
			if err != nil {
				return nil, errors.Join(err, seated.close())
			}
			seated = append(seated, player)
			p.GetPlugin().Address = player.Address()
			addresses[side.role.String()] = player.Address()
		}
	}
	if len(seated) == 0 {
		return nil, nil
	}
	if err := d.writePlayerAddresses(addresses); err != nil {
		return nil, errors.Join(err, seated.close())
	}
	return seated, nil
}

// playerAddresses returns the addresses of the run's earlier people; empty if there were none.
func (d *directory) playerAddresses() (map[string]string, error) {
	addresses := make(map[string]string)
	raw, err := os.ReadFile(d.playerAddressFile())
	if errors.Is(err, fs.ErrNotExist) {
		return addresses, nil
	}
	if err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	if err := json.Unmarshal(raw, &addresses); err != nil {
		return nil, fmt.Errorf("resume: read %s: %w", d.playerAddressFile(), err)
	}
	return addresses, nil
}

func (d *directory) writePlayerAddresses(addresses map[string]string) error {
	raw, err := json.Marshal(addresses)
	if err != nil {
		return fmt.Errorf("write %s: %w", d.playerAddressFile(), err)
	}
	return results.WriteFile(d.playerAddressFile(), raw)
}

func (p terminalPlayers) close() error {
	var errs []error
	for _, player := range p {
		errs = append(errs, player.Close())
	}
	return errors.Join(errs...)
}

// atTerminal returns whether a person plays.
func atTerminal(players ...*agentgwv1.Player) bool {
	return slices.ContainsFunc(players, player.AtTerminal)
}
