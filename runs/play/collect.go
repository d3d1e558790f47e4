package play

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
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

// finished is a rollout with written files.
type finished struct {
	number  int // in the plan
	rollout results.Rollout
}

// collector fetches each finished rollout's trajectory and writes its files.
type collector struct {
	spec      sweep.Spec
	served    bool // some scenario has tool servers
	scenarios map[string]*scenariov1.Scenario
	directory *directory
	record    *results.Run
	earlier   map[string]results.Outcome // of a resumed run, by id
	draws     euroeval.Settings
	euroeval  *results.EuroEval // nil until finish, and if no record was played

	ctx      context.Context
	stop     context.CancelFunc // stops fetching
	planned  *sweep.Sweep
	progress *report.Progress
	queue    chan *busv1.Result
	group    sync.WaitGroup

	mu       sync.Mutex
	finished []finished
	rows     []report.Row
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
		spec: spec, served: sweep.HasToolServers(spec.Scenarios), draws: draws, scenarios: make(map[string]*scenariov1.Scenario, len(spec.Scenarios)),
		directory: directory, record: record, earlier: make(map[string]results.Outcome, len(record.Rollouts)),
	}
	for _, rollout := range record.Rollouts {
		c.earlier[rollout.ID] = rollout
	}
	for _, scenario := range spec.Scenarios {
		c.scenarios[scenario.GetSetup().GetName()] = scenario
	}
	c.ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(interruptTimeout, c.stop) })
	return c
}

// start prepares the collector for results.
func (c *collector) start(prepared *sweep.Sweep, progress *report.Progress) {
	c.planned, c.progress = prepared, progress
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
	rollout, row, err := c.write(result)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.ctx.Err() != nil {
		return // stopped: the next run fetches it
	}
	if err != nil {
		c.errs = append(c.errs, err)
		return
	}
	c.finished = append(c.finished, finished{number: number(result.GetRollout().GetId()), rollout: rollout})
	c.rows = append(c.rows, row)
	c.progress.Add(row)
}

