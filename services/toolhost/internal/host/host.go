// Package host owns the sessions of one tool host. It stores them, executes calls in them exactly
// once and publishes new table versions.
package host

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
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

// Callers can handle these errors.
var (
	// ErrNotFound means that the session does not exist.
	ErrNotFound = errors.New("no such session")
	// ErrExists means that the id belongs to another session.
	ErrExists = errors.New("session id is taken")
	// ErrConflict means that other calls were executed at the index.
	ErrConflict = errors.New("other calls were executed at this index")
	// ErrStateMismatch means that the session is not in the state that the caller expects.
	ErrStateMismatch = errors.New("session is in another state")
	// ErrDiverged means that a repeated execution had another outcome.
	ErrDiverged = errors.New("repeated execution has another outcome")
	// ErrIndex means that the session cannot continue or be forked at the index.
	ErrIndex = errors.New("invalid message index")
	// ErrSetup means that a setup breaks a rule.
	ErrSetup = errors.New("invalid setup")
	// ErrNoSetup means that no setup with the digest is stored.
	ErrNoSetup = errors.New("no such setup")
	// ErrQuota means that a session would become too large, or an execution too long.
	ErrQuota = errors.New("session quota exceeded")
	// ErrTool means that a tool of the pack answers more than can be stored.
	ErrTool = errors.New("tool of the pack is broken")
	// ErrPublish means that stored versions could not be published. A retry publishes them.
	ErrPublish = errors.New("cannot publish new table versions")
)

const (
	// locks is the number of locks that sessions share.
	locks = 4096
	// slowAgent is the pause between two executions from which an agent is slow. Its commits may wait
	// for those of others.
	slowAgent = time.Second
)

// Bus publishes new table versions, and reads setups and logs. bus.ToolHost implements it.
type Bus interface {
	PublishSnapshot(ctx context.Context, snapshot *busv1.Snapshot) error
	// Setup returns the setup with a digest, or bus.ErrNotFound.
	Setup(ctx context.Context, digest string) (*setupv1.Setup, error)
	// ReadLog returns the log of a rollout, without entries if there is none, or bus.ErrDamaged.
	ReadLog(ctx context.Context, rolloutID string) (*bus.Log, error)
}

// Config limits the resources of sessions.
type Config struct {
	// CachedSessions is the number of sessions, and of setups, in memory.
	CachedSessions int
	// CacheBytes is the maximum size of the tables of sessions in memory, in bytes.
	CacheBytes int
	// MaxRows is the maximum number of rows in a session's tables beyond those at its start.
	MaxRows int
	// MaxCalls is the maximum number of calls in a batch.
	MaxCalls int
	// MaxBytes is the maximum size of an execution's outcome and table versions, in bytes.
	MaxBytes int
}

// Host owns sessions. It is safe for concurrent use. It serializes calls for one session.
type Host struct {
	cfg       Config
	store     *store.Store
	bus       Bus
	catalogue *tool.Catalogue
	services  *service.Client
	servers   *toolserver.Client
	setups    *lru.Cache[string, *compiledSetup]
	sessions  *cache
	locks     [locks]sync.Mutex
}

// Held returns the number of sessions in memory.
func (h *Host) Held() int { return h.sessions.Len() }

// openSession is a session in memory. It is immutable: an execution returns a new one.
type openSession struct {
	setup     *compiledSetup
	world     session.World
	newest    versions
	sizes     sizes
	lastIndex int32
	// written is when this process made this state. It decides only when the next one is committed.
	written time.Time
	// digest is the digest of the session's history, as in toolhostv1.ExecuteResponse.session_digest.
	digest []byte
	// parent is the session from which this one was forked at forkedAt, empty if none. forks is the
	// number of forks of this session.
	parent          string
	forkedAt, forks int32
	// services is the source of answers to requests to hosted services. replay disables network
	// requests.
	services toolhostv1.HostedServices
	replay   bool
}

