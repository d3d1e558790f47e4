package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/execute"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// setupPrefix begins the ids under which setups are stored. No session id can begin with it.
const setupPrefix = "~setup."

// start is a compiled setup, shared by all sessions that begin with it. It is immutable.
type start struct {
	digest    string
	world     session.World
	tables    []*worldv1.Table // by table, then index
	lastIndex int32
	// sender is who spoke the last starting message; the conversation is over if it says so.
	environment *execute.Environment
	response    *toolhostv1.CreateSessionResponse
}

// startOf compiles a setup and stores it, unless it was before.
func (h *Host) startOf(ctx context.Context, setup *setupv1.Setup) (*start, error) {
	digest, raw, err := bus.Digest(setup)
	if err != nil {
		return nil, err
	}
	if compiled, ok := h.starts.Get(digest); ok {
		return compiled, nil
	}
	compiled, err := h.compile(digest, setup)
	if err != nil {
		return nil, err
	}
	if err := h.store.Create(ctx, setupPrefix+digest, raw, nil, 0); err != nil && !errors.Is(err, store.ErrExists) {
		return nil, fmt.Errorf("store setup %s: %w", setup.GetName(), err)
	}
	h.starts.Add(digest, compiled)
	return compiled, nil
}

// storedStart returns a setup that was stored before.
func (h *Host) storedStart(_ context.Context, digest string) (*start, error) {
	if compiled, ok := h.starts.Get(digest); ok {
		return compiled, nil
	}
	stored, err := h.store.Load(setupPrefix + digest)
	if err != nil {
		return nil, fmt.Errorf("load setup: %w", err)
	}
	setup := &setupv1.Setup{}
	if err := proto.Unmarshal(stored.Meta, setup); err != nil {
		return nil, fmt.Errorf("load setup: %w", err)
	}
	compiled, err := h.compile(digest, setup)
	if err != nil {
		return nil, err
	}
	h.starts.Add(digest, compiled)
	return compiled, nil
}

func (h *Host) compile(digest string, setup *setupv1.Setup) (*start, error) {
	agentTools, err := h.catalogue.Select(setup.GetTools())
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrSetup, setup.GetName(), err)
	}
	allowed := setup.GetTools().GetAllow()
	if len(allowed) == 0 || len(agentTools) > len(allowed) {
		for _, t := range agentTools {
			allowed = append(allowed, t.GetExecutionName())
		}
	}
	allowed = slices.DeleteFunc(slices.Clone(allowed), func(name string) bool { return slices.Contains(setup.GetTools().GetDeny(), name) })
	s := &start{
		digest:      digest,
		world:       session.NewWorld(setup.GetSeed(), setup.GetClock().GetNow()),
		tables:      slices.Clone(setup.GetTables()),
		lastIndex:   int32(len(setup.GetMessages())) - 1,
		environment: execute.New(h.catalogue, allowed),
	}
	slices.SortStableFunc(s.tables, func(a, b *worldv1.Table) int {
		if a.GetName() != b.GetName() {
			return int(a.GetName()) - int(b.GetName())
		}
		return int(a.GetIndex()) - int(b.GetIndex())
	})
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrSetup, setup.GetName(), err)
	}
	if n := len(setup.GetMessages()); n > 0 {
		last := setup.GetMessages()[n-1]
		s.world.SetActive(last.ConversationActive == nil || last.GetConversationActive())
	}
	s.response = &toolhostv1.CreateSessionResponse{
		AgentTools: agentTools,
		UserTools:  h.catalogue.ForUser(),
		Versions:   pointers(s.newest()),
	}
	return s, nil
}

// load checks the starting tables and puts their newest versions into the world.
func (s *start) load() error {
	for _, version := range s.tables {
		schema, ok := world.SchemaOf(version.GetName())
		if !ok || version.GetName() == worldv1.TableName_TABLE_NAME_SANDBOX {
			return fmt.Errorf("table %s cannot start with rows", version.GetName())
		}
		if version.GetIndex() > s.lastIndex {
			return fmt.Errorf("table %s: version at message %d, but the last starting message is %d", world.TableText(version.GetName()), version.GetIndex(), s.lastIndex)
		}
		for i, row := range version.GetRows() {
			if len(row.GetCells()) != len(schema.Columns) {
				return fmt.Errorf("table %s, row %d: %d cells, expected %d", world.TableText(version.GetName()), i, len(row.GetCells()), len(schema.Columns))
			}
			for j, cell := range row.GetCells() {
				if !world.Fits(cell, schema.Columns[j].Kind) {
					return fmt.Errorf("table %s, row %d: column %s does not hold %s", world.TableText(version.GetName()), i, schema.Columns[j].Name, schema.Columns[j].Kind)
				}
			}
		}
		s.world.Load(version.GetName(), session.Decode(version.GetRows()))
	}
	return nil
}

// newest returns the index of the newest starting version of each table.
func (s *start) newest() map[worldv1.TableName]int32 {
	versions := make(map[worldv1.TableName]int32, len(session.Tables()))
	for _, version := range s.tables {
		versions[version.GetName()] = version.GetIndex()
	}
	return versions
}

// versionAt returns the starting version that holds at a message: before the first one it is the first one.
func (s *start) versionAt(name worldv1.TableName, at int32) *worldv1.Table {
	var found *worldv1.Table
	for _, version := range s.tables {
		if version.GetName() == name && (found == nil || version.GetIndex() <= at) {
			found = version
		}
	}
	return found
}

// pointers lists versions in table order.
func pointers(versions map[worldv1.TableName]int32) []*worldv1.TableVersion {
	var list []*worldv1.TableVersion
	for _, name := range session.Tables() {
		if index, ok := versions[name]; ok {
			list = append(list, &worldv1.TableVersion{Name: name, Index: index})
		}
	}
	return list
}
