// Package access knows who may use the public interface of an installation, and for what: teams
// with their grants, and the tokens and certificates that name a team.
package access

import (
	"context"
	"errors"
)

// ErrToken means that a token is invalid, expired or names no team.
var ErrToken = errors.New("token refused")

// ErrNotReady means that the keys of an issuer have not been fetched yet.
var ErrNotReady = errors.New("the keys of the issuer are not there yet")

// ErrTeam means that a certificate names no team of the installation.
var ErrTeam = errors.New("no such team")

// Principal is who calls the public interface. A nil principal is a trusted peer with all rights: a
// caller in this process, or any caller of an installation without configured access. It is
// immutable.
type Principal struct {
	// Name is the subject of a token, or the name in a certificate. It is for people.
	Name string
	// Team is the name of the team.
	Team string
	// Grant is what the team may use.
	Grant Grant
}

// IsAdmin reports whether the principal sees the sweeps of all teams and has no limits.
func (p *Principal) IsAdmin() bool { return p == nil || p.Grant.Admin }

// Owns reports whether the principal may see and control what belongs to a team.
func (p *Principal) Owns(team string) bool { return p.IsAdmin() || p.Team == team }

type contextKey struct{}

// NewContext returns a context with the principal of a call.
func NewContext(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the principal of a call, nil for a trusted peer.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}
