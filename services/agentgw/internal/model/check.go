package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/wire"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// ErrUnset says that a model cannot be asked before the environment or the player is another one.
var ErrUnset = errors.New("cannot be asked")

// ErrUnreachable says that nothing takes connections at a model's address.
var ErrUnreachable = errors.New("cannot be reached")

// Check says whether a model can be asked: its key is there and its address takes connections.
// Nothing is sent. Errors: ErrUnset, ErrUnreachable, with what to do.
func (p *Player) Check(ctx context.Context, model *agentgwv1.Model, limit time.Duration) error {
	spec, err := p.spec(model)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnset, err)
	}
	hasty, done := context.WithTimeout(ctx, limit) // a token may need a request
	defer done()
	to, err := p.endpoint(hasty, spec, model.GetBaseUrl())
	if err != nil {
		return fmt.Errorf("%w: %w (with --remote: where the agent gateway runs)", ErrUnset, err)
	}
	if err := p.client.Reach(ctx, to.BaseURL, limit); err != nil {
		do := "start its server or correct --base-url"
		if to.Own {
			do = "look after the network, or name a proxy in HTTPS_PROXY"
		}
		return fmt.Errorf("%w at %s: %s: %s", ErrUnreachable, to.BaseURL, wire.Hide([]byte(err.Error()), to.Secret), do)
	}
	return nil
}

// spec returns a model's provider.
func (p *Player) spec(model *agentgwv1.Model) (*provider.Spec, error) {
	spec, known := providers.Named(p.cfg.Providers, model.GetProvider())
	if !known {
		return nil, fmt.Errorf("unknown provider %q, expected one of %s", model.GetProvider(), strings.Join(providers.Names(p.cfg.Providers), ", "))
	}
	return spec, nil
}

// endpoint returns where a model is asked, if this gateway asks there.
func (p *Player) endpoint(ctx context.Context, spec *provider.Spec, base string) (provider.Endpoint, error) {
	if base != "" && len(p.cfg.BaseURLs) > 0 && !slices.Contains(p.cfg.BaseURLs, base) {
		return provider.Endpoint{}, fmt.Errorf("base URL %q is not among those that this gateway allows", base)
	}
	return spec.Endpoint(ctx, p.cfg.Getenv, base)
}
