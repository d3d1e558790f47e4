// Package play plays scenarios into an output directory: it opens the directory or resumes the
// run in it, checks the players, follows the sweep, and writes the files of finished rollouts.
package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// errCreating means that it is unknown whether the services have the sweep.
var errCreating = errors.New("interrupted while creating the sweep")

// Bounds of --max-rollout-bytes. A conversation must fit into one gRPC message of
// --max-message-bytes, with room for its tables.
const (
	minMaxBytes, maxMaxBytes = 1 << 10, 32 << 20
	defaultMaxBytes          = 4 << 20
	// maxRepeatLimit is the proto's bound of --repeat-limit.
	maxRepeatLimit = 1000
)

// Options are the settings of a run. RegisterFlags fills them.
type Options struct {
	program      results.Program
	scenarios    catalogue.Selection
	installation standalone.Config
	log          process.LogConfig
	telemetry    telemetry.Config
	traceUI      string
	models       modelOptions
	euroeval     euroeval.Settings
	spend        spendOptions
	probe        probeOptions
	until        untilOptions
	agent, user  string
	tokenFile    string
	out, dataDir string
	sweepID      string
	trials       int
	parallel     int
	seed         int64
	compat       bool
	maxBytes     int64
	repeatLimit  optional[int32]
	floors       optional[bool]
	services     string
	resume       bool
	replay       string
	wait         time.Duration
	asJSON       bool
	flags        *pflag.FlagSet
	replayed     *results.Run // the record of the run in replay
	playing      string       // id of the created sweep
}

// New returns the default settings of a run of this program.
func New(program results.Program) *Options {
	c := &Options{
		program: program, installation: standalone.DefaultConfig(), log: process.DefaultLog(), telemetry: telemetry.DefaultConfig(),
		euroeval: euroeval.DefaultSettings(),
	}
	c.log.Level = "warn"
	return c
}

// RegisterFlags adds the flags of a run. Run reads them.
func (o *Options) RegisterFlags(flags *pflag.FlagSet) {
	o.flags = flags
	flags.StringVar(&o.agent, "agent", "", "who plays the `agent`: see toolsandbox agents")
	flags.StringVar(&o.user, "user", "scripted", "who plays the `user`: see toolsandbox agents")
	o.models.register(flags)
	o.spend.register(flags)
	o.probe.register(flags)
	o.until.register(flags)
	o.scenarios.RegisterFlags(flags)
	flags.StringVarP(&o.out, "out", "o", "", "`directory` for the results (default: a new one below data)")
	flags.StringVar(&o.dataDir, "data-dir", "", "`directory` for the services' data (default: .toolsandbox below --out)")
	flags.IntVarP(&o.parallel, "parallel", "p", o.installation.Orchestrator.Parallel, "concurrent rollouts")
	flags.IntVar(&o.trials, "trials", 1, "rollouts of each scenario")
	flags.Int64Var(&o.seed, "seed", 0, "seed for random players and for EuroEval's draws (there 0 means 4242)")
	o.registerEuroEval(flags)
	flags.BoolVar(&o.compat, "compat", false, "abort on mistakes of the model, as the original does")
	o.repeatLimit = optionalInt[int32](32)
	flags.Var(&o.repeatLimit, "repeat-limit", "equal turns of --agent in a row that end a rollout, 0 for no limit (default: 8, with --compat 0)")
	o.floors = optionalBool()
	flags.Var(&o.floors, "floors", "also play an idle and a random agent on the scenarios, to compare with (default: where a model or a program plays at most 400 scenarios)")
	flags.Lookup("floors").NoOptDefVal = "true"
	flags.Int64Var(&o.maxBytes, "max-rollout-bytes", defaultMaxBytes, "largest conversation in bytes; beyond it the rollout ends as a failure of the player that wrote most")
	flags.StringVar(&o.services, "services", "", "source of hosted services' `answers`: recorded, offline, live or record (default: recordings, else offline)")
	o.installation.ToolHost.RegisterServiceFlags(flags)
	flags.BoolVar(&o.resume, "resume", false, "continue the run in --out, or start it if there is none: play rollouts that are missing or have no score")
	flags.StringVar(&o.replay, "replay", "", "replay the run in this `directory` from its recording; no model is asked")
	flags.DurationVar(&o.wait, "wait", defaultWait, "longest wait, before the first rollout, for an unreachable --agent or --user, e.g. 5m")
	flags.StringVar(&o.sweepID, "sweep-id", "", "`name` of the sweep (default: a digest of what is run)")
	flags.BoolVar(&o.asJSON, "json", false, "print the summary as JSON instead of a table")
	flags.BoolVar(&o.installation.Network.Remote, "remote", false, "use running services instead of starting them")
	o.installation.Network.RegisterClientFlags(flags)
	o.installation.Network.Sync.RegisterFlag(flags)
	o.installation.Orchestrator.RegisterTurnFlags(flags)
	o.installation.AgentGateway.RegisterAttachFlags(flags)
	o.registerToken(flags)
	o.installation.AgentGateway.RegisterTemplateFlags(flags)
	o.installation.AgentGateway.RegisterBudgetFlags(flags)
	o.log.RegisterFlags(flags)
	o.telemetry.RegisterFlags(flags)
	flags.StringVar(&o.traceUI, "trace-ui", "", "`address` of Jaeger's user interface: print links to the traces of the worst rollouts, e.g. http://localhost:16686")
}

