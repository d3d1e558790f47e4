package host

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	_ "time/tzdata" // where the system has no time zones

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/timezone"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/executor"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// setupPrefix is the prefix of the ids of stored setups, deletedPrefix that of the marks of deleted
// sessions. Session ids cannot start with ownPrefix.
const (
	ownPrefix     = "~"
	setupPrefix   = ownPrefix + "setup."
	deletedPrefix = ownPrefix + "deleted."
)

// compiledSetup is a setup that sessions share. It is immutable.
type compiledSetup struct {
	digest      string
	sum         []byte // digest in bytes
	name        string
	world       session.World
	schema      *world.Schema
	declared    []*worldv1.TableSchema // tables of schema besides the built-in ones
	newest      versions
	tables      []*worldv1.Table // sorted by table, then index
	lastIndex   int32
	clock       *setupv1.Clock
	environment *executor.Environment
	servers     []*setupv1.ToolServer
	response    *toolhostv1.CreateSessionResponse
	// recorded are the setup's recordings. hasRecordings reports whether there are any.
	recorded      *service.Recorded
	hasRecordings bool
	// fromRecordings and offline are the frames of sessions with these sources of hosted services.
	fromRecordings, offline *session.Config
}

// sessionConfig returns the constant part of sessions with a source of hosted services. It contains
// no live answers, which depend on each execution.
func (s *compiledSetup) sessionConfig(services toolhostv1.HostedServices) *session.Config {
	switch {
	case services == toolhostv1.HostedServices_HOSTED_SERVICES_OFFLINE,
		services == toolhostv1.HostedServices_HOSTED_SERVICES_UNSPECIFIED && !s.hasRecordings:
		return s.offline
	default:
		return s.fromRecordings
	}
}

// now returns the virtual time when the last message has the given index.
func (s *compiledSetup) now(index int32) float64 {
	return s.clock.GetNow() + s.clock.GetStep()*float64(max(index-s.lastIndex-1, 0))
}

// SetupRef is the setup of a new session: the setup itself, or the digest of a stored one.
type SetupRef struct {
	Setup  *setupv1.Setup
	Digest string
}

// String returns the name of the setup for errors.
func (o SetupRef) String() string { return cmp.Or(o.Setup.GetName(), o.Digest) }

// setupFor returns a compiled setup. It compiles and stores a new setup, and reads one given by
// digest from the bus.
func (h *Host) setupFor(ctx context.Context, origin SetupRef) (*compiledSetup, error) {
	setup := origin.Setup
	if setup == nil {
		compiled, err := h.storedSetup(origin.Digest)
		if !errors.Is(err, store.ErrNotFound) {
			return compiled, err
		}
		if setup, err = h.bus.Setup(ctx, origin.Digest); errors.Is(err, bus.ErrNotFound) {
			return nil, fmt.Errorf("setup %s: %w: %w", origin.Digest, ErrNoSetup, err)
		} else if err != nil {
			return nil, err
		}
	}
	digest, raw, err := bus.Digest(setup)
	if err != nil {
		return nil, err
	}
	if compiled, ok := h.setups.Get(digest); ok {
		return compiled, nil
	}
	compiled, err := h.compile(digest, setup)
	if err != nil {
		return nil, err
	}
	if err := h.store.Create(ctx, setupPrefix+digest, raw, 0); err != nil && !errors.Is(err, store.ErrExists) {
		return nil, fmt.Errorf("store setup %s: %w", setup.GetName(), err)
	}
	h.setups.Add(digest, compiled)
	return compiled, nil
}