// record returns the stored record of the session.
func (s *openSession) record() *toolhostv1.SessionRecord {
	return &toolhostv1.SessionRecord{
		SetupName:      s.setup.name,
		SetupDigest:    s.setup.digest,
		IdsDrawn:       s.world.IDCount(),
		Ended:          !s.world.Active(),
		LastIndex:      s.lastIndex,
		ParentId:       s.parent,
		ForkedAt:       s.forkedAt,
		Forks:          s.forks,
		HostedServices: s.services,
		Replay:         s.replay,
		Digest:         s.digest,
	}
}

// New returns a host for an open store. The caller closes the store and the clients of hosted
// services and tool servers.
func New(cfg Config, s *store.Store, b Bus, catalogue *tool.Catalogue, services *service.Client, servers *toolserver.Client) (*Host, error) {
	starts, err := lru.New[string, *compiledSetup](cfg.CachedSessions)
	if err != nil {
		return nil, fmt.Errorf("make cache of setups: %w", err)
	}
	sessions, err := newCache(cfg.CachedSessions, cfg.CacheBytes)
	if err != nil {
		return nil, err
	}
	return &Host{cfg: cfg, store: s, bus: b, catalogue: catalogue, services: services, servers: servers, setups: starts, sessions: sessions}, nil
}

// lock locks one or two sessions and returns the function that unlocks them.
func (h *Host) lock(id string, other ...string) func() {
	first := lockIndex(id)
	if len(other) == 0 || lockIndex(other[0]) == first {
		h.locks[first].Lock()
		return h.locks[first].Unlock
	}
	second := lockIndex(other[0])
	first, second = min(first, second), max(first, second) // a fixed order avoids deadlocks
	h.locks[first].Lock()
	h.locks[second].Lock()
	return func() {
		h.locks[second].Unlock()
		h.locks[first].Unlock()
	}
}

// lockIndex returns the index of the lock for a session.
func lockIndex(id string) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id))
	return hash.Sum32() % locks
}

// Creation describes how to create a session.
type Creation struct {
	Origin   SetupRef
	Services toolhostv1.HostedServices
	// Answers are what hosted services give to the same request at the same message.
	Answers []*toolhostv1.ServiceAnswer
	// Replay disables network requests: any other request fails.
	Replay bool
}

// Create creates a session. It is idempotent for the same setup, in full or by digest, and the same
// services and answers. The error is ErrSetup if an answer is invalid. The response is shared: do
// not change it.
func (h *Host) Create(ctx context.Context, id string, creation Creation) (*toolhostv1.CreateSessionResponse, error) {
	start, err := h.setupFor(ctx, creation.Origin)
	if err != nil {
		return nil, err
	}
	defer h.lock(id)()
	return h.createLocked(ctx, id, start, creation)
}

// newSession returns a session without executions.
func (s *compiledSetup) newSession(services toolhostv1.HostedServices, replay bool) *openSession {
	l := &openSession{setup: s, world: s.world, newest: s.newest, lastIndex: s.lastIndex, written: time.Now(), digest: s.sum, services: services, replay: replay}
	l.world.SetConfig(s.sessionConfig(services))
	return l
}

