package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// lookEvery is the interval at which a sweep is asked for its progress.
const lookEvery = time.Second

// Scenarios returns the scenarios of a command by name. It may take a while.
type Scenarios func(context.Context) (map[string]*scenariov1.Scenario, error)

// sweepSource is a sweep of an installation, by the interface that sweep watch and top use.
type sweepSource struct {
	orchestrator orchestratorv1.OrchestratorServiceClient
	id, name     string
	scenarios    Scenarios
	fork         *results.Fork // what it continues, nil if that is not known

	mu      sync.Mutex
	info    *orchestratorv1.SweepInfo
	results map[string]*busv1.Result // by id
	ids     map[string]string        // by name
	// evaluations are the digests of what scored the results, by the scenario's name.
	evaluations map[string]string
	ended       bool
}

// openSweep returns a sweep of an installation. The error says that there is none with this id.
func openSweep(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, id string, scenarios Scenarios) (*sweepSource, error) {
	s := newSweep(orchestrator, id, "sweep "+id, scenarios)
	var err error
	s.info, err = sweep.Get(ctx, orchestrator, id)
	return s, err
}

func newSweep(orchestrator orchestratorv1.OrchestratorServiceClient, id, name string, scenarios Scenarios) *sweepSource {
	return &sweepSource{orchestrator: orchestrator, id: id, name: name, scenarios: scenarios, results: make(map[string]*busv1.Result), ids: make(map[string]string), evaluations: make(map[string]string)}
}

// add adds a result.
func (s *sweepSource) add(result *busv1.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rollout := result.GetRollout()
	s.results[rollout.GetId()], s.evaluations[rollout.GetScenario()] = result, rollout.GetEvaluationDigest()
}

// own returns the scenarios, with their variants, that scored a result of the sweep. Whoever can
// see the sweep had them. A scenario that only has the name of one scores by another evaluation.
func (s *sweepSource) own(scenarios Scenarios) Scenarios {
	digests := make(map[string]string)
	var of int // the number of evaluations that shown is of
	var shown map[string]*scenariov1.Scenario
	return func(ctx context.Context) (map[string]*scenariov1.Scenario, error) {
		known, err := scenarios(ctx)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if of == len(s.evaluations) && shown != nil {
			return shown, nil
		}
		bases := make(map[string]bool)
		for name, digest := range s.evaluations {
			if known[name] != nil && digests[name] == "" {
				if digests[name], _, err = bus.Digest(known[name].GetEvaluation()); err != nil {
					return nil, err
				}
			}
			if digest != "" && digest == digests[name] {
				bases[scenario.BaseName(name)] = true
			}
		}
		of, shown = len(s.evaluations), make(map[string]*scenariov1.Scenario)
		for name := range known {
			if bases[scenario.BaseName(name)] {
				shown[name] = known[name]
			}
		}
		return shown, nil
	}
}

// Run implements Source. What only trajectories have is unknown: calls, times and usage.
func (s *sweepSource) Run(ctx context.Context) (*analysis.Run, error) {
	known, err := s.scenarios(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	record := &results.Run{SweepID: s.id, Agent: results.Player{Name: strings.Join(s.info.GetAgents(), ", ")}, User: results.Player{Name: strings.Join(s.info.GetUsers(), ", ")}, Trials: 1, Fork: s.fork}
	for _, result := range s.results {
		record.Trials = max(record.Trials, int(result.GetRollout().GetTrial())+1)
	}
	var rollouts []results.Rollout
	clear(s.ids)
	for _, id := range slices.SortedFunc(maps.Keys(s.results), func(a, b string) int {
		return cmp.Or(cmp.Compare(results.PlanNumber(a), results.PlanNumber(b)), cmp.Compare(a, b))
	}) {
		result := s.results[id]
		played := result.GetRollout()
		of := known[played.GetScenario()]
		if of == nil {
			of = &scenariov1.Scenario{Setup: &setupv1.Setup{Name: played.GetScenario()}}
		}
		name := results.RolloutName(played.GetScenario(), int(played.GetTrial()), record.Trials)
		for n := 2; s.ids[name] != ""; n++ { // of another agent or user
			name = fmt.Sprintf("%s (%d)", results.RolloutName(played.GetScenario(), int(played.GetTrial()), record.Trials), n)
		}
		s.ids[name] = id
		rollouts = append(rollouts, results.Rollout{Rollout: resultfile.Rollout{Scenario: of, Result: result, Directory: name}})
	}
	record.End(time.Time{}, int(s.info.GetProgress().GetTotal()), rollouts)
	if !s.ended {
		record.Ended = nil
	}
	return analysis.NewRun(s.name, results.Summarize(rollouts), record), nil
}

// Trajectory implements Source.
func (s *sweepSource) Trajectory(ctx context.Context, rollout string, schema *world.Schema) (*Trajectory, error) {
	s.mu.Lock()
	id := s.ids[rollout]
	s.mu.Unlock()
	if id == "" {
		return nil, fmt.Errorf("read %s: %w", rollout, fs.ErrNotExist)
	}
	played, err := s.orchestrator.GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: id})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", rollout, err)
	}
	items, err := sweep.Recorded(ctx, s.orchestrator, id)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", rollout, err)
	}
	trajectory := &Trajectory{Trajectory: &resultfile.Trajectory{Messages: played.GetMessages()}, Turns: make(map[int]results.Turn)}
	for _, exchange := range play.Exchanges(items) {
		trajectory.Turns[exchange.Index] = exchange.Turn()
	}
	if schema != nil {
		trajectory.Tables = played.GetTables()
	}
	return trajectory, nil
}

// Follow implements Source.
func (s *sweepSource) Follow(ctx context.Context, changed func(report.SweepDetail)) error {
	watched := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() {
		watched <- sweep.Watch(ctx, s.orchestrator, s.id, nil, func(result *busv1.Result) error {
			s.add(result)
			return nil
		})
	})
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	pace := pace{}
	for {
		info, err := sweep.Get(ctx, s.orchestrator, s.id)
		if err == nil {
			s.mu.Lock()
			s.info = info
			s.mu.Unlock()
			changed(pace.add(report.NewSweepDetail(info)))
		}
		select {
		case err := <-watched:
			s.mu.Lock()
			s.ended = true
			s.mu.Unlock()
			if _, spent := errors.AsType[*sweep.SpendLimitError](err); spent || errors.Is(err, process.ErrCancelled) {
				err = nil
			}
			if info, getErr := sweep.Get(ctx, s.orchestrator, s.id); getErr == nil {
				changed(report.NewSweepDetail(info))
			}
			return err
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// paceLooks is the number of looks over which a rate is taken.
const paceLooks = 10

// pace is the last looks at a sweep.
type pace []struct {
	at   time.Time
	done int64
}

// add adds a look and returns it with its rate, from the second one on.
func (p *pace) add(now report.SweepDetail) report.SweepDetail {
	*p = append(*p, struct {
		at   time.Time
		done int64
	}{time.Now(), now.Done})
	if len(*p) > paceLooks {
		*p = (*p)[1:]
	}
	first, last := (*p)[0], (*p)[len(*p)-1]
	if took := last.at.Sub(first.at).Seconds(); took > 0 {
		rate := float64(last.done-first.done) / took
		now.Rate = &rate
	}
	return now
}
