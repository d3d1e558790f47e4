package orchestrator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// GetTrajectory implements OrchestratorService.
func (s *server) GetTrajectory(ctx context.Context, req *orchestratorv1.GetTrajectoryRequest) (*orchestratorv1.GetTrajectoryResponse, error) {
	if err := s.checkRollout(ctx, req.GetRolloutId()); err != nil {
		return nil, statusOf(err)
	}
	trajectory, err := s.trajectory(ctx, req.GetRolloutId())
	if errors.Is(err, bus.ErrNotFound) || errors.Is(err, bus.ErrDamaged) || errors.Is(err, rollout.ErrLog) {
		trajectory, err = s.trajectoryOfFailed(ctx, req.GetRolloutId(), err)
	}
	return trajectory, statusOf(err)
}

// trajectory reads a rollout and verifies its integrity. bus.ErrDamaged names the damaged part.
func (s *server) trajectory(ctx context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
	log, err := s.bus.ReadLog(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(log.Entries) == 0 {
		return nil, fmt.Errorf("log of rollout %s: %w", id, bus.ErrNotFound)
	}
	state, err := rollout.Fold(log.Entries)
	if err != nil {
		return nil, fmt.Errorf("rollout %s: %w", id, err)
	}
	snapshots, err := s.bus.ReadSnapshots(ctx, id)
	if err != nil {
		return nil, err
	}
	setup, err := s.bus.Setup(ctx, state.Rollout().GetSetupDigest())
	if err != nil {
		return nil, err
	}
	tables, missing := versions(log.Entries, setup, snapshots)
	if missing != nil {
		return nil, fmt.Errorf("%w: rollout %s, stream %s: table %s as it is at message %d is missing or not what the log says",
			bus.ErrDamaged, id, s.bus.SnapshotStream(id), missing.GetName(), missing.GetIndex())
	}
	return &orchestratorv1.GetTrajectoryResponse{
		Rollout:          state.Rollout(),
		Messages:         state.Messages(),
		StartingMessages: int32(state.Starting()),
		Tables:           tables,
		End:              state.End(),
		Started:          log.Entries[0].GetClaim().GetStarted(),
		Updated:          timestamppb.New(log.Times[len(log.Times)-1]),
		Usage:            state.Usage(),
		LogDigest:        log.End.Digest,
		SessionDigest:    state.SessionDigest(),
		Times:            state.Times(),
		Failing:          state.Failed(),
		Work:             work(log),
		Answered:         state.Answered(),
		Confidence:       state.Confidence(),
	}, nil
}

// work returns when workers played a rollout.
func work(log *bus.Log) []*orchestratorv1.Work {
	var all []*orchestratorv1.Work
	for i, entry := range log.Entries {
		if claim := entry.GetClaim(); claim != nil {
			all = append(all, &orchestratorv1.Work{Started: claim.GetStarted()})
		}
		if len(all) > 0 {
			all[len(all)-1].Ended = timestamppb.New(log.Times[i])
		}
	}
	return all
}

// digestedTable is a table version with its digest.
type digestedTable struct {
	*worldv1.Table
	digest []byte
}

// versions returns the distinct versions of a session's tables, by table, then index: those of the
// setup and those of the log. missing is the first version of the log that is not stored. It leaves
// out versions of executions whose results are not in the log.
func versions(log []*busv1.LogEntry, setup *setupv1.Setup, snapshots []*busv1.Snapshot) (tables []*worldv1.Table, missing *worldv1.TableVersion) {
	have := make(map[string]map[int32][]digestedTable)
	add := func(list []*worldv1.Table) {
		for _, table := range list {
			digest, err := world.Digest(table)
			if err != nil {
				continue // impossible: it was decoded, so its texts are UTF-8
			}
			if have[table.GetName()] == nil {
				have[table.GetName()] = make(map[int32][]digestedTable)
			}
			have[table.GetName()][table.GetIndex()] = append(have[table.GetName()][table.GetIndex()], digestedTable{table, digest})
		}
	}
	add(setup.GetTables())
	for _, snapshot := range snapshots {
		add(snapshot.GetTables())
	}
	tables = slices.Clone(setup.GetTables())
	for _, version := range namedVersions(log) {
		candidates := have[version.GetName()][version.GetIndex()]
		at := slices.IndexFunc(candidates, func(s digestedTable) bool { return bytes.Equal(s.digest, version.GetDigest()) })
		if at < 0 {
			return nil, version
		}
		tables = append(tables, candidates[at].Table)
	}
	slices.SortStableFunc(tables, world.SchemaOrBuiltin(setup.GetSchema()).Compare)
	return slices.CompactFunc(tables, func(a, b *worldv1.Table) bool {
		return a.GetName() == b.GetName() && a.GetIndex() == b.GetIndex()
	}), nil
}

// namedVersions returns every version that a log refers to.
func namedVersions(log []*busv1.LogEntry) []*worldv1.TableVersion {
	var all []*worldv1.TableVersion
	for _, entry := range log {
		all = append(all, entry.GetStart().GetVersions()...)
		all = append(all, entry.GetClaim().GetVersions()...)
		for _, turn := range entry.GetTurns() {
			all = append(all, turn.GetVersions()...)
		}
	}
	return all
}
