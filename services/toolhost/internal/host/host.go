// Package host owns the sessions of one shard: it keeps them in the store, executes calls in them
// exactly once, and announces new table versions.
package host

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// Errors that a caller can act on.
var (
	// ErrNotFound says that there is no such session.
	ErrNotFound = errors.New("no such session")
	// ErrExists says that the id belongs to another session.
	ErrExists = errors.New("session id is taken")
	// ErrConflict says that the index was executed with other calls.
	ErrConflict = errors.New("other calls were executed at this index")
	// ErrElsewhere says that a session does not stand where the caller says.
	ErrElsewhere = errors.New("session stands elsewhere")
	// ErrDiverged says that an execution that ran again came out otherwise.
	ErrDiverged = errors.New("execution came out otherwise")
	// ErrIndex says that an index is not where the session can go on or be forked.
	ErrIndex = errors.New("message index out of place")
	// ErrSetup says that a setup breaks a rule.
	ErrSetup = errors.New("invalid setup")
	// ErrNoSetup says that no setup with a digest is stored.
	ErrNoSetup = errors.New("no such setup")
	// ErrQuota says that a session would become too large, or an execution too long.
	ErrQuota = errors.New("session quota exceeded")
	// ErrAnnounce says that what was stored could not be announced. Repeating the request announces
	// it.
	ErrAnnounce = errors.New("new table versions could not be announced")
)

// locks is the number of locks that sessions share; two sessions seldom meet at one.
const locks = 4096

// Bus announces new table versions and holds setups; *bus.Bus is one.
type Bus interface {
	PublishSnapshot(ctx context.Context, snapshot *busv1.Snapshot) error
	// Setup returns the setup with a digest, bus.ErrNotFound if there is none.
	Setup(ctx context.Context, digest string) (*setupv1.Setup, error)
}

// Config bounds what sessions may use.
type Config struct {
	// Live is the number of sessions and of setups that stay in memory.
	Live int
	// LiveBytes bounds the tables of the sessions that stay in memory.
	LiveBytes int
	// MaxRows is the number of rows that the tables of a session may hold together.
	MaxRows int
	// MaxCalls is the number of calls of one batch.
	MaxCalls int
	// MaxBytes is the size of the outcome and of the table versions of one execution.
	MaxBytes int
}

// Host owns sessions. Safe for concurrent use; calls on one session wait for each other.
type Host struct {
	cfg       Config
	store     *store.Store
	bus       Bus
	catalogue *tool.Catalogue
	services  *service.Client
	servers   *toolserver.Client
	setups    *lru.Cache[string, *compiledSetup]
	live      *cache
	locks     [locks]sync.Mutex
}

// openSession is a session in memory. It is immutable: an execution returns a new one.
type openSession struct {
	setup     *compiledSetup
	world     session.World
	newest    versions
	sizes     sizes
	lastIndex int32
	// digest is that of the session's history, as toolhostv1.ExecuteResponse.session_digest has it.
	digest []byte
	// parent is the session that this was forked from at forkedAt, empty if none; forks is how many
	// were forked from this.
	parent          string
	forkedAt, forks int32
	// services says what answers requests to hosted services, replay that nothing is asked of the
	// network.
	services toolhostv1.HostedServices
	replay   bool
}

// record returns what is stored about the session.
func (l *openSession) record() *toolhostv1.SessionRecord {
	return &toolhostv1.SessionRecord{
		SetupName:      l.setup.name,
		SetupDigest:    l.setup.digest,
		IdsDrawn:       l.world.Drawn(),
		Ended:          !l.world.Active(),
		LastIndex:      l.lastIndex,
		ParentId:       l.parent,
		ForkedAt:       l.forkedAt,
		Forks:          l.forks,
		HostedServices: l.services,
		Replay:         l.replay,
		Digest:         l.digest,
	}
}

// New returns a host on an open store. The store and the clients of the hosted services and of the
// tool servers stay the caller's.
func New(cfg Config, s *store.Store, b Bus, catalogue *tool.Catalogue, services *service.Client, servers *toolserver.Client) (*Host, error) {
	starts, err := lru.New[string, *compiledSetup](cfg.Live)
	if err != nil {
		return nil, fmt.Errorf("make cache of setups: %w", err)
	}
	sessions, err := newCache(cfg.Live, cfg.LiveBytes)
	if err != nil {
		return nil, err
	}
	return &Host{cfg: cfg, store: s, bus: b, catalogue: catalogue, services: services, servers: servers, setups: starts, live: sessions}, nil
}

// lock locks one session or two and returns the function that unlocks them.
func (h *Host) lock(id string, other ...string) func() {
	first := stripe(id)
	if len(other) == 0 || stripe(other[0]) == first {
		h.locks[first].Lock()
		return h.locks[first].Unlock
	}
	second := stripe(other[0])
	first, second = min(first, second), max(first, second) // everyone locks in this order
	h.locks[first].Lock()
	h.locks[second].Lock()
	return func() {
		h.locks[second].Unlock()
		h.locks[first].Unlock()
	}
}

// stripe returns the number of the lock that a session shares with others.
func stripe(id string) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id))
	return hash.Sum32() % locks
}

// Create makes a session. Repeating it with the same setup, however it is given, and the same
// services returns the same. The response is shared: do not change it.
func (h *Host) Create(ctx context.Context, id string, origin Origin, services toolhostv1.HostedServices) (*toolhostv1.CreateSessionResponse, error) {
	return h.create(ctx, id, origin, services, nil)
}

