package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sequential"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// maxAgents is the largest number of agents that are compared.
const maxAgents = 8

// untilOptions are the flags of a run that ends when a comparison is decided.
type untilOptions struct {
	against []string
	decided bool
	width   float64
	// agents are all compared agents, in the options of each one's run.
	agents []string
}

func (u *untilOptions) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&u.against, "against", nil, "another `agent` that plays the same rollouts as --agent, to be compared with it; repeatable")
	flags.BoolVar(&u.decided, "until-decided", false, "play only until the difference between --agent and --against is told from 0; results are in a directory per agent below --out")
	flags.Float64Var(&u.width, "until-width", 0, "play only until the 95 % interval of the difference, or without --against of the mean score, has at most this `width`, e.g. 0.1")
}

// active reports whether the run ends early.
func (u *untilOptions) active() bool { return u.decided || u.width != 0 || len(u.against) > 0 }

// checkUntil rejects flags that do not go with a run that ends early.
func (o *Options) checkUntil() error {
	switch {
	case len(o.until.against) > 0 && !o.until.decided && o.until.width == 0:
		return process.UsageErrorf("--against: given without --until-decided or --until-width, which say when the comparison ends")
	case o.until.decided && len(o.until.against) == 0:
		return process.UsageErrorf("--until-decided: needs --against, the agent to compare with")
	case !(o.until.width >= 0 && o.until.width <= 1):
		return process.UsageErrorf("--until-width: %v given, expected more than 0 and at most 1", o.until.width)
	case len(o.until.against) >= maxAgents:
		return process.UsageErrorf("--against: given %d times, expected at most %d", len(o.until.against), maxAgents-1)
	}
	for _, against := range o.until.against {
		if _, err := player.Parse(worldv1.Role_ROLE_AGENT, against); err != nil {
			return process.UsageErrorf("--against: %w", err)
		}
	}
	if user, err := player.Parse(worldv1.Role_ROLE_USER, o.user); err == nil && atTerminal(user) || slices.ContainsFunc(append(o.until.against, o.agent), isTerminal) {
		return process.UsageErrorf("--agent, --against, --user: a person at the terminal cannot play until a comparison is decided")
	}
	refused := []string{"replay", "fork", "sweep-id", "data-dir", "floors", "attach-listen"}
	if len(o.until.against) > 0 {
		refused = append(refused, "metrics-listen") // each run has its own services
	}
	for _, name := range refused {
		if process.IsSet(o.flags.Lookup(name)) {
			return process.UsageErrorf("--%s: given, but it does not go with --until-decided, --until-width and --against", name)
		}
	}
	return nil
}

// isTerminal reports whether an agent is the person at the terminal.
func isTerminal(agent string) bool {
	p, err := player.Parse(worldv1.Role_ROLE_AGENT, agent)
	return err == nil && atTerminal(p)
}

// competitors returns the options of each agent's run, in directories below --out.
func (o *Options) competitors() ([]*Options, error) {
	agents := append([]string{o.agent}, o.until.against...)
	if o.out == "" {
		if o.resume {
			return nil, process.UsageErrorf("--resume: needs --out, the directory of the runs")
		}
		o.out = storage.Join("data", results.RunDirectory(strings.Join(agents, "_against_"), o.user, time.Now()))
	}
	if started, err := HasRun(o.out); err != nil {
		return nil, unreadable(o.out, err)
	} else if started {
		return nil, process.UsageErrorf("--out: %s holds a run: choose another directory, in which each agent's run gets one", o.out)
	}
	if o.installation.Network.Remote && len(slices.Compact(slices.Sorted(slices.Values(agents)))) < len(agents) {
		return nil, process.UsageErrorf("--against: an agent is compared with itself: with --remote both runs would be one sweep")
	}
	isModelAgent := func(agent string) bool { return isModelName(worldv1.Role_ROLE_AGENT, agent) }
	models := slices.ContainsFunc(agents, isModelAgent)
	taken := make(map[string]bool)
	var all []*Options
	for _, agent := range agents {
		name := results.SafeName(agent)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", results.SafeName(agent), n)
		}
		taken[name] = true
		competitor := *o
		competitor.agent, competitor.out, competitor.until.agents = agent, storage.Join(o.out, name), agents
		if models && !isModelAgent(agent) {
			competitor.models = o.models.withoutAgent(o.user)
		}
		all = append(all, &competitor)
	}
	return all, nil
}

// runUntil plays agents in turns until their comparison is decided. What is played follows from
// the seed and the scores. A run that was killed continues with --resume.
func (o *Options) runUntil(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	if err := o.checkUntil(); err != nil {
		return err
	}
	all, err := o.competitors()
	if err != nil {
		return err
	}
	prepared := make([]preparedRun, len(all))
	for i, options := range all { // a mistake is told before anything is written
		prepared[i], err = options.prepareRun(ctx, args, stderr)
		switch {
		case err != nil && i > 0: // that of --agent is not wrong
			return fmt.Errorf("--against %s: %w", options.agent, err)
		case err != nil:
			return err
		}
	}
	c := &competition{until: o.until}
	for i, options := range all {
		runCtx, run, err := options.openRun(ctx, prepared[i], nil, stdin, stdout, stderr)
		if err != nil {
			return c.close(err)
		}
		c.runs, c.scores, ctx = append(c.runs, run), append(c.scores, sequential.Scores{}), runCtx
	}
	defer func() { err = c.close(err) }()
	return c.conclude(ctx, c.play(ctx), o, stdout)
}