func (o *Options) registerEuroEval(flags *pflag.FlagSet) {
	flags.IntVar(&o.euroeval.Iterations, "iterations", o.euroeval.Iterations, "bootstrap draws of EuroEval's score")
	flags.BoolVar(&o.euroeval.CacheOrder, "compat-order", o.euroeval.CacheOrder, "score answers in the order of EuroEval's cache, as published scores do")
}

// prepare checks the flags and returns the sweep's specification.
func (o *Options) prepare(ctx context.Context, stderr io.Writer, args []string) (sweep.Spec, error) {
	if o.sweepID != "" {
		if err := sweep.CheckID("--sweep-id", o.sweepID); err != nil {
			return sweep.Spec{}, err
		}
	}
	if err := o.rejectUnused(); err != nil {
		return sweep.Spec{}, err
	}
	o.agent, o.user = strings.TrimPrefix(o.agent, originalPrefix), strings.TrimPrefix(o.user, originalPrefix)
	if o.resume {
		if o.out == "" {
			return sweep.Spec{}, process.UsageErrorf("--resume: needs --out, the directory of the run")
		}
		o.out, _ = results.Locate(o.out)
		o.resume = hasStarted(o.out)
	}
	specify := func(args []string) (sweep.Spec, error) { return o.specify(ctx, stderr, args) }
	if o.replay != "" {
		o.replay, _ = results.Locate(o.replay)
		specify = o.replaySpec
	}
	spec, err := specify(args)
	if err != nil {
		return sweep.Spec{}, err
	}
	if o.parallel < 1 || o.parallel > 100000 {
		return sweep.Spec{}, process.UsageErrorf("--parallel: %d given, expected 1 to 100000", o.parallel)
	}
	if err := o.validate(); err != nil {
		return sweep.Spec{}, process.UsageErrorf("%w", err)
	}
	if err := errors.Join(o.rejectIneffective(spec), o.checkFloors(spec)); err != nil {
		return sweep.Spec{}, err
	}
	if spec.Limit, err = o.spend.limit(spec); err != nil {
		return sweep.Spec{}, err
	}
	o.installation.Orchestrator.Parallel = o.parallel
	spec.ID, spec.Parallel = o.sweepID, o.parallel
	return spec, CheckSockets(o.installation, spec)
}

// validate checks the ranges of the flags outside the specification.
func (o *Options) validate() error {
	if o.wait < 0 {
		return fmt.Errorf("--wait: %s given, expected 0s or more, e.g. 5m", o.wait)
	}
	return errors.Join(o.log.Validate(), o.telemetry.Validate(), o.checkTraceUI(), o.installation.Network.Validate(), o.installation.ToolHost.Validate(),
		o.installation.AgentGateway.Validate(), o.installation.Orchestrator.Validate())
}

