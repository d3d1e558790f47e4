package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/pause"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

const (
	// defaultWait is how long a run waits for its players; it covers an agent that has just
	// started.
	defaultWait = 3 * time.Second
	// checkInterval is the interval between checks of an unreachable player.
	checkInterval = 500 * time.Millisecond
	// checkTimeout is the timeout of one check; it covers the restart of a service.
	checkTimeout = time.Minute
)

// flaggedPlayer is a player with the flag that names it.
type flaggedPlayer struct {
	flag   string
	player *agentgwv1.Player
}

// playerCheck checks the players of a sweep before the first rollout. The gateway answers, because
// it has the keys and the network.
type playerCheck struct {
	client agentgwv1.PlayerCheckServiceClient
	// wait is the longest wait for an unreachable player.
	wait   time.Duration
	stderr io.Writer
	// unpriced are the ready models whose price is unknown.
	unpriced []flaggedPlayer
}

// checkPlayers returns when all players of the sweep are usable. The error names what is missing.
// It warns of models without a price. For a replay it checks none.
func (o *Options) checkPlayers(ctx context.Context, orchestrator grpc.ClientConnInterface, spec sweep.Spec, stderr io.Writer) error {
	if spec.Recording != nil {
		return nil
	}
	a := &playerCheck{client: agentgwv1.NewPlayerCheckServiceClient(orchestrator), wait: o.wait, stderr: stderr}
	if err := a.await(ctx, playersOf(spec)); err != nil {
		return err
	}
	return o.spend.checkPrices(a.unpriced, stderr)
}

// playersOf returns the players of a sweep.
func playersOf(spec sweep.Spec) []flaggedPlayer {
	var all []flaggedPlayer
	for _, p := range spec.Agents {
		all = append(all, flaggedPlayer{"--agent", p})
	}
	for _, p := range spec.Users {
		all = append(all, flaggedPlayer{"--user", p})
	}
	return all
}

// await checks players until all of them are reachable. It fails after the maximum wait.
func (a *playerCheck) await(ctx context.Context, unreachable []flaggedPlayer) error {
	var deadline time.Time
	for {
		var missing error
		var err error
		if unreachable, missing, err = a.check(ctx, unreachable); err != nil || len(unreachable) == 0 {
			return err
		}
		now := time.Now()
		if deadline.IsZero() {
			deadline = now.Add(a.wait)
			if a.wait > defaultWait {
				if err := report.Warn(a.stderr, "%s; waiting for up to %s", missing, a.wait); err != nil {
					return err
				}
			}
		}
		if !now.Before(deadline) {
			return fmt.Errorf("%w; --wait 5m waits longer than %s", missing, a.wait)
		}
		if !pause.For(ctx, min(checkInterval, time.Until(deadline))) {
			return ctx.Err()
		}
	}
}

// check checks all players concurrently. It returns the unreachable ones with what is missing. The
// error lists players that no wait makes usable.
func (a *playerCheck) check(ctx context.Context, players []flaggedPlayer) (unreachable []flaggedPlayer, missing, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	type verdict struct {
		answer *agentgwv1.CheckPlayerResponse
		err    error
	}
	verdicts := make([]chan verdict, len(players))
	for i := range players {
		verdicts[i] = make(chan verdict, 1)
		go func() {
			answer, err := a.client.CheckPlayer(ctx, &agentgwv1.CheckPlayerRequest{Player: players[i].player})
			verdicts[i] <- verdict{answer, err}
		}()
	}
	var failures []error
	for i, p := range players {
		v := <-verdicts[i]
		if v.answer.GetPriceUnknown() && v.answer.GetState() == agentgwv1.CheckPlayerResponse_STATE_READY {
			a.unpriced = append(a.unpriced, p)
		}
		reason := fmt.Errorf("%s %s: %s", p.flag, p.player.GetName(), v.answer.GetDetail())
		switch v.answer.GetState() {
		case agentgwv1.CheckPlayerResponse_STATE_READY:
		case agentgwv1.CheckPlayerResponse_STATE_AWAITED:
			if err := report.Warn(a.stderr, "%s", reason); err != nil {
				failures = append(failures, err)
			}
		case agentgwv1.CheckPlayerResponse_STATE_UNREACHABLE:
			unreachable, missing = append(unreachable, p), errors.Join(missing, reason)
		case agentgwv1.CheckPlayerResponse_STATE_UNUSABLE:
			failures = append(failures, reason)
		default:
			failures = append(failures, fmt.Errorf("check %s %s: %s", p.flag, p.player.GetName(), status.Convert(v.err).Message()))
		}
	}
	return unreachable, missing, errors.Join(failures...)
}
