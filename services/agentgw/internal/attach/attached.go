package attach

import (
	"context"
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// IsAttached reports whether an agent of the name is attached to any replica.
func (r *Registry) IsAttached(ctx context.Context, name string) (bool, error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	r.mu.Lock()
	attached := r.agents[name] != nil
	r.mu.Unlock()
	if attached {
		return true, nil
	}
	_, err := r.relay.Request(ctx, name, nil)
	if errors.Is(err, bus.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
