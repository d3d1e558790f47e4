// Package player parses the values of --agent and --user into players for the gateway's requests,
// and lists the possible values.
package player

import (
	"cmp"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxName is the longest player name in characters, as in the proto.
const maxName = 100

const (
	agent = worldv1.Role_ROLE_AGENT
	user  = worldv1.Role_ROLE_USER
)

// AttachedName matches names of attached agents. A name is also one token of a NATS subject.
var AttachedName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// pattern is one way to name a player.
type pattern struct {
	name        string // as listed: fixed text, then the variable part in capitals
	prefix      string // fixed text before the variable part; empty if there is none
	description string
	roles       []worldv1.Role
	parse       func(rest string) (*agentgwv1.Player, error)
}

// patterns returns all patterns, sorted by name.
func patterns() []pattern {
	list := slices.Concat([]pattern{
		{"attached:NAME", "attached:", "Your own program, attached to the gateway at --attach-listen.", []worldv1.Role{agent, user}, parseAttached},
		{"Cli", "", "You, at this terminal.", []worldv1.Role{agent, user}, parseTerminal},
		{"cli", "", "You, at this terminal.", []worldv1.Role{agent, user}, parseTerminal},
		{"grpc://HOST:PORT", "grpc://", "Your own program, served with toolsandbox.agent.v1.AgentService.", []worldv1.Role{agent, user}, parsePlugin},
		{"grpcs://HOST:PORT", "grpcs://", "The same with TLS.", []worldv1.Role{agent, user}, parseSecurePlugin},
		{"oracle", "", "Plays the scenario's own solution.", []worldv1.Role{agent}, parseScenario},
		{"random", "", "Calls random tools with random arguments of the right types.", []worldv1.Role{agent}, parseUnseeded},
		{"random:SEED", "random:", "Like random, with a seed of its own.", []worldv1.Role{agent}, parseRandom},
		{"scripted", "", "Plays the scenario's own user script.", []worldv1.Role{user}, parseScenario},
		{"scripted:FILE", "scripted:", "Plays the turns of a YAML or JSON file, the same for every scenario.", []worldv1.Role{user, agent}, parseFile},
		{"unhelpful", "", "Always says that it cannot help.", []worldv1.Role{agent}, parseUnhelpful},
	}, modelPatterns())
	slices.SortFunc(list, func(a, b pattern) int { return cmp.Compare(a.name, b.name) })
	return list
}

// Info describes one pattern.
type Info struct {
	// Name is fixed text, then the variable part in capitals.
	Name        string
	Description string
	// Roles are the roles that such a player can play.
	Roles []worldv1.Role
}

// List returns all patterns, sorted by name.
func List() []Info {
	var list []Info
	for _, f := range patterns() {
		list = append(list, Info{Name: f.name, Description: f.description, Roles: f.roles})
	}
	return list
}

// Parse parses a player for one role (AGENT or USER). It reads the file of scripted:FILE. The error
// says what was expected. An error in a file starts with file:line:column.
func Parse(role worldv1.Role, text string) (*agentgwv1.Player, error) {
	for _, f := range patterns() {
		if rest, ok := f.match(text); ok {
			if !slices.Contains(f.roles, role) {
				return nil, fmt.Errorf("player %q cannot play the %s; expected one of %s", text, roleText(role), strings.Join(names(role), ", "))
			}
			p, err := f.parse(rest)
			if err != nil {
				return nil, fmt.Errorf("player %q: %w", text, err)
			}
			p.Name = shortName(text)
			return p, nil
		}
	}
	var all []string
	for _, f := range patterns() {
		if slices.Contains(f.roles, role) {
			all = append(all, f.name)
		}
	}
	if meant := hint(text, all); meant != "" {
		return nil, fmt.Errorf("unknown %s %q; %s", roleText(role), text, meant)
	}
	return nil, fmt.Errorf("unknown %s %q; expected one of %s", roleText(role), text, strings.Join(names(role), ", "))
}

// match returns the variable part of text if text matches the pattern.
func (f pattern) match(text string) (rest string, ok bool) {
	if f.prefix == "" {
		return "", text == f.name
	}
	return strings.CutPrefix(text, f.prefix)
}

func roleText(role worldv1.Role) string { return strings.ToLower(world.RoleName(role)) }

// alias reports whether the pattern is a name of the original. Those begin with a capital.
func (f pattern) alias() bool { return unicode.IsUpper(rune(f.name[0])) }

// names returns the patterns of a role without the original's names, which are aliases.
func names(role worldv1.Role) []string {
	var known []string
	for _, f := range patterns() {
		if slices.Contains(f.roles, role) && !f.alias() {
			known = append(known, f.name)
		}
	}
	return known
}

// shortName bounds a name as the proto does. A long path keeps its last part.
func shortName(text string) string {
	runes := []rune(strings.ToValidUTF8(text, "?"))
	if len(runes) <= maxName {
		return string(runes)
	}
	if path, ok := strings.CutPrefix(text, "scripted:"); ok {
		runes = []rune("scripted:" + strings.ToValidUTF8(filepath.Base(path), "?"))
	}
	return string(runes[:min(len(runes), maxName)])
}

func parseScenario(string) (*agentgwv1.Player, error) {
	return scripted(&agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_SCENARIO}), nil
}

