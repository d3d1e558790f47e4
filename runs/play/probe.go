package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// probeTimeout bounds the wait for a probe, which the gateway ends within ten seconds.
const probeTimeout = 20 * time.Second

// probeOptions are the flags about the probe of models before the first rollout.
type probeOptions struct{ on, allowNoTools bool }

func (o *probeOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.on, "probe", true, "ask the servers of models, before the first rollout, what they do with tools and settings; not with --compat, --replay and --resume")
	o.registerAllow(flags)
}

func (o *probeOptions) registerAllow(flags *pflag.FlagSet) {
	flags.BoolVar(&o.allowNoTools, "allow-no-tools", false, "play with a model that its server never shows the tools")
}

// probedModel is a model with its players, by flag.
type probedModel struct {
	names, flags []string
	player       *agentgwv1.Player
}

// modelsOf returns the models among players, each server's once.
func modelsOf(players []flaggedPlayer) []*probedModel {
	var models []*probedModel
	for _, p := range players {
		model := p.player.GetModel()
		if model == nil {
			continue
		}
		at := slices.IndexFunc(models, func(m *probedModel) bool { return isSameModel(m.player.GetModel(), model) })
		if at < 0 {
			at, models = len(models), append(models, &probedModel{player: p.player})
		}
		m := models[at]
		m.names = append(m.names, p.flag+" "+p.player.GetName())
		m.flags = append(m.flags, p.flag)
	}
	return models
}

// isSameModel reports whether a server's model is that of another player. A turn in the native form
// of one model, such as signed reasoning, is unreadable for any other.
func isSameModel(a, b *agentgwv1.Model) bool {
	return a != nil && b != nil && a.GetProvider() == b.GetProvider() && a.GetModel() == b.GetModel() && a.GetBaseUrl() == b.GetBaseUrl()
}

// probe asks the server of the model. What goes wrong is a problem in the result, except the end of
// ctx.
func (m *probedModel) probe(ctx context.Context, client agentgwv1.PlayerCheckServiceClient, secrets []string) (*results.Probe, error) {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	found, err := client.ProbePlayer(limited, &agentgwv1.ProbePlayerRequest{Player: m.player})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		found = &agentgwv1.ProbePlayerResponse{Problem: status.Convert(err).Message()}
	default:
		found = proto.CloneOf(found)
	}
	for _, text := range []*string{&found.Problem, &found.ToolsReason, &found.CallsReason} {
		*text = Redact(*text, secrets)
	}
	return results.NewProbe(found), nil
}

// probeModels probes the models among players and prints what it finds. The error names models that
// never see their tools, unless that is allowed.
func (o *probeOptions) probeModels(ctx context.Context, services grpc.ClientConnInterface, players []flaggedPlayer, w, stderr io.Writer) (*results.Probes, error) {
	client, secrets := agentgwv1.NewPlayerCheckServiceClient(services), Secrets(os.Environ())
	models := modelsOf(players)
	type outcome struct {
		probe *results.Probe
		err   error
	}
	outcomes := make([]chan outcome, len(models))
	for i, m := range models {
		outcomes[i] = make(chan outcome, 1)
		go func() {
			probe, err := m.probe(ctx, client, secrets)
			outcomes[i] <- outcome{probe, err}
		}()
	}
	probes := &results.Probes{}
	var errs []error
	for i, m := range models {
		found := <-outcomes[i]
		if found.err != nil {
			errs = append(errs, found.err)
			continue
		}
		if slices.Contains(m.flags, "--agent") {
			probes.Agent = found.probe
		}
		if slices.Contains(m.flags, "--user") {
			probes.User = found.probe
		}
		errs = append(errs, report.WriteProbe(w, strings.Join(m.names, ", "), found.probe), o.judge(m, found.probe, stderr))
	}
	return probes, errors.Join(errs...)
}

// judge returns an error if tools never reach a model, and warns of calls that come back as text.
func (o *probeOptions) judge(m *probedModel, p *results.Probe, stderr io.Writer) error {
	name := strings.Join(m.names, ", ")
	const prompted = "or play the model in a prompted form, such as hermes:MODEL, or plain:MODEL as the user"
	if p.Tools == "dropped" || p.Tools == "refused" {
		missing := fmt.Errorf("%s: tools never reach the model: %s: give its server a chat template that takes tools (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice and --tool-call-parser), %s", name, p.ToolsReason, prompted)
		if o.allowNoTools {
			return report.Warn(stderr, "%s", missing)
		}
		return fmt.Errorf("%w; --allow-no-tools plays without", missing)
	}
	if p.Calls == "text" {
		return report.Warn(stderr, "%s: calls come back as text, and none of them runs: turn the server's tool parser on (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice and --tool-call-parser), %s", name, prompted)
	}
	return nil
}