// storedSetup returns a setup that was stored before.
func (h *Host) storedSetup(digest string) (*compiledSetup, error) {
	if compiled, ok := h.setups.Get(digest); ok {
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
	h.setups.Add(digest, compiled)
	return compiled, nil
}

func (h *Host) compile(digest string, setup *setupv1.Setup) (*compiledSetup, error) {
	schema, err := world.NewSchema(setup.GetSchema())
	if err != nil {
		return nil, fmt.Errorf("%w %s: schema: %w", ErrSetup, setup.GetName(), err)
	}
	catalogue, err := h.catalogue.Extend(tool.PackOf(setup))
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrSetup, setup.GetName(), err)
	}
	selection, err := selectTools(catalogue, setup)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrSetup, setup.GetName(), err)
	}
	zone, err := timezone.Load(setup.GetClock().GetTimeZone())
	if err != nil {
		return nil, fmt.Errorf("%w %s: time zone: %w", ErrSetup, setup.GetName(), err)
	}
	recorded, err := service.NewRecorded(setup.GetRecordings())
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrSetup, setup.GetName(), err)
	}
	offline, err := service.NewOffline(setup.GetClock().GetNow())
	if err != nil {
		return nil, err
	}
	sum, err := hex.DecodeString(digest)
	if err != nil {
		return nil, fmt.Errorf("%w %s: digest: %w", ErrSetup, setup.GetName(), err)
	}
	s := &compiledSetup{
		digest:         digest,
		sum:            sum,
		name:           setup.GetName(),
		schema:         schema,
		declared:       setup.GetSchema(),
		tables:         slices.Clone(setup.GetTables()),
		lastIndex:      int32(len(setup.GetMessages())) - 1,
		clock:          setup.GetClock(),
		environment:    executor.New(catalogue, selection),
		servers:        setup.GetToolServers(),
		recorded:       recorded,
		hasRecordings:  len(setup.GetRecordings()) > 0,
		fromRecordings: &session.Config{Seed: setup.GetSeed(), Zone: zone, Services: recorded, Schema: schema},
		offline:        &session.Config{Seed: setup.GetSeed(), Zone: zone, Services: offline, Schema: schema},
	}
	s.world = session.NewWorld(s.sessionConfig(toolhostv1.HostedServices_HOSTED_SERVICES_UNSPECIFIED), setup.GetClock().GetNow())
	slices.SortStableFunc(s.tables, schema.Compare)
	if err := s.loadTables(); err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrSetup, setup.GetName(), err)
	}
	for _, message := range setup.GetMessages() {
		if message.ConversationActive != nil { // unset keeps the previous value
			s.world.SetActive(message.GetConversationActive())
		}
	}
	if s.response, err = newSessionResponse(setup, selection); err != nil {
		return nil, err
	}
	s.response.Versions = s.newest
	return s, nil
}

// Try calls the Python tools of a setup with made-up arguments and returns their defects. Hosted
// services give their built-in answers. Nothing is stored.
func (h *Host) Try(ctx context.Context, setup *setupv1.Setup) (source.Mistakes, error) {
	compiled, err := h.compile("", setup)
	if err != nil {
		return nil, err
	}
	catalogue, err := h.catalogue.Extend(tool.PackOf(setup))
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrSetup, setup.GetName(), err)
	}
	start := compiled.world
	start.SetConfig(compiled.offline)
	return catalogue.Try(ctx, start)
}

// selectTools returns the tools of a setup, gated where the agent needs consent.
func selectTools(catalogue *tool.Catalogue, setup *setupv1.Setup) (*tool.Selection, error) {
	selection, err := catalogue.Select(setup.GetTools())
	if err != nil {
		return nil, err
	}
	if len(setup.GetConsentTools()) > 0 && !world.HasConsent(setup.GetSchema()) {
		return nil, errors.New("schema: tools need consent, and the table CONSENT is not declared as it has to be")
	}
	return catalogue.RequireConsent(selection, setup.GetConsentTools())
}