// create makes a session; one with a recording asks nothing of the network.
func (h *Host) create(
	ctx context.Context, id string, origin Origin, services toolhostv1.HostedServices, recorded *recording,
) (*toolhostv1.CreateSessionResponse, error) {
	start, err := h.startOf(ctx, origin)
	if err != nil {
		return nil, err
	}
	defer h.lock(id)()
	return h.createLocked(ctx, id, start, services, recorded)
}

// begin returns a session that nothing was executed in.
func (s *compiledSetup) begin(services toolhostv1.HostedServices, replay bool) *openSession {
	l := &openSession{setup: s, world: s.world, newest: s.newest, lastIndex: s.lastIndex, digest: s.sum, services: services, replay: replay}
	l.world.SetFrame(s.frame(services))
	return l
}

// createLocked is create for a session that is locked.
func (h *Host) createLocked(
	ctx context.Context, id string, start *compiledSetup, services toolhostv1.HostedServices, recorded *recording,
) (*toolhostv1.CreateSessionResponse, error) {
	l := start.begin(services, recorded != nil)
	meta, err := proto.Marshal(l.record())
	if err != nil {
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	switch err := h.store.Create(ctx, id, meta, nil, l.lastIndex); {
	case err == nil:
		h.live.Add(id, l)
		return start.response, h.seed(ctx, id, recorded)
	case !errors.Is(err, store.ErrExists):
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	existing, err := h.record(id)
	if err != nil {
		return nil, err
	}
	if existing.GetSetupDigest() != start.digest || existing.GetHostedServices() != services ||
		existing.GetReplay() != l.replay || existing.GetParentId() != "" || existing.GetDeleted() {
		return nil, fmt.Errorf("session %s: %w", id, ErrExists)
	}
	return start.response, h.seed(ctx, id, recorded)
}

// load returns a session from memory or from the store. The session must be locked.
func (h *Host) load(id string) (*openSession, error) {
	if l, ok := h.live.Get(id); ok {
		return l, nil
	}
	record, err := h.record(id)
	if err != nil {
		return nil, err
	}
	if record.GetDeleted() {
		return nil, fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	l, err := h.restore(id, record)
	if err != nil {
		return nil, fmt.Errorf("load session %s: %w", id, err)
	}
	h.live.Add(id, l)
	return l, nil
}

// restore builds the newest state of a stored session.
func (h *Host) restore(id string, record *toolhostv1.SessionRecord) (*openSession, error) {
	start, err := h.storedStart(record.GetSetupDigest())
	if err != nil {
		return nil, err
	}
	l := &openSession{
		setup:     start,
		world:     start.world,
		newest:    start.newest,
		lastIndex: record.GetLastIndex(),
		parent:    record.GetParentId(),
		forkedAt:  record.GetForkedAt(),
		forks:     record.GetForks(),
		services:  record.GetHostedServices(),
		replay:    record.GetReplay(),
		digest:    record.GetDigest(),
	}
	l.world.SetFrame(start.frame(l.services))
	ever, blank := make(map[string]bool), make(map[string]bool)
	err = h.history(id, record, func(table *worldv1.Table) {
		name := table.GetName()
		ever[name] = ever[name] || len(table.GetRows()) > 0
		blank[name] = blank[name] || len(table.GetRows()) == 0
		if table.GetIndex() > l.newest.index(name) {
			l.newest, l.sizes = l.newest.with(table), l.sizes.with(table)
			l.world.Load(name, session.Decode(table.GetRows()), false)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, table := range start.schema.Stored() {
		l.world.Recall(table.Name, ever[table.Name], blank[table.Name])
	}
	l.world.SetDrawn(record.GetIdsDrawn())
	l.world.SetActive(!record.GetEnded())
	return l, nil
}

// history calls visit with every version that was stored after the start, those shared with parents
// included, in no order.
func (h *Host) history(id string, record *toolhostv1.SessionRecord, visit func(*worldv1.Table)) error {
	until := record.GetLastIndex()
	for {
		stored, err := h.store.Load(id)
		if err != nil {
			return fmt.Errorf("read history: %w", err)
		}
		for _, version := range stored.Versions {
			if version.Index > until {
				continue
			}
			table := &worldv1.Table{}
			if err := proto.Unmarshal(version.Data, table); err != nil {
				return fmt.Errorf("read history of %s: %w", id, err)
			}
			visit(table)
		}
		if record.GetParentId() == "" {
			return nil
		}
		id, until = record.GetParentId(), min(until, record.GetForkedAt())
		if record, err = h.record(id); err != nil {
			return err
		}
	}
}

// versionAt returns the version of a table that holds at a message, following forks to their
// parents. Before the first version it is the first one; nil if the table has none.
func (h *Host) versionAt(id string, l *openSession, name string, at int32) (*worldv1.Table, error) {
	parent, forkedAt := l.parent, l.forkedAt
	for {
		data, _, ok, err := h.store.Versions(id, l.setup.place(name), at)
		if err != nil {
			return nil, err
		}
		if ok {
			table := &worldv1.Table{}
			if err := proto.Unmarshal(data, table); err != nil {
				return nil, fmt.Errorf("read table %s of %s: %w", name, id, err)
			}
			return table, nil
		}
		if parent == "" {
			return l.setup.versionAt(name, at), nil
		}
		id, at = parent, min(at, forkedAt)
		record, err := h.record(id)
		if err != nil {
			return nil, err
		}
		parent, forkedAt = record.GetParentId(), record.GetForkedAt()
	}
}

// record reads what is stored about a session, deleted or not.
func (h *Host) record(id string) (*toolhostv1.SessionRecord, error) {
	stored, err := h.store.Load(id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	record := &toolhostv1.SessionRecord{}
	if err := proto.Unmarshal(stored.Meta, record); err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	return record, nil
}