// probePlayers probes the models of a sweep, unless its form asks for none.
func (o *Options) probePlayers(ctx context.Context, services grpc.ClientConnInterface, spec sweep.Spec, stderr io.Writer) (*results.Probes, error) {
	if !o.probe.on || o.compat || !asksModels(spec) || !slices.ContainsFunc(spec.Scenarios, isConversation) {
		return nil, nil
	}
	return o.probe.probeModels(ctx, services, playersOf(spec), stderr, stderr)
}

// ProbeOptions are the settings of a probe without a run. RegisterFlags fills them.
type ProbeOptions struct {
	probe        probeOptions
	models       modelOptions
	installation standalone.Config
	agent, user  string
	asJSON       bool
}

// NewProbe returns the default settings of a probe.
func NewProbe() *ProbeOptions { return &ProbeOptions{installation: standalone.DefaultConfig()} }

// RegisterFlags adds the flags of a probe.
func (o *ProbeOptions) RegisterFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.agent, "agent", "", "who plays the `agent`, a model: see toolsandbox agents")
	flags.StringVar(&o.user, "user", "", "who plays the `user`, a model: see toolsandbox agents")
	o.models.register(flags)
	o.probe.registerAllow(flags)
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.BoolVar(&o.installation.Network.Remote, "remote", false, "use running services instead of starting them")
	o.installation.Network.RegisterClientFlags(flags)
	o.installation.AgentGateway.RegisterTemplateFlags(flags)
}

// Run probes the models that the flags name. It fails if one of them answered nothing, or never
// sees its tools.
func (o *ProbeOptions) Run(ctx context.Context, stdout, stderr io.Writer) error {
	players, err := o.players()
	if err != nil {
		return err
	}
	for _, p := range players {
		o.installation.AgentGateway.AllowPlayers(p.player)
	}
	return standalone.WithTemporary(ctx, o.installation, "warn", stderr, func(ctx context.Context, node *rpc.Node) error {
		services := node.Conn(rpc.Orchestrator)
		check := &playerCheck{client: agentgwv1.NewPlayerCheckServiceClient(services), wait: defaultWait, stderr: stderr}
		if err := check.await(ctx, players); err != nil {
			return err
		}
		text := stdout
		if o.asJSON {
			text = io.Discard
		}
		probes, err := o.probe.probeModels(ctx, services, players, text, stderr)
		if o.asJSON {
			err = errors.Join(report.JSON(stdout, probes), err)
		}
		if silent(probes.Agent) || silent(probes.User) {
			err = errors.Join(err, errors.New("a model answered nothing"))
		}
		return err
	})
}

// silent reports whether a probed model has answered nothing.
func silent(p *results.Probe) bool {
	return p != nil && p.Problem != "" && p.Tools == results.Unknown && p.Calls == results.Unknown
}

// players returns the named players, which are models.
func (o *ProbeOptions) players() ([]flaggedPlayer, error) {
	if o.agent == "" && o.user == "" {
		return nil, process.UsageErrorf("--agent: missing, expected a model, e.g. --agent openai:MODEL --base-url http://localhost:8000/v1")
	}
	agent, err := player.Parse(worldv1.Role_ROLE_AGENT, cmp.Or(strings.TrimPrefix(o.agent, originalPrefix), "oracle"))
	if err != nil {
		return nil, process.UsageErrorf("--agent: %w", err)
	}
	user, err := player.Parse(worldv1.Role_ROLE_USER, cmp.Or(strings.TrimPrefix(o.user, originalPrefix), "scripted"))
	if err != nil {
		return nil, process.UsageErrorf("--user: %w", err)
	}
	if err := o.models.apply(agent, user, false); err != nil {
		return nil, err
	}
	var players []flaggedPlayer
	for _, p := range []struct {
		flaggedPlayer
		given string
	}{{flaggedPlayer{"--agent", agent}, o.agent}, {flaggedPlayer{"--user", user}, o.user}} {
		switch {
		case p.given == "":
		case p.player.GetModel() == nil:
			return nil, process.UsageErrorf("%s %s: not a model, so there is no server to probe", p.flag, p.given)
		default:
			players = append(players, p.flaggedPlayer)
		}
	}
	return players, nil
}