// newSessionResponse returns the tools of a new session: the selected ones, or the functions of a
// task without execution.
func newSessionResponse(setup *setupv1.Setup, selection *tool.Selection) (response *toolhostv1.CreateSessionResponse, err error) {
	response = &toolhostv1.CreateSessionResponse{AgentTools: selection.Agent, UserTools: selection.User}
	if task := setup.GetFunctionCalling(); task != nil {
		response.AgentTools, response.UserTools = task.GetFunctions(), nil
	}
	response.ToolsDigest, _, err = bus.Digest(response)
	return response, err
}

// loadTables checks the starting tables and puts their newest versions into the world.
func (s *compiledSetup) loadTables() error {
	for i, version := range s.tables {
		if err := s.checkVersion(version); err != nil {
			return fmt.Errorf("table %s: %w", version.GetName(), err)
		}
		if i > 0 && s.schema.Compare(s.tables[i-1], version) == 0 {
			return fmt.Errorf("table %s: two versions at message %d", version.GetName(), version.GetIndex())
		}
		s.world.Load(version.GetName(), session.Decode(version.GetRows()))
	}
	s.newest = s.newest.withTables(s.schema, s.tables...)
	return nil
}

// checkVersion returns an error for an invalid starting version.
func (s *compiledSetup) checkVersion(version *worldv1.Table) error {
	table, ok := s.schema.Table(version.GetName())
	if !ok || version.GetName() == world.Sandbox {
		return errors.New("it cannot start with rows")
	}
	if version.GetIndex() < 0 || version.GetIndex() > s.lastIndex {
		return fmt.Errorf("version at message %d, expected 0 to %d, the last starting message", version.GetIndex(), s.lastIndex)
	}
	for i, row := range version.GetRows() {
		if len(row.GetCells()) != len(table.Columns) {
			return fmt.Errorf("row %d: %d cells, expected %d", i, len(row.GetCells()), len(table.Columns))
		}
		for j, cell := range row.GetCells() {
			if !world.Fits(cell, table.Columns[j].Kind) {
				return fmt.Errorf("row %d: column %s does not hold %s", i, table.Columns[j].Name, table.Columns[j].Kind)
			}
		}
	}
	if version.GetName() == world.Event && s.schema.HasEvents() {
		return world.CheckEvents(version.GetRows())
	}
	return nil
}

// tableNumber returns the number of a table in the store's keys.
func (s *compiledSetup) tableNumber(table string) uint8 { return uint8(s.schema.TableIndex(table)) }

// versionAt returns the starting version of a table at a message. Before the first version it
// returns the first.
func (s *compiledSetup) versionAt(name string, at int32) *worldv1.Table {
	var found *worldv1.Table
	for _, version := range s.tables {
		if version.GetName() == name && (found == nil || version.GetIndex() <= at) {
			found = version
		}
	}
	return found
}

// versionOf returns a table's version. Decoded tables and those from tools contain only UTF-8, so
// they have a digest.
func versionOf(table *worldv1.Table) *worldv1.TableVersion {
	digest, err := world.Digest(table)
	if err != nil {
		digest = nil // such a table cannot be stored
	}
	return &worldv1.TableVersion{Name: table.GetName(), Index: table.GetIndex(), Digest: digest}
}

// versions holds the newest version of each table that has one, in the order of the schema. It is
// immutable: sessions and responses share it.
type versions []*worldv1.TableVersion

// index returns the index of a table's newest version, -1 without one.
func (v versions) index(table string) int32 {
	for _, version := range v {
		if version.GetName() == table {
			return version.GetIndex()
		}
	}
	return -1
}

// withTables returns the versions with newer ones of some tables.
func (v versions) withTables(schema *world.Schema, tables ...*worldv1.Table) versions {
	if len(tables) == 0 {
		return v
	}
	next := slices.Clone(v)
	for _, table := range tables {
		at, found := slices.BinarySearchFunc(next, schema.TableIndex(table.GetName()), func(version *worldv1.TableVersion, index int) int {
			return schema.TableIndex(version.GetName()) - index
		})
		if !found {
			next = slices.Insert(next, at, nil)
		}
		next[at] = versionOf(table)
	}
	return next
}