// specify converts the flags into a specification.
func (o *Options) specify(ctx context.Context, stderr io.Writer, args []string) (sweep.Spec, error) {
	if err := o.applyOriginal(stderr); err != nil {
		return sweep.Spec{}, err
	}
	if o.agent == "" {
		return sweep.Spec{}, process.UsageErrorf("--agent: missing, expected a name from toolsandbox agents, e.g. --agent oracle")
	}
	agent, err := player.Parse(worldv1.Role_ROLE_AGENT, o.agent)
	if err != nil {
		return sweep.Spec{}, process.UsageErrorf("--agent: %w", err)
	}
	user, err := player.Parse(worldv1.Role_ROLE_USER, o.user)
	if err != nil {
		return sweep.Spec{}, process.UsageErrorf("--user: %w", err)
	}
	if err := o.models.apply(agent, user, o.compat); err != nil {
		return sweep.Spec{}, err
	}
	if err := separate(agent, user, stderr); err != nil {
		return sweep.Spec{}, err
	}
	if err := o.setSecrets(agent, user); err != nil {
		return sweep.Spec{}, err
	}
	o.installation.AgentGateway.AllowPlayers(agent, user)
	for _, s := range []flaggedPlayer{{"--agent", agent}, {"--user", user}} {
		if isAttached(s.player) && !o.installation.Network.Remote && o.installation.AgentGateway.AttachListen == "" {
			return sweep.Spec{}, process.UsageErrorf("%s attached:%s: nothing listens for it: give --attach-listen HOST:PORT, where it attaches", s.flag, s.player.GetPlugin().GetAttached())
		}
	}
	if err := o.checkRanges(); err != nil {
		return sweep.Spec{}, err
	}
	services, err := servicesOf(o.services)
	if err != nil {
		return sweep.Spec{}, err
	}
	scenarios, err := o.load(ctx, stderr, args)
	if err != nil {
		return sweep.Spec{}, err
	}
	if atTerminal(agent, user) {
		o.parallel = 1 // a person follows one conversation at a time
	}
	return sweep.Spec{
		Scenarios:   scenarios,
		Agents:      []*agentgwv1.Player{agent},
		Users:       []*agentgwv1.Player{user},
		Trials:      o.trials,
		Seed:        o.seed,
		Compat:      o.compat,
		MaxBytes:    o.maxBytes,
		RepeatLimit: o.repeatLimit.value,
		Services:    services,
	}, nil
}

// checkRanges checks the numbers that flags give.
func (o *Options) checkRanges() error {
	if o.euroeval.Iterations < 1 || o.euroeval.Iterations > 10000 {
		return process.UsageErrorf("--iterations: %d given, expected 1 to 10000", o.euroeval.Iterations)
	}
	if o.trials < 1 || o.trials > 100000 {
		return process.UsageErrorf("--trials: %d given, expected 1 to 100000", o.trials)
	}
	if o.maxBytes < minMaxBytes || o.maxBytes > maxMaxBytes {
		return process.UsageErrorf("--max-rollout-bytes: %d given, expected %d to %d", o.maxBytes, minMaxBytes, maxMaxBytes)
	}
	if n := o.repeatLimit.or(0); n < 0 || n > maxRepeatLimit {
		return process.UsageErrorf("--repeat-limit: %d given, expected 0 to %d", n, maxRepeatLimit)
	}
	return nil
}

// load returns the selected scenarios, and checks what they need.
func (o *Options) load(ctx context.Context, stderr io.Writer, args []string) ([]*scenariov1.Scenario, error) {
	o.scenarios.Servers = o.installation.ToolHost.ToolServers
	scenarios, err := o.scenarios.Load(ctx, stderr, args)
	if err != nil {
		return nil, err
	}
	if flag := o.flags.Lookup("toolhost-tool-server"); flag != nil && flag.Changed { // others may be meant for other runs
		if err := o.scenarios.CheckServers(); err != nil {
			return nil, err
		}
	}
	if !o.installation.Network.Remote { // remote services have their own settings and check their own needs
		o.installation.ToolHost.ToolServers = o.scenarios.ToolServers(o.scenarios.Servers)
		if err := o.scenarios.CheckNeeds(); err != nil {
			return nil, err
		}
	}
	return scenarios, nil
}

// Run plays the scenarios that the flags and args, which are patterns of names, select. It always
// writes the files of finished rollouts. A mistake on the command line is process.ErrUsage.
func (o *Options) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	if o.until.active() {
		return o.runUntil(ctx, args, stdin, stdout, stderr)
	}
	ctx, run, err := o.openRun(ctx, args, stdin, stdout, stderr)
	if err != nil {
		return err
	}
	defer func() { err = run.close(err) }()
	watched := run.play(ctx)
	if err := run.collector.finish(); err != nil {
		return o.interrupted(ctx, errors.Join(watched, err), run.collector)
	}
	return o.conclude(ctx, watched, run.collector, stdout, stderr)
}