// competition is the runs of several agents that are played until they are told apart.
type competition struct {
	until  untilOptions
	runs   []*opened
	design sequential.Design
	scores []sequential.Scores
}

// close closes the runs.
func (c *competition) close(err error) error {
	for _, run := range slices.Backward(c.runs) {
		err = run.close(err)
	}
	return err
}

// play plays what the design asks for until it asks for nothing.
func (c *competition) play(ctx context.Context) error {
	spec := c.runs[0].spec
	c.design = sequential.Design{Trials: spec.Trials, Agents: len(c.runs), Seed: spec.Seed, Decide: c.until.decided && len(c.runs) > 1, Width: c.until.width}
	for _, s := range spec.Scenarios {
		name := s.GetSetup().GetName()
		c.design.Scenarios = append(c.design.Scenarios, sequential.Scenario{Name: name, Base: scenario.Base(s)})
	}
	ctx, release := watched(ctx, c.runs)
	defer release()
	for agent, run := range c.runs {
		stored, err := run.create(ctx, true)
		if err == nil {
			err = c.collect(ctx, agent, lasting(stored, run.collector.record))
		}
		if err != nil {
			return cause(ctx, err)
		}
	}
	for {
		step := c.design.Next(c.scores)
		if step.Ended() {
			return cause(ctx, c.cancelRest(ctx))
		}
		for agent, rollouts := range step.Rollouts {
			if err := c.queue(ctx, agent, rollouts); err != nil {
				return cause(ctx, err)
			}
		}
	}
}

// cancelRest ends the sweeps. Otherwise they stay open, and services keep open sweeps for ever.
func (c *competition) cancelRest(ctx context.Context) error {
	for _, run := range c.runs {
		client := orchestratorv1.NewOrchestratorServiceClient(run.services.Node().Conn(rpc.Orchestrator))
		if _, err := sweep.Cancel(ctx, client, run.playing); err != nil {
			return err
		}
	}
	return nil
}

// queue has an agent play rollouts, and waits for them.
func (c *competition) queue(ctx context.Context, agent int, rollouts []int) error {
	if len(rollouts) == 0 {
		return nil
	}
	run := c.runs[agent]
	if err := run.collector.planned.Queue(ctx, rollouts); err != nil {
		return err
	}
	wanted := make(map[string]bool)
	for _, n := range rollouts {
		wanted[fmt.Sprintf("%s.%d", run.playing, n)] = true
	}
	return c.collect(ctx, agent, wanted)
}

// watched returns a context that ends when a service of any of the runs fails.
func watched(ctx context.Context, runs []*opened) (_ context.Context, release func()) {
	if len(runs) == 0 {
		return ctx, func() {}
	}
	ctx, last := runs[0].services.Watched(ctx, runs[0].collector.stop)
	ctx, others := watched(ctx, runs[1:])
	return ctx, func() {
		others()
		last()
	}
}

// lasting returns the ids of the results that count: those of rollouts that are not played
// again.
func lasting(stored map[string]bool, record *results.Run) map[string]bool {
	ids := make(map[string]bool)
	for id, final := range stored {
		if final {
			ids[id] = true
		}
	}
	for _, rollout := range record.Damaged() {
		delete(ids, rollout.ID)
	}
	return ids
}

// collect waits for rollouts of an agent, and adds them to its run and its scores.
func (c *competition) collect(ctx context.Context, agent int, wanted map[string]bool) error {
	run, scores := c.runs[agent], c.scores[agent]
	return run.collector.planned.Await(ctx, wanted, run.collector.progress.Report, func(result *busv1.Result) error {
		n := results.PlanNumber(result.GetRollout().GetId())
		if _, known := scores[n]; known {
			return nil
		}
		scores[n] = math.NaN()
		if resultfile.Scored(result) {
			scores[n] = result.GetSimilarity()
		}
		return run.collector.add(result)
	})
}

// conclude writes the files of the runs and what they show. played is the error of playing them.
func (c *competition) conclude(ctx context.Context, played error, o *Options, stdout io.Writer) error {
	var errs []error
	done := 0
	for _, run := range c.runs {
		errs = append(errs, run.collector.finish())
		done += run.collector.done()
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(played, err)
	}
	again := "continue with " + o.again()
	spent, isSpent := errors.AsType[*sweep.SpendLimitError](played)
	switch {
	case isSpent:
		return fmt.Errorf("%s; %d rollouts are done: then %s", spent.Reason, done, again)
	case played != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted with %d rollouts done: %s", done, again)
	case played != nil:
		return fmt.Errorf("%w; %d rollouts are done: %s", played, done, again)
	}
	decision := newDecision(c.design.Result(c.scores), c.runs)
	if err := decision.store(o.out); err != nil {
		return err
	}
	write := decision.write
	if o.asJSON {
		write = func(w io.Writer) error { return report.JSON(w, decision) }
	}
	errs = append(errs, write(stdout))
	for _, run := range c.runs {
		errs = append(errs, run.verdict(run.collector))
	}
	return errors.Join(errs...)
}
