// Package play plays scenarios into an output directory: it opens the directory or resumes the
// run in it, checks the players, follows the sweep, and writes the files of finished rollouts.
package play

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
	"github.com/toolsandbox/toolsandbox/services/orchestrator"
)

// errCreating means that it is unknown whether the services have the sweep.
var errCreating = errors.New("interrupted while creating the sweep")

// Bounds of --max-rollout-bytes. A conversation must fit into one gRPC message of
// --max-message-bytes, with room for its tables.
const (
	minMaxBytes, maxMaxBytes = 1 << 10, 32 << 20
	defaultMaxBytes          = 4 << 20
	// maxParallel is the proto's bound of --parallel.
	maxParallel = 100000
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
	formats      []string
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
	fork, text   string
	wait         time.Duration
	asJSON       bool
	flags        *pflag.FlagSet
	replayed     *results.Run // the record of the run in replay
	forked       *forkOrigin  // what fork names
	playing      string       // id of the created sweep
	// experimentDir is the directory of the experiment that the run belongs to, empty without one.
	experimentDir string
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
	o.scenarios.RegisterAblationFlags(flags)
	flags.StringVarP(&o.out, "out", "o", "", "`directory` for the results, or s3://bucket/prefix (default: a new one below data)")
	flags.StringSliceVar(&o.formats, "results", nil, "`formats` of the results: files, parquet or both, separated by a comma (default: files, beyond 10,000 rollouts parquet)")
	flags.StringVar(&o.dataDir, "data-dir", "", "`directory` for the services' data (default: .toolsandbox below --out)")
	flags.IntVarP(&o.parallel, "parallel", "p", o.installation.Orchestrator.Parallel, "concurrent rollouts; with --remote per orchestrator, and by default its own limit or what your team is granted")
	flags.IntVar(&o.trials, "trials", 1, "rollouts of each scenario")
	flags.Int64Var(&o.seed, "seed", 0, "seed for random players and for EuroEval's draws (there 0 means 4242)")
	o.registerEuroEval(flags)
	flags.BoolVar(&o.compat, "compat", false, "abort on mistakes of the model, as the original does")
	o.repeatLimit = optionalInt[int32](32)
	flags.Var(&o.repeatLimit, "repeat-limit", "equal turns of --agent in a row that end a rollout, 0 for no limit (default: 8, with --compat 0)")
	o.floors = optionalBool()
	flags.Var(&o.floors, "floors", "also play an idle agent, a random one and the oracle on the scenarios, to compare with (default: where a model or a program plays at most 400 scenarios)")
	flags.Lookup("floors").NoOptDefVal = "true"
	flags.Int64Var(&o.maxBytes, "max-rollout-bytes", defaultMaxBytes, "largest conversation in bytes; beyond it the rollout ends as a failure of the player that wrote most")
	flags.StringVar(&o.services, "services", "", "source of hosted services' `answers`: recorded, offline, live or record (default: recordings, else offline)")
	o.installation.ToolHost.RegisterServiceFlags(flags)
	flags.BoolVar(&o.resume, "resume", false, "continue the run in --out, or start it if there is none: play rollouts that are missing or have no score")
	flags.StringVar(&o.replay, "replay", "", "replay the run in this `directory` from its recording; no model is asked")
	flags.StringVar(&o.fork, "fork", "", "continue the `rollout` RUN/ROLLOUT of an earlier run from its message @N; --agent and --user may be others")
	flags.StringVar(&o.text, "text", "", "with --fork, `text` in place of that of message N, or @FILE with it (@@ begins a text with @)")
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
	process.MarkVarying(flags, varyingFlags()...)
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
	if err := errors.Join(o.checkFormats(), o.rejectUnused()); err != nil {
		return sweep.Spec{}, err
	}
	o.agent, o.user = strings.TrimPrefix(o.agent, originalPrefix), strings.TrimPrefix(o.user, originalPrefix)
	if o.resume {
		if o.out == "" {
			return sweep.Spec{}, process.UsageErrorf("--resume: needs --out, the directory of the run")
		}
		o.out, _ = results.Locate(o.out)
		var err error
		if o.resume, err = hasStarted(o.out); err != nil {
			return sweep.Spec{}, unreadable(o.out, err)
		}
	}
	specify := func(args []string) (sweep.Spec, error) { return o.specify(ctx, stderr, args) }
	switch {
	case o.fork != "":
		specify = func(args []string) (sweep.Spec, error) { return o.forkSpec(ctx, args, stderr) }
	case o.flags.Changed("text"):
		return sweep.Spec{}, process.UsageErrorf("--text: given, but no --fork, whose message it replaces")
	case o.replay != "":
		o.replay, _ = results.Locate(o.replay)
		specify = o.replaySpec
	}
	spec, err := specify(args)
	if err != nil {
		return sweep.Spec{}, err
	}
	if o.parallel < 1 || o.parallel > maxParallel {
		return sweep.Spec{}, process.UsageErrorf("--parallel: %d given, expected 1 to %d", o.parallel, maxParallel)
	}
	if err := o.validate(); err != nil {
		return sweep.Spec{}, process.UsageErrorf("%w", err)
	}
	if err := errors.Join(o.rejectIneffective(spec), o.checkFloors(spec), checkRollouts(spec)); err != nil {
		return sweep.Spec{}, err
	}
	if spec.Limit, err = o.spend.limit(spec); err != nil {
		return sweep.Spec{}, err
	}
	o.installation.Orchestrator.Parallel = maxParallel // toolsandbox sweep set may change that of the sweep
	spec.ID, spec.Parallel = o.sweepID, o.parallel
	if given := o.flags.Lookup("parallel"); o.installation.Network.Remote && !process.IsSet(given) && given.Value.String() == given.DefValue {
		spec.Parallel = 0
	}
	return spec, CheckSockets(o.installation, spec)
}

