package play

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/runs/terminal"
)

const (
	// writers is the number of trajectories fetched and written concurrently.
	writers = 8
	// interruptTimeout is how long an interrupted run may fetch finished rollouts.
	interruptTimeout = 3 * time.Second
)

// collector fetches each finished rollout's trajectory and writes its results.
type collector struct {
	spec      sweep.Spec
	scenarios map[string]*scenariov1.Scenario
	directory *directory
	record    *results.Run
	into      []destination // in this order
	tables    *tables       // one of them, nil without
	euroeval  *euroEvalRecords
	earlier   map[string]results.Outcome // of a resumed run, by id
	settled   map[int]bool               // numbers of rollouts that the tables have and that are not played again
	rollouts  []results.Rollout          // in the order of the plan, nil until finish

	ctx      context.Context
	stop     context.CancelFunc // stops fetching
	planned  *sweep.Sweep
	progress *report.Progress
	queue    chan *busv1.Result
	group    sync.WaitGroup

	mu       sync.Mutex
	finished []results.Rollout // by number in the plan, without a result if not finished; nil after finish
	shared   *results.Shared   // of their results
	errs     []error
}

// newCollector returns a collector of a run that is interrupted when ctx ends. It then still writes
// finished rollouts, within a time limit. EuroEval draws with the run's seed, if it has one.
func newCollector(
	ctx context.Context, spec sweep.Spec, draws euroeval.Settings, directory *directory, record *results.Run,
) *collector {
	if spec.Seed != 0 {
		draws.Seed = uint64(spec.Seed)
	}
	c := &collector{
		spec: spec, scenarios: make(map[string]*scenariov1.Scenario, len(spec.Scenarios)),
		directory: directory, record: record, euroeval: &euroEvalRecords{run: record, draws: draws, planned: answersOf(spec)},
		earlier: make(map[string]results.Outcome), settled: make(map[int]bool), finished: make([]results.Rollout, spec.Rollouts()), shared: results.NewShared(),
	}
	for _, scenario := range spec.Scenarios {
		c.scenarios[scenario.GetSetup().GetName()] = scenario
	}
	c.ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(interruptTimeout, c.stop) })
	return c
}

// open opens where the rollouts go, and takes over what tables hold.
func (c *collector) open(stderr io.Writer) error {
	c.into = []destination{&files{c.directory.path, c.record}, &recorder{c, sweep.HasToolServers(c.spec.Scenarios)}}
	if c.record.Has(results.FormatParquet) {
		opened, played, damaged, err := results.OpenTables(c.directory.path, c.record.SpecDigest, c.record.Files)
		if err != nil {
			return fmt.Errorf("--resume: %w: choose another --out", err)
		}
		for _, err := range damaged {
			if err := report.Warn(stderr, "a part of the tables is not as it was written; it is set aside, and its rollouts are fetched again: %v", err); err != nil {
				return err
			}
		}
		opened.Fence = func() error { return c.record.Fence(c.directory.path) }
		c.tables = &tables{Tables: opened, settled: c.settled}
		c.into = append(c.into, c.tables)
		c.takeOver(played)
	}
	for o := range c.outcomes() {
		if !c.isDone(results.PlanNumber(o.ID)) {
			c.earlier[o.ID] = o
		}
	}
	return nil
}

// outcomes returns those of the rollouts that have ended before, in the order of the plan.
func (c *collector) outcomes() iter.Seq[results.Outcome] {
	if !c.record.HasOnlyTables() {
		return slices.Values(c.record.Rollouts)
	}
	return func(yield func(results.Outcome) bool) {
		for _, rollout := range c.finished {
			if isFinished(rollout) && !yield(rollout.Outcome()) {
				return
			}
		}
	}
}

// takeOver takes over the rollouts that the tables hold.
func (c *collector) takeOver(played []results.Rollout) {
	replayed := make(map[string]bool)
	for _, rollout := range c.record.Damaged() {
		replayed[rollout.ID] = true
	}
	if c.record.HasOnlyTables() {
		var damaged []results.Outcome
		for _, rollout := range played {
			if id := rollout.Result.GetRollout().GetId(); rollout.Damage != "" && !replayed[id] {
				damaged = append(damaged, rollout.Outcome())
			}
		}
		c.record.AddDamaged(damaged)
	}
	for i := range played {
		rollout := &played[i]
		id := rollout.Result.GetRollout().GetId()
		planned := c.plannedRollout(id)
		if planned == nil || !isOf(rollout.Result, planned) {
			continue
		}
		rollout.Scenario = c.scenarios[planned.GetScenario()]
		share(rollout.Result, planned)
		rollout.Result.LogDigest = nil // the tables have it
		c.finished[results.PlanNumber(id)] = *rollout
		if rollout.Settled() && !replayed[id] {
			c.settled[results.PlanNumber(id)] = true
		}
	}
}

// answersOf returns the number of answers to records of EuroEval's task that a sweep wants.
func answersOf(spec sweep.Spec) int {
	of := spec
	of.Scenarios = slices.DeleteFunc(slices.Clone(spec.Scenarios), isConversation)
	return of.Rollouts()
}