// write fetches a rollout's trajectory and writes its files.
func (c *collector) write(result *busv1.Result) (results.Rollout, report.Row, error) {
	id := result.GetRollout().GetId()
	trajectory, damage, err := c.trajectory(result)
	if err != nil {
		return results.Rollout{}, report.Row{}, err
	}
	planned := c.plannedRollout(id)
	if planned == nil {
		return results.Rollout{}, report.Row{}, fmt.Errorf("result of %s: the run has no such rollout", id)
	}
	scenario := c.scenarios[planned.GetScenario()]
	if namesNoLog(result) || !isOf(result, planned) { // anybody may have written the score
		result = &busv1.Result{Rollout: planned, Round: result.GetRound(), End: &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE, Detail: damage}}
	}
	if damage != "" { // existing files stay
		return results.Rollout{Rollout: resultfile.Rollout{Scenario: scenario, Result: result, Directory: c.name(result)}, Damage: damage}, report.Row{Name: c.name(result), Result: result}, nil
	}
	rollout := results.Rollout{
		Rollout: resultfile.Rollout{
			Scenario: scenario, Result: result, Messages: trajectory.GetMessages(), Tables: trajectory.GetTables(), Directory: c.name(result),
		},
		Usage: trajectory.GetUsage(), Answered: trajectory.GetAnswered(), Calls: results.CountCalls(trajectory.GetMessages()),
	}
	for _, work := range trajectory.GetWork() {
		rollout.Work = append(rollout.Work, results.Work{Started: work.GetStarted().AsTime(), Ended: work.GetEnded().AsTime()})
	}
	if rollout.Digest, err = results.WriteTrajectory(c.directory.path, rollout); err != nil {
		return results.Rollout{}, report.Row{}, err
	}
	switch rollout.RecordingDigest, err = c.storeRecording(result, rollout); status.Code(err) {
	case codes.OK:
	case codes.DataLoss, codes.NotFound: // lost since the trajectory was read
		rollout.Damage = err.Error()
	default:
		return results.Rollout{}, report.Row{}, err
	}
	rollout.Messages, rollout.Tables = nil, nil // the summary needs neither
	return rollout, report.Row{Name: c.name(result), Result: result, Duration: results.Worked(rollout.Work), Usage: trajectory.GetUsage()}, nil
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
// in the plan: scenarios × agents × users × trials, in this nesting order.
func (c *collector) plannedRollout(id string) *busv1.Rollout {
	n, spec := number(id), c.spec
	if n < 0 || n >= len(spec.Scenarios)*len(spec.Agents)*len(spec.Users)*spec.Trials {
		return nil
	}
	rollout := &busv1.Rollout{Id: id, Trial: int32(n % spec.Trials)}
	n /= spec.Trials
	rollout.User = spec.Users[n%len(spec.Users)]
	n /= len(spec.Users)
	rollout.Agent = spec.Agents[n%len(spec.Agents)]
	rollout.Scenario = spec.Scenarios[n/len(spec.Agents)].GetSetup().GetName()
	return rollout
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

// storeRecording stores the external input of a rollout for a replay, and the models' exchanges for
// people. It returns the digest of the input, empty without any.
func (c *collector) storeRecording(result *busv1.Result, rollout results.Rollout) (digest string, err error) {
	if !sweep.HasExternalInput(c.served, c.spec.Services, result.GetRollout().GetAgent(), result.GetRollout().GetUser()) {
		return "", nil
	}
	id := result.GetRollout().GetId()
	items, err := c.planned.Recorded(c.ctx, id)
	if err != nil {
		return "", err
	}
	kept := ""
	if earlier := c.earlier[id]; earlier.Scored && earlier.ContextSHA256 == rollout.Digest {
		kept = earlier.RecordingSHA256
	}
	digest, wrote, err := c.directory.record(number(id), items, kept)
	if err != nil || !wrote {
		return digest, err
	}
	exchanges := Exchanges(items)
	if len(exchanges) == 0 {
		return digest, nil
	}
	return digest, results.WriteExchanges(c.directory.path, rollout.Directory, exchanges)
}

// Exchanges selects the exchanges with model providers.
func Exchanges(items []*orchestratorv1.RecordedItem) []results.Exchange {
	var exchanges []results.Exchange
	for _, item := range items {
		if exchange := item.GetTurn().GetExchange(); exchange != nil {
			exchanges = append(exchanges, results.Exchange{Index: int(item.GetIndex()), Data: exchange})
		}
	}
	return exchanges
}

// name returns the rollout's directory: the scenario, with the trial if there are several.
func (c *collector) name(result *busv1.Result) string {
	return rolloutName(result.GetRollout().GetScenario(), int(result.GetRollout().GetTrial()), c.spec.Trials)
}

// rolloutName returns the name of one of a scenario's trials.
func rolloutName(scenario string, trial, trials int) string {
	if trials < 2 {
		return scenario
	}
	return scenario + "_trial_" + strconv.Itoa(trial)
}

// number returns a rollout's number in the plan, the last part of its id.
func number(rolloutID string) int {
	n, err := strconv.Atoi(rolloutID[strings.LastIndexByte(rolloutID, '.')+1:])
	if err != nil {
		return -1
	}
	return n
}

// finish waits for the files and writes those of the whole run. It does
// nothing before start.
func (c *collector) finish() error {
	if c.queue == nil {
		return nil
	}
	close(c.queue)
	c.group.Wait()
	c.stop()
	c.progress.End()
	if len(c.errs) > 0 {
		return errors.Join(c.errs...)
	}
	slices.SortFunc(c.finished, func(a, b finished) int { return a.number - b.number })
	c.record.End(now(), c.total(), c.rollouts())
	var err error
	if c.euroeval, err = results.NewEuroEval(c.rollouts(), c.draws); err != nil {
		return err
	}
	return results.WriteResults(c.directory.path, c.record, c.summary(), c.euroeval)
}

func (c *collector) rollouts() []results.Rollout {
	rollouts := make([]results.Rollout, len(c.finished))
	for i := range c.finished {
		rollouts[i] = c.finished[i].rollout
	}
	return rollouts
}

func (c *collector) summary() *resultfile.Summary { return results.Summarize(c.rollouts()) }

func (c *collector) done() int { return len(c.finished) }

func (c *collector) total() int { return len(c.spec.Scenarios) * c.spec.Trials }

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
	for _, row := range c.rows {
		if !row.Scored() && of(row.Result) {
			n++
		}
	}
	return n
}