// conclude shows a run whose files are written, with its floors if it came to its end, and returns
// what is wrong with it. watched is the error of following its sweep.
func (o *Options) conclude(ctx context.Context, watched error, collector *collector, stdout, stderr io.Writer) error {
	var different error
	if collector.planned != nil {
		different = errors.Join(o.damage(stderr, collector.record.Damaged()), o.compareReplay(stderr, collector.record.Rollouts))
	}
	if spent, ok := errors.AsType[*sweep.SpendLimitError](watched); ok {
		return errors.Join(o.show(stdout, stderr, collector), o.verdict(collector), fmt.Errorf("%s; %d of %d rollouts are done: then continue with --out %s --resume",
			spent.Reason, collector.done(), collector.total(), o.out))
	}
	if watched != nil && !errors.Is(watched, process.ErrCancelled) {
		return o.interrupted(ctx, watched, collector)
	}
	if watched == nil {
		if err := o.playFloors(ctx, stderr, collector); err != nil {
			return err
		}
	}
	if err := o.show(stdout, stderr, collector); err != nil {
		return err
	}
	if watched != nil {
		return fmt.Errorf("%w with %d of %d rollouts scored: --out %s --resume plays the others", watched, collector.done()-collector.unscored(), collector.total(), o.out)
	}
	return errors.Join(different, o.verdict(collector))
}

// interrupted describes the progress of the run and how to continue.
func (o *Options) interrupted(ctx context.Context, err error, collector *collector) error {
	elsewhere := o.installation.Network.Remote && o.playing != ""
	switch {
	case errors.Is(err, errCreating):
		return err
	case ctx.Err() != nil && collector.planned == nil:
		return errors.New("interrupted before the first rollout")
	case ctx.Err() == nil && elsewhere:
		return fmt.Errorf("%w; %d of %d rollouts are fetched, and sweep %s continues: stop it with %s, or fetch the others with --out %s --resume",
			err, collector.done(), collector.total(), o.playing, sweep.Command(o.installation.Network, "cancel", o.playing), o.out)
	case ctx.Err() == nil:
		return err
	case elsewhere:
		return fmt.Errorf("interrupted with %d of %d rollouts done, and sweep %s continues: stop it with %s, or fetch it with --out %s --resume",
			collector.done(), collector.total(), o.playing, sweep.Command(o.installation.Network, "cancel", o.playing), o.out)
	default:
		return fmt.Errorf("interrupted with %d of %d rollouts done: continue with --out %s --resume", collector.done(), collector.total(), o.out)
	}
}

// show prints the results.
func (o *Options) show(stdout, stderr io.Writer, collector *collector) error {
	summary := collector.summary()
	if o.asJSON {
		return report.JSON(stdout, summary)
	}
	totals := collector.record.Totals
	if err := errors.Join(
		report.WriteTable(stdout, collector.rows, summary.Categories), report.WriteEuroEval(stdout, collector.euroeval),
		report.WriteFloors(stdout, totals.Floors, summary.Mean(), totals.Scored, totals.Rollouts), report.WriteCauses(stdout, totals.CauseCounts),
		report.WriteUserFlags(stdout, totals.UserFlagCounts), report.WriteUsage(stdout, collector.rows), report.WriteInstances(stdout, collector.record.Agent, collector.record.User),
		report.WriteTraces(stdout, o.traceUI, collector.rows),
	); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stderr, "results: %s\n", filepath.Join(o.out, results.SummaryFile))
	return err
}

// verdict is the error of a run with unscored rollouts, nil if all have a score.
func (o *Options) verdict(collector *collector) error {
	remaining, unmeasured := collector.remaining(), collector.unmeasured()
	all := collector.unscored()
	play, score := "--out "+o.out+" --resume ", "toolsandbox score "+o.out+" --write "
	var errs []error
	for _, group := range []struct {
		rollouts    int
		why, advice string
		plays       bool
	}{
		{all - remaining - unmeasured, "a service, a provider or a player failed: see the table", ", fix the cause, and " + play + "plays them again", true},
		{remaining, "the person at the terminal ended them", ": " + play + "asks for them again", true},
		{unmeasured, "a measure failed: see the table", ", fix the measure in the pack, and " + score + "with its --pack scores the messages", false},
	} {
		if group.rollouts == 0 {
			continue
		}
		if group.plays && o.replay != "" { // a recorded end repeats
			group.advice = ""
		}
		errs = append(errs, fmt.Errorf("%d of %d rollouts have no score because %s%s", group.rollouts, collector.total(), group.why, group.advice))
	}
	return errors.Join(errs...)
}