// checkRollouts rejects a run with more rollouts than a sweep may have, before they are planned.
func checkRollouts(spec sweep.Spec) error {
	if n := spec.Rollouts(); n > orchestrator.MaxRollouts {
		return process.UsageErrorf("--trials: %d rollouts given in all, expected at most %d: play fewer scenarios, variants or trials", n, orchestrator.MaxRollouts)
	}
	return nil
}

// validate checks the ranges of the flags outside the specification.
func (o *Options) validate() error {
	if o.wait < 0 {
		return fmt.Errorf("--wait: %s given, expected 0s or more, e.g. 5m", o.wait)
	}
	if storage.IsBucket(o.dataDir) {
		return fmt.Errorf("--data-dir: %s is %w: it is in a bucket, and the services' data stays on this machine", o.dataDir, storage.ErrNoDirectory)
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
	if err := o.admit(agent, user); err != nil {
		return sweep.Spec{}, err
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

// admit lets the players in: attached ones by their secret, models at their addresses.
func (o *Options) admit(agent, user *agentgwv1.Player) error {
	if err := o.setSecrets(agent, user); err != nil {
		return err
	}
	o.installation.AgentGateway.AllowPlayers(agent, user)
	for _, s := range []flaggedPlayer{{"--agent", agent}, {"--user", user}} {
		if isAttached(s.player) && !o.installation.Network.Remote && o.installation.AgentGateway.AttachListen == "" {
			return process.UsageErrorf("%s attached:%s: nothing listens for it: give --attach-listen HOST:PORT, where it attaches", s.flag, s.player.GetPlugin().GetAttached())
		}
	}
	return nil
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
// writes the files of finished rollouts. With a matrix it plays a run for each cell. A mistake on
// the command line is process.ErrUsage.
func (o *Options) Run(ctx context.Context, args []string, matrix process.Matrix, stdin io.Reader, stdout, stderr io.Writer) error {
	switch {
	case len(matrix) > 0:
		return o.experiment(ctx, args, matrix, stdin, stdout, stderr)
	case o.until.active():
		return o.runUntil(ctx, args, stdin, stdout, stderr)
	}
	prepared, err := o.prepareRun(ctx, args, stderr)
	if err != nil {
		return err
	}
	return o.playRun(ctx, prepared, nil, stdin, stdout, stderr)
}

// preparedRun is what the command line says of a run.
type preparedRun struct {
	spec sweep.Spec
	args []string
	// setFlags are the flags other than defaults.
	setFlags []string
}

func (o *Options) prepareRun(ctx context.Context, args []string, stderr io.Writer) (preparedRun, error) {
	names := setFlags(o.flags)
	spec, err := o.prepare(ctx, stderr, args)
	if err == nil {
		err = checkScripts(spec, stderr)
	}
	return preparedRun{spec, args, names}, err
}

// playRun plays a run to its end on running services, or on its own if those are nil.
func (o *Options) playRun(ctx context.Context, prepared preparedRun, running *standalone.Installation, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, run, err := o.openRun(ctx, prepared, running, stdin, stdout, stderr)
	if err != nil {
		return err
	}
	watched := run.play(ctx)
	if err = run.collector.finish(); err != nil {
		return run.close(o.interrupted(ctx, errors.Join(watched, err), run.collector))
	}
	return run.close(o.conclude(ctx, watched, run.collector, stdout, stderr))
}

// conclude shows a run whose files are written, with its floors if it came to its end, and returns
// what is wrong with it. watched is the error of following its sweep.
func (o *Options) conclude(ctx context.Context, watched error, collector *collector, stdout, stderr io.Writer) error {
	var different error
	if collector.planned != nil {
		different = errors.Join(o.damage(stderr, collector.record.Damaged()), o.compareReplay(stderr, collector.rollouts))
	}
	if spent, ok := errors.AsType[*sweep.SpendLimitError](watched); ok {
		return errors.Join(o.show(stdout, stderr, collector), o.verdict(collector), fmt.Errorf("%w; %d of %d rollouts are done: then continue with %s",
			spent, collector.done(), collector.spec.Rollouts(), o.again()))
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
		return fmt.Errorf("%w with %d of %d rollouts scored: %s plays the others", watched, collector.done()-collector.unscored(), collector.spec.Rollouts(), o.again())
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
		return fmt.Errorf("%w; %d of %d rollouts are fetched, and sweep %s continues: stop it with %s, or fetch the others with %s",
			err, collector.done(), collector.spec.Rollouts(), o.playing, sweep.Command(o.installation.Network, "cancel", o.playing), o.again())
	case ctx.Err() == nil:
		return err
	case elsewhere:
		return fmt.Errorf("interrupted with %d of %d rollouts done, and sweep %s continues: stop it with %s, or fetch it with %s",
			collector.done(), collector.spec.Rollouts(), o.playing, sweep.Command(o.installation.Network, "cancel", o.playing), o.again())
	default:
		return fmt.Errorf("interrupted with %d of %d rollouts done: continue with %s", collector.done(), collector.spec.Rollouts(), o.again())
	}
}

// show prints the results.
func (o *Options) show(stdout, stderr io.Writer, collector *collector) error {
	if o.asJSON {
		return report.JSON(stdout, results.Summarize(collector.rollouts))
	}
	categories := results.CategoriesOf(collector.rollouts)
	totals, rows := collector.record.Totals, collector.rows()
	if err := errors.Join(
		report.WriteTable(stdout, rows, categories), report.WriteEuroEval(stdout, collector.euroeval.content),
		report.WriteFloors(stdout, totals.Floors, categories.Mean(), totals.Scored, totals.Rollouts), report.WriteCauses(stdout, totals.CauseCounts),
		report.WriteUserFlags(stdout, totals.UserFlagCounts), report.WriteUsage(stdout, rows), report.WriteInstances(stdout, collector.record.Agent, collector.record.User),
		report.WriteTraces(stdout, o.traceUI, rows),
	); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stderr, "results: %s\n", storage.Join(o.out, collector.record.Main()))
	return err
}
