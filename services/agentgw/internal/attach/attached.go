package attach

import (
	"context"
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// IsAttached reports whether an agent is attached to any replica, and counts as a run that asks for
// it. The error is ErrSecretMissing for an address without a secret whose name is held with one.
func (r *Registry) IsAttached(ctx context.Context, at Address) (bool, error) {
	if err := CheckName(at.Name); err != nil {
		return false, err
	}
	if err := r.checkHeld(ctx, at); err != nil {
		return false, err
	}
	r.ask(at)()
	r.mu.Lock()
	attached := r.agents[at] != nil
	r.mu.Unlock()
	if attached {
		return true, nil
	}
	_, err := r.relay.Request(ctx, at.relayName(), nil)
	if errors.Is(err, bus.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
