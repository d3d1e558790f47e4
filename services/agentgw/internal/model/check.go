package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/httpclient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrNotConfigured means that the environment or the player has to change before the model can be
// asked.
var ErrNotConfigured = errors.New("cannot be asked")

// ErrUnreachable means that nothing accepts connections at the model's address.
var ErrUnreachable = errors.New("cannot be reached")

// Check checks that a model's key is set and that its address accepts connections. It sends no
// request. Errors: ErrNotConfigured, ErrUnreachable, with a remedy.
func (p *Player) Check(ctx context.Context, model *agentgwv1.Model, limit time.Duration) error {
	spec, err := p.spec(model)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotConfigured, err)
	}
	resolving, done := context.WithTimeout(ctx, limit) // a token may need a request
	defer done()
	to, err := p.endpoint(resolving, spec, model.GetBaseUrl())
	if err != nil {
		return fmt.Errorf("%w: %w (with --remote: where the agent gateway runs)", ErrNotConfigured, err)
	}
	if err := p.client.Probe(ctx, to.BaseURL, limit); err != nil {
		do := "start its server or correct --base-url"
		if to.Official {
			do = "look after the network, or name a proxy in HTTPS_PROXY"
		}
		return fmt.Errorf("%w at %s: %s: %s", ErrUnreachable, to.BaseURL, httpclient.Redact([]byte(err.Error()), to.Secret), do)
	}
	return nil
}

// spec returns a model's provider.
func (p *Player) spec(model *agentgwv1.Model) (*provider.Spec, error) {
	spec, ok := providers.Named(p.cfg.Providers, model.GetProvider())
	if !ok {
		return nil, fmt.Errorf("unknown provider %q, expected one of %s", model.GetProvider(), strings.Join(providers.Names(p.cfg.Providers), ", "))
	}
	return spec, nil
}

// CanPlay reports whether a model can play a role. Respond reports an unknown provider.
func (p *Player) CanPlay(model *agentgwv1.Model, role worldv1.Role) bool {
	spec, err := p.spec(model)
	return err != nil || slices.Contains(spec.Roles, role)
}

// endpoint returns the address of a model, or an error if this gateway does not allow it.
func (p *Player) endpoint(ctx context.Context, spec *provider.Spec, base string) (provider.Endpoint, error) {
	if base != "" && !p.allows(spec, base) {
		return provider.Endpoint{}, fmt.Errorf("base URL %q is not among those that this gateway allows: its operator lists them in --agentgw-model-base-urls", base)
	}
	return spec.Endpoint(ctx, p.cfg.Getenv, base)
}

// AnyBaseURL in Config.BaseURLs allows every address.
const AnyBaseURL = "*"

// allows reports whether the gateway may send a provider's key to an address: that of its
// environment, those that its operator lists, and the official ones of providers with this key.
func (p *Player) allows(spec *provider.Spec, base string) bool {
	same := func(allowed string) bool {
		return allowed != "" && strings.TrimRight(allowed, "/") == strings.TrimRight(base, "/")
	}
	if slices.Contains(p.cfg.BaseURLs, AnyBaseURL) || slices.ContainsFunc(p.cfg.BaseURLs, same) || same(p.cfg.Getenv(spec.BaseURLVariable())) {
		return true
	}
	return slices.ContainsFunc(p.cfg.Providers, func(other provider.Spec) bool {
		return other.BaseURLVariable() == spec.BaseURLVariable() && same(other.Address.BaseURL)
	})
}