func parseFile(path string) (*agentgwv1.Player, error) {
	turns, err := readTurns(path)
	if err != nil {
		return nil, err
	}
	return scripted(&agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_INLINE, Turns: turns}), nil
}

func scripted(s *agentgwv1.Scripted) *agentgwv1.Player {
	return &agentgwv1.Player{Kind: &agentgwv1.Player_Scripted{Scripted: s}}
}

func parseUnhelpful(string) (*agentgwv1.Player, error) {
	return &agentgwv1.Player{Kind: &agentgwv1.Player_Unhelpful{Unhelpful: &agentgwv1.Unhelpful{}}}, nil
}

func parseUnseeded(string) (*agentgwv1.Player, error) {
	return &agentgwv1.Player{Kind: &agentgwv1.Player_Random{Random: &agentgwv1.Random{}}}, nil
}

func parseRandom(seed string) (*agentgwv1.Player, error) {
	value, err := strconv.ParseInt(seed, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("seed %q is no whole number of 64 bits", seed)
	}
	return &agentgwv1.Player{Kind: &agentgwv1.Player_Random{Random: &agentgwv1.Random{Seed: value}}}, nil
}

func parseAttached(name string) (*agentgwv1.Player, error) {
	if !AttachedName.MatchString(name) {
		return nil, fmt.Errorf("name %q: expected 1 to 64 letters, digits, _ and -", name)
	}
	return &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{Attached: name}}}, nil
}

// terminalTimeout is how long a person may think about one turn.
const terminalTimeout = time.Hour

// parseTerminal returns a plug-in for a person at the terminal. The process that serves the
// terminal sets its address.
func parseTerminal(string) (*agentgwv1.Player, error) {
	return &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{
		Attached: terminal, TimeoutMs: terminalTimeout.Milliseconds(),
	}}}, nil
}

// terminal is the name of that plug-in.
const terminal = "cli"

// AtTerminal reports whether a person at the terminal of this process plays.
func AtTerminal(p *agentgwv1.Player) bool {
	return p.GetPlugin() != nil && strings.EqualFold(p.GetName(), terminal)
}

// parseSecurePlugin keeps the scheme in the address. An old gateway refuses such an address,
// whereas it would drop an unknown field.
func parseSecurePlugin(address string) (*agentgwv1.Player, error) {
	p, err := parsePlugin(address)
	if err == nil {
		p.GetPlugin().Address = "grpcs://" + address
	}
	return p, err
}

func parsePlugin(address string) (*agentgwv1.Player, error) {
	if err := CheckAddress(address); err != nil {
		return nil, err
	}
	return &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{Address: address}}}, nil
}

// CheckAddress returns an error if the address of a plug-in, without its scheme, is invalid.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || strings.ContainsAny(host, "/@ ") {
		return fmt.Errorf("address %q: expected host:port, e.g. localhost:7500", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("address %q: port %q: expected 1 to 65535", address, port)
	}
	return nil
}
