// Package evaluator follows message logs and snapshots and scores each complete trajectory. Only
// this service reads milestones and minefields.
package evaluator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

// queueLength is the maximum number of trajectories that wait for a scorer. Followers block when
// the queue is full.
const queueLength = 256

// Run serves EvaluatorService and scores rollouts until ctx is done. All its state is derived from
// the bus: after a restart it reads the streams again and continues with the rollouts that have no
// result.
func Run(ctx context.Context, cfg Config, node rpc.Network, stores bus.Evaluator) (err error) {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("evaluator: %w", err)
	}
	logger := node.Logger(rpc.Evaluator)
	scorer, err := newScorer(stores, node.Telemetry(), logger)
	if err != nil {
		return fmt.Errorf("evaluator: %w", err)
	}
	stop, err := measureEvaluations(stores.Evaluations, logger)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return fmt.Errorf("evaluator: %w", err)
	}
	assembler, err := resume(ctx, stores)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("evaluator: %w", err)
	}
	service := &server{bus: stores, scorer: scorer, assembler: assembler, done: ctx.Done()}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tasks := []func(context.Context) error{
		func(ctx context.Context) error {
			return node.Serve(ctx, rpc.Evaluator, func(registrar grpc.ServiceRegistrar) {
				evaluatorv1.RegisterEvaluatorServiceServer(registrar, service)
			})
		},
		func(ctx context.Context) error { return follow(ctx, cfg, stores, scorer, assembler) },
		func(ctx context.Context) error {
			stores.Evaluations.Retain(ctx, func(err error) { logger.Warn("old evaluations stay until the next attempt", "error", err) })
			return nil
		},
	}
	errs := make([]error, len(tasks))
	var group sync.WaitGroup
	for i, task := range tasks {
		group.Go(func() {
			defer cancel()
			errs[i] = task(ctx)
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("evaluator: %w", err)
	}
	return nil
}

// resume returns an assembler that excludes rollouts with results.
func resume(ctx context.Context, b bus.Evaluator) (*assemble.Assembler, error) {
	done := make(map[string]int32)
	if err := b.ResultIDs(ctx, "", func(id string, round int32) { done[id] = max(done[id], round) }); err != nil {
		return nil, err
	}
	return assemble.New(done), nil
}

// follow reads all shards and scores complete trajectories.
func follow(ctx context.Context, cfg Config, b bus.Evaluator, s *scorer, assembler *assemble.Assembler) error {
	group, ctx := errgroup.WithContext(ctx)
	complete := make(chan *assemble.Trajectory, queueLength)
	submit := func(trajectory *assemble.Trajectory) {
		if trajectory == nil {
			return
		}
		select {
		case complete <- trajectory:
			s.meters.waiting.Add(ctx, 1)
		case <-ctx.Done():
		}
	}
	for shard := range b.Shards() {
		group.Go(func() error {
			return b.FollowLog(ctx, shard, func(id string, seq uint64, entry *busv1.LogEntry) error {
				trajectory, err := s.addEntry(ctx, assembler, id, seq, entry)
				submit(trajectory)
				return err
			})
		})
		group.Go(func() error {
			return b.FollowSnapshots(ctx, shard, func(snapshot *busv1.Snapshot) error {
				submit(assembler.AddSnapshot(snapshot))
				return nil
			})
		})
	}
	group.Go(func() error {
		return b.WatchControl(ctx, "", func(sweepID string, control *busv1.SweepControl) {
			if control.GetDeleted() {
				assembler.Forget(sweepID)
			}
		})
	})
	group.Go(func() error {
		return b.FollowScoreRequests(ctx, func(request *busv1.Result) error {
			return s.retryUnavailable(ctx, func() error { return s.handleRequest(ctx, request) })
		})
	})
	for range cfg.Scorers {
		group.Go(func() error { return storeResults(ctx, s, assembler, complete) })
	}
	return group.Wait()
}

// addEntry adds an entry to the state of its rollout. It ignores a broken log, which must not stop
// the others; the rollout's worker requests the result.
func (s *scorer) addEntry(ctx context.Context, assembler *assemble.Assembler, id string, seq uint64, entry *busv1.LogEntry) (*assemble.Trajectory, error) {
	trajectory, err := assembler.AddEntry(id, seq, entry)
	if errors.Is(err, assemble.ErrReopened) {
		err = s.retryUnavailable(ctx, func() (err error) {
			trajectory, err = restore(ctx, s.bus, assembler, id)
			return err
		})
	}
	if errors.Is(err, assemble.ErrLog) || errors.Is(err, bus.ErrDamaged) {
		s.logger.Error("log ignored", "rollout", id, "error", err)
		return trajectory, nil
	}
	return trajectory, err
}

// restore reads a reopened rollout from the bus, because its state may have been dropped when it
// ended.
func restore(ctx context.Context, b bus.Evaluator, assembler *assemble.Assembler, id string) (*assemble.Trajectory, error) {
	log, snapshots, err := read(ctx, b, id)
	if err != nil {
		return nil, err
	}
	return assembler.Restore(id, log, snapshots)
}

// read returns the log and snapshots of a rollout from the bus.
func read(ctx context.Context, b bus.Evaluator, id string) (*bus.Log, []*busv1.Snapshot, error) {
	log, err := b.ReadLog(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	snapshots, err := b.ReadSnapshots(ctx, id)
	return log, snapshots, err
}

// storeResults stores the results of complete trajectories until ctx is done.
func storeResults(ctx context.Context, scorer *scorer, assembler *assemble.Assembler, complete <-chan *assemble.Trajectory) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case trajectory := <-complete:
			scorer.meters.waiting.Add(ctx, -1)
			if err := scorer.retryUnavailable(ctx, func() error { return scorer.storeResult(ctx, trajectory) }); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			assembler.Done(trajectory.Rollout.GetId(), trajectory.Round)
		}
	}
}