// share reduces the rollout of a result to what the run's files name. All share the names and the
// players of the plan.
func share(result *busv1.Result, planned *busv1.Rollout) {
	r := result.GetRollout()
	id, seed := r.GetId(), r.GetSeed()
	proto.Reset(r)
	r.Id, r.Seed, r.Scenario, r.Trial, r.Agent, r.User = id, seed, planned.GetScenario(), planned.GetTrial(), planned.GetAgent(), planned.GetUser()
}

// isDone reports whether a rollout needs no fetching. Files may have been changed or lost.
func (c *collector) isDone(n int) bool { return c.settled[n] && c.record.HasOnlyTables() }

// start prepares the collector for results.
func (c *collector) start(prepared *sweep.Sweep, evaluator evaluatorv1.EvaluatorServiceClient, progress *report.Progress) {
	c.planned, c.progress = prepared, progress
	if c.tables != nil {
		c.tables.evaluator = evaluator
	}
	c.queue = make(chan *busv1.Result, writers)
	for range writers {
		c.group.Go(func() {
			for result := range c.queue {
				c.collect(result)
			}
		})
	}
}

// add takes one result. It fails once a file could not be written.
func (c *collector) add(result *busv1.Result) error {
	c.mu.Lock()
	failed := len(c.errs) > 0
	c.mu.Unlock()
	if failed {
		return errors.New("a trajectory could not be written")
	}
	c.queue <- result
	return nil
}

func (c *collector) collect(result *busv1.Result) {
	n := results.PlanNumber(result.GetRollout().GetId())
	if c.isDone(n) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.progress.Add(rowOf(c.finished[n]))
		return
	}
	rollout, err := c.write(result)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.ctx.Err() != nil {
		return // stopped: the next run fetches it
	}
	if err != nil {
		if !slices.ContainsFunc(c.errs, func(other error) bool { return other.Error() == err.Error() }) {
			c.errs = append(c.errs, err)
		}
		return
	}
	c.shared.Result(rollout.Result)
	c.finished[n] = rollout
	c.progress.Add(rowOf(rollout))
}

// rowOf returns the line of a rollout for a person.
func rowOf(r results.Rollout) report.Row {
	return report.Row{Name: r.Name(), Result: r.Result, Duration: results.Worked(r.Work), Usage: r.Usage}
}

// write fetches a rollout's trajectory and writes its results.
func (c *collector) write(result *busv1.Result) (results.Rollout, error) {
	id := result.GetRollout().GetId()
	trajectory, damage, err := c.trajectory(result)
	if err != nil {
		return results.Rollout{}, err
	}
	planned := c.plannedRollout(id)
	if planned == nil {
		return results.Rollout{}, fmt.Errorf("result of %s: the run has no such rollout", id)
	}
	scenario := c.scenarios[planned.GetScenario()]
	if namesNoLog(result) || !isOf(result, planned) { // anybody may have written the score
		result = &busv1.Result{Rollout: planned, Round: result.GetRound(), End: &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE, Detail: damage}}
	} else {
		share(result, planned)
	}
	rollout := results.Rollout{Rollout: resultfile.Rollout{Scenario: scenario, Result: result, Directory: c.name(result)}, Damage: damage}
	if damage == "" { // otherwise existing files stay
		rollout.Messages, rollout.Tables = trajectory.GetMessages(), trajectory.GetTables()
		rollout.Usage, rollout.Answered, rollout.Calls = trajectory.GetUsage(), trajectory.GetAnswered(), results.CountCalls(trajectory.GetMessages())
		rollout.Work, rollout.Confidence = results.WorkOf(trajectory.GetWork()), trajectory.Confidence
		rollout.Ended = trajectory.GetEnd().GetReason()
	}
	for _, destination := range c.into {
		if err := destination.add(c.ctx, &rollout); err != nil {
			return results.Rollout{}, err
		}
	}
	rollout.Messages, rollout.Tables, rollout.Result.LogDigest = nil, nil, nil // the summary needs none
	return rollout, nil
}

// trajectory fetches the scored trajectory of a result, or describes its damage.
func (c *collector) trajectory(result *busv1.Result) (trajectory *orchestratorv1.GetTrajectoryResponse, damage string, err error) {
	id := result.GetRollout().GetId()
	if namesNoLog(result) {
		return nil, fmt.Sprintf("rollout %s: its result does not name the log that was scored", id), nil
	}
	if !isOf(result, c.plannedRollout(id)) {
		return nil, fmt.Sprintf("rollout %s: its result is that of another rollout, of scenario %s", id, result.GetRollout().GetScenario()), nil
	}
	trajectory, err = c.planned.Trajectory(c.ctx, id)
	switch code := status.Code(err); {
	case code == codes.DataLoss, code == codes.NotFound:
		return nil, status.Convert(err).Message(), nil
	case err != nil:
		return nil, "", err
	case len(result.GetLogDigest()) > 0 && !bytes.Equal(result.GetLogDigest(), trajectory.GetLogDigest()):
		return nil, fmt.Sprintf("rollout %s: its log has lost its tail: it ends with %.8x, but the scored log ended with %.8x",
			id, trajectory.GetLogDigest(), result.GetLogDigest()), nil
	case len(trajectory.GetMessages()) == 0: // too little is left
		return nil, cmp.Or(result.GetEnd().GetDetail(), "its log is empty"), nil
	}
	return trajectory, "", nil
}