// createLocked is Create for a locked session.
func (h *Host) createLocked(ctx context.Context, id string, start *compiledSetup, made Creation) (*toolhostv1.CreateSessionResponse, error) {
	for i, answer := range made.Answers {
		if _, err := decodeAnswer(answer); err != nil {
			return nil, fmt.Errorf("%w %s: answers[%d]: %w", ErrSetup, made.Origin, i, err)
		}
	}
	l := start.newSession(made.Services, made.Replay)
	meta, err := proto.Marshal(l.record())
	if err != nil {
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	switch err := h.store.Create(ctx, id, meta, l.lastIndex); {
	case err == nil:
		h.sessions.Add(id, l)
		return start.response, h.storeAnswers(ctx, id, made.Answers)
	case !errors.Is(err, store.ErrExists):
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	existing, err := h.record(id)
	if err != nil {
		return nil, err
	}
	if existing.GetSetupDigest() != start.digest || existing.GetHostedServices() != made.Services ||
		existing.GetReplay() != l.replay || existing.GetParentId() != "" || existing.GetDeleted() {
		return nil, fmt.Errorf("session %s: %w", id, ErrExists)
	}
	return start.response, h.storeAnswers(ctx, id, made.Answers)
}

// load returns a session from the cache or the store. The session must be locked.
func (h *Host) load(id string) (*openSession, error) {
	if l, ok := h.sessions.Get(id); ok {
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
	h.sessions.Add(id, l)
	return l, nil
}

// restore builds the current state of a stored session.
func (h *Host) restore(id string, record *toolhostv1.SessionRecord) (*openSession, error) {
	start, err := h.storedSetup(record.GetSetupDigest())
	if err != nil {
		return nil, err
	}
	l := start.newSession(record.GetHostedServices(), record.GetReplay())
	l.lastIndex, l.digest = record.GetLastIndex(), record.GetDigest()
	l.parent, l.forkedAt, l.forks = record.GetParentId(), record.GetForkedAt(), record.GetForks()
	ever, blank := make(map[string]bool), make(map[string]bool)
	err = h.history(id, record, func(table *worldv1.Table) {
		name := table.GetName()
		ever[name] = ever[name] || len(table.GetRows()) > 0
		blank[name] = blank[name] || len(table.GetRows()) == 0
		if table.GetIndex() > l.newest.index(name) {
			l.newest, l.sizes = l.newest.withTables(start.schema, table), l.sizes.withTables(table)
			l.world.Load(name, session.Decode(table.GetRows()))
		}
	})
	if err != nil {
		return nil, err
	}
	for _, table := range start.schema.StoredTables() {
		l.world.AddHistory(table.Name, ever[table.Name], blank[table.Name])
	}
	l.world.SetIDCount(record.GetIdsDrawn())
	l.world.SetActive(!record.GetEnded())
	return l, nil
}

// history calls visit for every version after the start, including those shared with parents, in
// any order.
func (h *Host) history(id string, record *toolhostv1.SessionRecord, visit func(*worldv1.Table)) error {
	return h.lineage(id, record, record.GetLastIndex(), func(id string, until int32) (more bool, err error) {
		stored, err := h.store.Load(id)
		if err != nil {
			return false, fmt.Errorf("read history: %w", err)
		}
		for _, version := range stored.Versions {
			if version.Index > until {
				continue
			}
			table := &worldv1.Table{}
			if err := proto.Unmarshal(version.Data, table); err != nil {
				return false, fmt.Errorf("read history of %s: %w", id, err)
			}
			visit(table)
		}
		return true, nil
	})
}

// lineage visits a session and its ancestors, each with the last index up to which it counts, while
// visit returns more.
func (h *Host) lineage(id string, record *toolhostv1.SessionRecord, until int32, visit func(id string, until int32) (more bool, err error)) error {
	for {
		more, err := visit(id, until)
		if err != nil || !more || record.GetParentId() == "" {
			return err
		}
		id, until = record.GetParentId(), min(until, record.GetForkedAt())
		if record, err = h.record(id); err != nil {
			return err
		}
	}
}

// versionAt returns the version of a table at a message, including those shared with parents.
// Before the first version it returns the first; it is nil if the table has none.
func (h *Host) versionAt(id string, l *openSession, name string, at int32) (*worldv1.Table, error) {
	var table *worldv1.Table
	err := h.lineage(id, &toolhostv1.SessionRecord{ParentId: l.parent, ForkedAt: l.forkedAt}, at, func(id string, until int32) (more bool, err error) {
		data, _, ok, err := h.store.VersionAt(id, l.setup.tableNumber(name), until)
		if !ok || err != nil {
			at = until
			return true, err
		}
		table = &worldv1.Table{}
		if err := proto.Unmarshal(data, table); err != nil {
			return false, fmt.Errorf("read table %s of %s: %w", name, id, err)
		}
		return false, nil
	})
	if table == nil && err == nil {
		table = l.setup.versionAt(name, at)
	}
	return table, err
}

// record reads the stored record of a session, deleted or not.
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
