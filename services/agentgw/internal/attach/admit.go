package attach

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

const (
	// demandMemory is how long after its last turn a run decides who may attach under its name.
	demandMemory = time.Minute
	// maxDemands bounds the addresses that are remembered without a turn in flight.
	maxDemands = 1 << 12
	// heldTimeout bounds the question to the other replicas whether a name is held.
	heldTimeout = 5 * time.Second
)

// ErrSecretMissing means that an agent holds the name with a secret, and the player has none.
var ErrSecretMissing = errors.New("an agent with a secret is attached")

// errRefused means that a process may not play under the name. The text is for its people.
var errRefused = errors.New("refused")

// demand is the turns of one address: those in flight, and when the last one ended.
type demand struct {
	inFlight int
	last     time.Time
}

func (d *demand) current(now time.Time) bool {
	return d.inFlight > 0 || now.Sub(d.last) < demandMemory
}

// ask notes that a run asks for an agent. If it is the first to do so with a secret, streams
// without one end; a process with another secret stays, because it may be meant for another run,
// and gets no turn. The caller calls done when it does not wait any more.
func (r *Registry) ask(at Address) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	d := r.demands[at]
	if d == nil {
		if len(r.demands) >= maxDemands {
			maps.DeleteFunc(r.demands, func(_ Address, d *demand) bool { return !d.current(now) })
		}
		d = &demand{}
		r.demands[at] = d
	}
	renewed := !d.current(now)
	d.inFlight++
	if open := r.agents[Address{Name: at.Name}]; renewed && open != nil {
		if reason := r.refusal(Address{Name: at.Name}, now); reason != nil {
			for _, s := range open.streams {
				s.refuse(reason)
			}
		}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		d.inFlight--
		d.last = time.Now()
	}
}

// refusal returns why no agent may attach at an address: runs ask for its name, and none of them
// with this secret. It returns nil if no run asks for the name. The caller holds mu.
func (r *Registry) refusal(at Address, now time.Time) error {
	asked, withSecret := false, false
	for other, d := range r.demands {
		if other.Name != at.Name || !d.current(now) {
			continue
		}
		if other == at {
			return nil
		}
		asked, withSecret = true, withSecret || other.Secret != ""
	}
	switch {
	case !asked:
		return nil
	case !withSecret:
		return fmt.Errorf("agent %s %w: the runs that ask for it have no secret, but this process has a token: give it to toolsandbox run too, or attach without it", at.Name, errRefused)
	case at.Secret == "":
		return fmt.Errorf("agent %s %w: the name has a secret, but this process has no token: attach with that of the run, or under another name", at.Name, errRefused)
	default:
		return fmt.Errorf("agent %s %w: the token is not the secret of the name: attach with that of the run, or under another name", at.Name, errRefused)
	}
}

// checkHeld returns ErrSecretMissing if an agent of the name that has a secret is attached to any
// replica, and no run asks for the name without one.
func (r *Registry) checkHeld(ctx context.Context, at Address) error {
	r.mu.Lock()
	d := r.demands[at]
	asked := d != nil && d.current(time.Now())
	r.mu.Unlock()
	if asked || at.Secret != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, heldTimeout)
	defer cancel()
	_, err := r.relay.Request(ctx, heldName(at.Name), nil)
	switch {
	case errors.Is(err, bus.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return ErrSecretMissing
}
