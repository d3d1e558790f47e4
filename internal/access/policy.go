package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/toolsandbox/toolsandbox/internal/bom"
)

// maxToken bounds the bytes of a token.
const maxToken = 16 << 10

// Grant is what a team may use. Lists name what is granted, and "*" grants all; without a list
// nothing is. A budget of 0 is no limit.
type Grant struct {
	// Admin sees the sweeps of all teams, and has no limits.
	Admin bool `yaml:"admin"`
	// Members are subjects of tokens that name no team themselves.
	Members []string `yaml:"members"`
	// Providers are those of models, plugin and attached for agents of one's own, and services for
	// hosted services that are asked. Players that the program computes need no grant.
	Providers []string `yaml:"providers"`
	// ToolServers are the tool servers that packs may use.
	ToolServers []string `yaml:"tool_servers"`
	// Spend is the sum of the spend limits of the team's sweeps, in US dollars.
	Spend float64 `yaml:"spend"`
	// Tokens is the sum of the token limits of the team's sweeps.
	Tokens int64 `yaml:"tokens"`
	// Rollouts is the number of rollouts of all the team's sweeps.
	Rollouts int64 `yaml:"rollouts"`
	// Parallel is the number of concurrent rollouts of one sweep per orchestrator.
	Parallel int32 `yaml:"parallel"`
}

// Has reports whether a list of a grant contains a name.
func Has(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, "*")
}

// document is the settings file.
type document struct {
	Issuers []issuerConfig   `yaml:"issuers"`
	Tokens  []tokenConfig    `yaml:"tokens"`
	Teams   map[string]Grant `yaml:"teams"`
}

// tokenConfig is a static token, by the hex SHA-256 of its text.
type tokenConfig struct {
	SHA256 string `yaml:"sha256"`
	Name   string `yaml:"name"`
	Team   string `yaml:"team"`
}

// Policy says who may use an installation. Safe for concurrent use.
type Policy struct {
	teams   map[string]Grant
	members map[string]string // teams by subject
	tokens  map[[sha256.Size]byte]*Principal
	issuers []*issuer
}

var validTeam = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Load reads a policy from a YAML file, and the keys of issuers that are files. It fetches nothing.
func Load(path string) (*Policy, error) {
	raw, err := bom.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read access: %w", err)
	}
	var from document
	if err := yaml.UnmarshalWithOptions(raw, &from, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p, err := newPolicy(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func newPolicy(from document) (*Policy, error) {
	if len(from.Teams) == 0 {
		return nil, errors.New("teams: expected at least one")
	}
	p := &Policy{teams: from.Teams, members: make(map[string]string), tokens: make(map[[sha256.Size]byte]*Principal)}
	for name, grant := range from.Teams {
		if err := p.addTeam(name, grant); err != nil {
			return nil, fmt.Errorf("teams.%s: %w", name, err)
		}
	}
	for i, token := range from.Tokens {
		if err := p.addToken(token); err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
	}
	for i, cfg := range from.Issuers {
		added, err := newIssuer(cfg)
		if err != nil {
			return nil, fmt.Errorf("issuers[%d]: %w", i, err)
		}
		p.issuers = append(p.issuers, added)
	}
	return p, nil
}

func (p *Policy) addTeam(name string, grant Grant) error {
	if !validTeam.MatchString(name) {
		return errors.New("expected a name of lower-case letters, digits and -")
	}
	if !(grant.Spend >= 0) || grant.Tokens < 0 || grant.Rollouts < 0 || grant.Parallel < 0 {
		return errors.New("a budget is below 0")
	}
	for _, member := range grant.Members {
		if other, ok := p.members[member]; ok {
			return fmt.Errorf("member %q is in team %s too", member, other)
		}
		p.members[member] = name
	}
	return nil
}

func (p *Policy) addToken(token tokenConfig) error {
	digest, err := hex.DecodeString(token.SHA256)
	if err != nil || len(digest) != sha256.Size {
		return errors.New("sha256: expected the hex SHA-256 of a token")
	}
	principal, err := p.Member(token.Team, token.Name)
	if err != nil {
		return err
	}
	if other, ok := p.tokens[[sha256.Size]byte(digest)]; ok {
		return fmt.Errorf("sha256: the token is that of %q in team %s too", other.Name, other.Team)
	}
	p.tokens[[sha256.Size]byte(digest)] = principal
	return nil
}

// Member returns the principal of a member of a team. The error is ErrTeam.
func (p *Policy) Member(team, name string) (*Principal, error) {
	grant, ok := p.teams[team]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrTeam, team)
	}
	return &Principal{Name: name, Team: team, Grant: grant}, nil
}

// OfToken returns the principal of a bearer token. It does not wait for issuers. The errors are
// ErrToken and ErrNotReady; they do not repeat the token.
func (p *Policy) OfToken(ctx context.Context, token string) (*Principal, error) {
	if len(token) == 0 || len(token) > maxToken {
		return nil, fmt.Errorf("%w: it has %d bytes, expected 1 to %d", ErrToken, len(token), maxToken)
	}
	if principal, ok := p.tokens[sha256.Sum256([]byte(token))]; ok {
		return principal, nil
	}
	err := fmt.Errorf("%w: it is neither a known token nor one of a known issuer", ErrToken)
	for _, issuer := range p.issuers {
		if !issuer.issued(token) {
			continue
		}
		var subject string
		var named []string
		if subject, named, err = issuer.verify(ctx, token); err == nil {
			return p.ofClaims(subject, named)
		}
	}
	return nil, err
}

// ofClaims returns the principal of a verified token, by the one team that it names or else by its
// subject.
func (p *Policy) ofClaims(subject string, named []string) (*Principal, error) {
	named = slices.DeleteFunc(named, func(team string) bool { _, ok := p.teams[team]; return !ok })
	slices.Sort(named)
	switch named = slices.Compact(named); {
	case len(named) > 1:
		return nil, fmt.Errorf("%w: %q is in several teams: %q", ErrToken, subject, named)
	case len(named) == 1:
		return p.Member(named[0], subject)
	case p.members[subject] == "":
		return nil, fmt.Errorf("%w: %q is in no team", ErrToken, subject)
	}
	return p.Member(p.members[subject], subject)
}

// Run keeps the keys of issuers current until ctx is done.
func (p *Policy) Run(ctx context.Context, logger *slog.Logger) {
	var group sync.WaitGroup
	for _, issuer := range p.issuers {
		group.Go(func() { issuer.follow(ctx, logger) })
	}
	group.Wait()
}
