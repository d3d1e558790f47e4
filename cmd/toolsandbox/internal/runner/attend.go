package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/report"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/sweep"
	"github.com/toolsandbox/toolsandbox/internal/runfiles"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// defaultWait is how long a run waits for its players; it covers an agent that has just
	// started.
	defaultWait = 3 * time.Second
	// checkAgain is the pause between checks of an unreachable player.
	checkAgain = 500 * time.Millisecond
	// checkTimeout is the timeout of one check; it covers the restart of a service.
	checkTimeout = time.Minute
)

// seated is a player and its flag.
type seated struct {
	flag   string
	player *agentgwv1.Player
}

// attendance checks the players of a sweep before anything is played. The gateway answers, because
// it has the keys and the network.
type attendance struct {
	client agentgwv1.PlayerCheckServiceClient
	// wait is the longest wait for an unreachable player.
	wait   time.Duration
	stderr io.Writer
}

// attend returns when all players of the sweep can play, or an error that names what is missing. It
// checks nobody for a replay, or for a completely played run.
func (o *Options) attend(ctx context.Context, orchestrator grpc.ClientConnInterface, planned *sweep.Sweep, spec sweep.Spec, record *runfiles.Run, stderr io.Writer) error {
	if spec.Recording != nil {
		return nil
	}
	if o.resume && len(record.Damaged()) == 0 {
		if played, err := planned.Played(ctx, record.SweepID); err != nil || played {
			return err
		}
	}
	a := &attendance{client: agentgwv1.NewPlayerCheckServiceClient(orchestrator), wait: o.wait, stderr: stderr}
	var all []seated
	for _, p := range spec.Agents {
		all = append(all, seated{"--agent", p})
	}
	for _, p := range spec.Users {
		all = append(all, seated{"--user", p})
	}
	return a.await(ctx, all)
}

// await checks players until all of them are reachable.
func (a *attendance) await(ctx context.Context, absent []seated) error {
	var until time.Time
	for {
		var missing error
		var err error
		if absent, missing, err = a.check(ctx, absent); err != nil || len(absent) == 0 {
			return err
		}
		now := time.Now()
		if until.IsZero() {
			until = now.Add(a.wait)
			if err := a.tell(missing); err != nil {
				return err
			}
		}
		if !now.Before(until) {
			return fmt.Errorf("%w; --wait 5m waits longer than %s", missing, a.wait)
		}
		timer := time.NewTimer(min(checkAgain, time.Until(until)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// tell reports a wait that takes longer than usual.
func (a *attendance) tell(missing error) error {
	if a.wait <= defaultWait {
		return nil
	}
	return report.Warn(a.stderr, "%s; waiting for up to %s", missing, a.wait)
}

// check checks all players concurrently. It returns the unreachable ones with what is missing. The
// error is one that waiting does not fix.
func (a *attendance) check(ctx context.Context, players []seated) (absent []seated, missing, err error) {
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
	var hopeless []error
	for i, p := range players {
		v := <-verdicts[i]
		reason := fmt.Errorf("%s %s: %s", p.flag, p.player.GetName(), v.answer.GetDetail())
		switch v.answer.GetState() {
		case agentgwv1.CheckPlayerResponse_STATE_READY:
		case agentgwv1.CheckPlayerResponse_STATE_AWAITED:
			if err := report.Warn(a.stderr, "%s", reason); err != nil {
				hopeless = append(hopeless, err)
			}
		case agentgwv1.CheckPlayerResponse_STATE_UNREACHABLE:
			absent, missing = append(absent, p), errors.Join(missing, reason)
		case agentgwv1.CheckPlayerResponse_STATE_UNUSABLE:
			hopeless = append(hopeless, reason)
		default:
			hopeless = append(hopeless, fmt.Errorf("check %s %s: %s", p.flag, p.player.GetName(), status.Convert(v.err).Message()))
		}
	}
	return absent, missing, errors.Join(hopeless...)
}
