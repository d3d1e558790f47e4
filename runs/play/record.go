package play

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// record describes the run that starts now. setFlags are the flags other than defaults.
func (o *Options) record(args, setFlags []string, spec sweep.Spec) (*results.Run, error) {
	secrets := Secrets(os.Environ())
	run := &results.Run{
		Program: o.program, Agent: playerRecord(spec.Agents[0], secrets), User: playerRecord(spec.Users[0], secrets), Trials: spec.Trials, Seed: spec.Seed,
		Arguments: append([]string{}, args...), Flags: flagValues(o.flags, secrets), Given: setFlags,
		Results: o.formatsOf(spec.Rollouts()),
		Started: now(), Resumptions: []results.Resumption{}, Rollouts: []results.Outcome{},
	}
	if o.until.active() { // each agent has a run of its own
		run.Flags["agent"], run.Flags["out"] = Redact(o.agent, secrets), Redact(o.out, secrets)
	}
	run.Sessions = []results.Session{{Started: run.Started}}
	run.Lineages = results.LineagesOf(spec.Scenarios)
	if o.replayed != nil {
		run.Prompts, run.Fork = o.replayed.Prompts, o.replayed.Fork
	}
	if o.forked != nil {
		run.Prompts, run.Packs, run.Fork = o.forked.run.Prompts, o.forked.run.Packs, o.forked.record(o.out)
	}
	if told := o.scenarios.Ablation; told != (scenario.Ablation{}) {
		run.Prompts = &results.Prompts{AgentBefore: told.AgentBefore, AgentAfter: told.AgentAfter, User: string(told.User), UserSees: string(told.Sees)}
	}
	var err error
	for _, pack := range o.scenarios.LoadedPacks {
		run.Packs = append(run.Packs, results.Pack{
			From: pack.Path, Name: pack.Name, Version: pack.Version, Digest: pack.Digest, Scenarios: len(pack.Scenarios) + pack.Skipped,
		})
	}
	if run.Catalogue, err = catalogueRecord(spec.Scenarios); err != nil {
		return nil, err
	}
	run.SpecDigest, err = specDigest(spec, run.Catalogue.Digest)
	return run, err
}

// now is the time in a record, for people and programs.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// specDigest identifies what is played: scenarios by their digest, players before they get an
// address here.
func specDigest(spec sweep.Spec, scenarios string) (string, error) {
	digest, _, err := bus.Digest(spec.WithoutScenarios())
	if err != nil {
		return "", err
	}
	if uploaded := spec.Uploaded(); uploaded != nil {
		digest += uploaded.Digest()
	}
	return hexSum(digest + scenarios), nil
}

func catalogueRecord(scenarios []*scenariov1.Scenario) (results.Catalogue, error) {
	var digests strings.Builder
	for _, s := range scenarios {
		digest, _, err := bus.Digest(s)
		if err != nil {
			return results.Catalogue{}, err
		}
		digests.WriteString(digest)
	}
	return results.Catalogue{Scenarios: len(scenarios), Digest: hexSum(digests.String())}, nil
}

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func playerRecord(p *agentgwv1.Player, secrets []string) results.Player {
	player := results.Player{Name: Redact(p.GetName(), secrets)}
	if m := p.GetModel(); m != nil {
		player.Model = &results.Model{
			Provider: m.GetProvider(), Model: m.GetModel(),
			BaseURL: Redact(m.GetBaseUrl(), secrets), MaxTokens: m.GetMaxTokens(),
			ReasoningEffort: m.GetReasoningEffort(), ThinkingBudget: m.GetThinkingBudget(), Stop: m.GetStop(),
		}
		if m.Seed != nil {
			player.Model.Seed = proto.Int64(m.GetSeed())
		}
		if m.Temperature != nil {
			player.Model.Temperature = proto.Float64(m.GetTemperature())
		}
	}
	return player
}

// flagValues returns the values of all flags by name. A value that may hold a secret has a text for
// records.
func flagValues(flags *pflag.FlagSet, secrets []string) map[string]string {
	values := make(map[string]string)
	flags.VisitAll(func(flag *pflag.Flag) {
		text := flag.Value.String()
		if safe, ok := flag.Value.(interface{ Redacted() string }); ok {
			text = safe.Redacted()
		}
		if flag.Name != "help" {
			values[flag.Name] = Redact(text, secrets)
		}
	})
	return values
}

// setFlags returns the names of the flags that the command line sets, or that the environment or
// the file sets to another value than the default.
func setFlags(flags *pflag.FlagSet) []string {
	names := []string{}
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed || flag.Value.String() != flag.DefValue {
			names = append(names, flag.Name)
		}
	})
	return names
}

const (
	// redacted replaces secrets.
	redacted = "[redacted]"
	// minSecretLength is the shortest length of a secret: shorter values occur in too many texts by
	// chance.
	minSecretLength = 8
)

// userInfo and query are the parts of an address that may hold a secret.
var (
	userInfo = regexp.MustCompile(`(://)[^?#\s]*@`)
	query    = regexp.MustCompile(`(://[^\s?#]*)\?[^\s#]*`)
)

// Secrets returns the values of the variables with names of secrets, the longest first. Of our own
// variables only the tokens are secrets. The environment has the form of os.Environ.
func Secrets(environment []string) []string {
	var secrets []string
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		for _, suffix := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD"} {
			if strings.HasSuffix(name, suffix) && (name == AttachTokenVariable || name == rpc.TokenVariable || !strings.HasPrefix(name, "TOOLSANDBOX_")) && len(value) >= minSecretLength {
				secrets = append(secrets, value)
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// Redact removes secrets from a text, and the user and the query of addresses.
func Redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	text = userInfo.ReplaceAllString(text, fmt.Sprintf("${1}%s@", redacted))
	return query.ReplaceAllString(text, fmt.Sprintf("${1}?%s", redacted))
}

// directoryName is a player's part of the name of a run's directory: its model, otherwise its name.
func directoryName(p *agentgwv1.Player) string { return cmp.Or(p.GetModel().GetModel(), p.GetName()) }

// open opens the output directory, determines the directory of the services' data, and returns the
// new or resumed record of the run.
func (o *Options) open(prepared preparedRun) (*directory, *results.Run, error) {
	if o.out == "" {
		if o.flags.Changed("out") {
			return nil, nil, process.UsageErrorf("--out: empty, expected a directory for the results")
		}
		agent, user := prepared.spec.Agents[0], prepared.spec.Users[0]
		o.out = storage.Join("data", results.RunDirectory(directoryName(agent), directoryName(user), time.Now()))
	}
	d, err := openDirectory(o.out, o.resume)
	if err != nil {
		return nil, nil, err
	}
	o.installation.Dir, o.installation.Network.Socket = cmp.Or(o.dataDir, d.data()), Socket(o.out)
	run, err := o.record(prepared.args, prepared.setFlags, prepared.spec)
	if err == nil && o.resume {
		run, err = o.resumed(d, run)
	}
	if err != nil {
		return nil, nil, errors.Join(err, d.release())
	}
	return d, run, nil
}