// plannedRollout returns the rollout with an id as far as the run's files name it, nil if it is not
// in the plan.
func (c *collector) plannedRollout(id string) *busv1.Rollout {
	rollout, _ := planned(c.spec, id)
	return rollout
}

// planned returns the rollout of a sweep with an id as far as the run's files name it, and its
// scenario. They are nil if it is not in the plan: scenarios × agents × users × trials, in this
// nesting order.
func planned(spec sweep.Spec, id string) (*busv1.Rollout, *scenariov1.Scenario) {
	n := results.PlanNumber(id)
	if n < 0 || n >= spec.Rollouts() {
		return nil, nil
	}
	rollout := &busv1.Rollout{Id: id, Trial: spec.Fork.GetTrial() + int32(n%spec.Trials)}
	n /= spec.Trials
	rollout.User = spec.Users[n%len(spec.Users)]
	n /= len(spec.Users)
	rollout.Agent = spec.Agents[n%len(spec.Agents)]
	scenario := spec.Scenarios[n/len(spec.Agents)]
	rollout.Scenario = scenario.GetSetup().GetName()
	return rollout, scenario
}

// isOf reports whether a result is that of a rollout, as far as the run's files name it.
func isOf(result *busv1.Result, planned *busv1.Rollout) bool {
	got := result.GetRollout()
	return got.GetScenario() == planned.GetScenario() && got.GetTrial() == planned.GetTrial() &&
		got.GetAgent().GetName() == planned.GetAgent().GetName() && got.GetUser().GetName() == planned.GetUser().GetName()
}

// namesNoLog reports whether a result has a score, but not the digest of a log to check it with.
func namesNoLog(result *busv1.Result) bool {
	return resultfile.Scored(result) && len(result.GetLogDigest()) == 0
}

// name returns the rollout's directory: the scenario, with the trial if there are several.
func (c *collector) name(result *busv1.Result) string {
	return results.RolloutName(result.GetRollout().GetScenario(), int(result.GetRollout().GetTrial()), c.spec.Trials)
}

// finish waits for the results and writes those of the whole run. It does
// nothing before start.
func (c *collector) finish() error {
	if c.queue == nil {
		return nil
	}
	close(c.queue)
	c.group.Wait()
	c.stop()
	c.progress.End()
	if len(c.errs) == 0 {
		c.rollouts = slices.DeleteFunc(c.finished, func(r results.Rollout) bool { return !isFinished(r) })
		c.finished = nil
	}
	content, digests := make(map[string][]byte), make(map[string]string)
	errs, ended := c.errs, now()
	for _, destination := range c.into {
		left, written, err := destination.end(c.rollouts)
		if err != nil {
			errs = append(errs, err)
		}
		maps.Copy(content, left)
		maps.Copy(digests, written)
	}
	records, err := c.euroeval.files(c.rollouts, ended)
	if err != nil {
		errs = append(errs, err)
	}
	maps.Copy(content, records)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	c.record.End(ended, c.spec.Rollouts(), c.rollouts)
	return results.WriteResults(c.directory.path, c.record, content, digests)
}

// rows returns the lines of the rollouts.
func (c *collector) rows() []report.Row {
	rows := make([]report.Row, len(c.rollouts))
	for i, rollout := range c.rollouts {
		rows[i] = rowOf(rollout)
	}
	return rows
}

// done returns the number of finished rollouts.
func (c *collector) done() int {
	n := len(c.rollouts)
	for _, rollout := range c.finished {
		if isFinished(rollout) {
			n++
		}
	}
	return n
}

func isFinished(r results.Rollout) bool { return r.Result != nil }

// remaining counts the unscored rollouts that the person at the terminal left.
func (c *collector) remaining() int {
	return c.count(func(r *busv1.Result) bool {
		return terminal.PlayerLeft(r.GetEnd().GetDetail()) && atTerminal(r.GetRollout().GetAgent(), r.GetRollout().GetUser())
	})
}

// unmeasured counts the unscored rollouts of which a measure of the pack's own failed.
func (c *collector) unmeasured() int {
	return c.count(func(r *busv1.Result) bool { return r.GetEnd().GetExceptionType() == measure.Exception })
}

// unscored counts the rollouts without a score.
func (c *collector) unscored() int { return c.count(func(*busv1.Result) bool { return true }) }

// count counts the rollouts without a score of some kind.
func (c *collector) count(of func(*busv1.Result) bool) int {
	n := 0
	for _, rollout := range c.rollouts {
		if !resultfile.Scored(rollout.Result) && of(rollout.Result) {
			n++
		}
	}
	return n
}
