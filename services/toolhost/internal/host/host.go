// Package host owns the sessions of one shard: it keeps them in the store, executes calls in them exactly once, and announces
// new table versions.
package host

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// Errors that a caller can act on.
var (
	// ErrNotFound says that there is no such session.
	ErrNotFound = errors.New("no such session")
	// ErrExists says that the id belongs to another session.
	ErrExists = errors.New("session id is taken")
	// ErrConflict says that the index was executed with other calls.
	ErrConflict = errors.New("other calls were executed at this index")
	// ErrIndex says that an index is not where the session can go on or be forked.
	ErrIndex = errors.New("message index out of place")
	// ErrSetup says that a setup breaks a rule.
	ErrSetup = errors.New("invalid setup")
	// ErrQuota says that a session would become too large.
	ErrQuota = errors.New("session quota exceeded")
)

// locks is the number of locks that sessions share; two sessions seldom meet at one.
const locks = 4096

// Publisher announces new table versions.
type Publisher interface {
	PublishSnapshot(ctx context.Context, snapshot *busv1.Snapshot) error
}

// Config bounds what sessions may use.
type Config struct {
	// Live is the number of sessions and of setups that stay in memory.
	Live int
	// MaxRows is the number of rows that the tables of a session may hold together.
	MaxRows int
	// MaxCalls is the number of calls of one batch.
	MaxCalls int
}

// Host owns sessions. Safe for concurrent use; calls on one session wait for each other.
type Host struct {
	cfg       Config
	store     *store.Store
	publisher Publisher
	catalogue *tool.Catalogue
	starts    *lru.Cache[string, *start]
	live      *lru.Cache[string, *live]
	locks     [locks]sync.Mutex
}

// live is a session in memory.
type live struct {
	record *toolhostv1.SessionRecord
	start  *start
	world  session.World
	// versions holds the index of the newest version of each table.
	versions map[worldv1.TableName]int32
}

// New returns a host on an open store, which stays the caller's.
func New(cfg Config, s *store.Store, publisher Publisher, catalogue *tool.Catalogue) (*Host, error) {
	starts, err := lru.New[string, *start](cfg.Live)
	if err != nil {
		return nil, fmt.Errorf("make cache of setups: %w", err)
	}
	sessions, err := lru.New[string, *live](cfg.Live)
	if err != nil {
		return nil, fmt.Errorf("make cache of sessions: %w", err)
	}
	return &Host{cfg: cfg, store: s, publisher: publisher, catalogue: catalogue, starts: starts, live: sessions}, nil
}

// lock locks a session and returns the function that unlocks it.
func (h *Host) lock(id string) func() {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id))
	mu := &h.locks[hash.Sum32()%locks]
	mu.Lock()
	return mu.Unlock
}

// Create makes a session from a setup. Repeating it with the same setup returns the same.
func (h *Host) Create(ctx context.Context, id string, setup *setupv1.Setup) (*toolhostv1.CreateSessionResponse, error) {
	start, err := h.startOf(ctx, setup)
	if err != nil {
		return nil, err
	}
	defer h.lock(id)()
	record := &toolhostv1.SessionRecord{SetupName: setup.GetName(), SetupDigest: start.digest, LastIndex: start.lastIndex}
	meta, err := proto.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	switch err := h.store.Create(ctx, id, meta, nil, record.GetLastIndex()); {
	case err == nil:
		h.live.Add(id, &live{record: record, start: start, world: start.world, versions: start.newest()})
		return start.response, nil
	case !errors.Is(err, store.ErrExists):
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	existing, err := h.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if existing.record.GetSetupDigest() != start.digest || existing.record.GetParentId() != "" {
		return nil, fmt.Errorf("session %s: %w", id, ErrExists)
	}
	return start.response, nil
}

// load returns a session from memory or from the store. The session must be locked.
func (h *Host) load(ctx context.Context, id string) (*live, error) {
	if l, ok := h.live.Get(id); ok {
		return l, nil
	}
	stored, err := h.store.Load(id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("load session %s: %w", id, err)
	}
	record := &toolhostv1.SessionRecord{}
	if err := proto.Unmarshal(stored.Meta, record); err != nil {
		return nil, fmt.Errorf("load session %s: %w", id, err)
	}
	if record.GetDeleted() {
		return nil, fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	l, err := h.restore(ctx, id, record)
	if err != nil {
		return nil, fmt.Errorf("load session %s: %w", id, err)
	}
	h.live.Add(id, l)
	return l, nil
}

// restore builds the newest state of a stored session.
func (h *Host) restore(ctx context.Context, id string, record *toolhostv1.SessionRecord) (*live, error) {
	start, err := h.storedStart(ctx, record.GetSetupDigest())
	if err != nil {
		return nil, err
	}
	l := &live{record: record, start: start, world: start.world, versions: start.newest()}
	for _, name := range session.Tables() {
		table, err := h.versionAt(id, record, start, name, record.GetLastIndex())
		if err != nil {
			return nil, err
		}
		if table != nil && table.GetIndex() != l.versions[name] {
			l.world.Load(name, session.Decode(table.GetRows()))
			l.versions[name] = table.GetIndex()
		}
	}
	l.world.SetDrawn(record.GetIdsDrawn())
	l.world.SetActive(!record.GetEnded())
	return l, nil
}

// versionAt returns the version of a table that holds at a message, following forks to their parents; nil if the table
// has none.
func (h *Host) versionAt(id string, record *toolhostv1.SessionRecord, start *start, name worldv1.TableName, at int32) (*worldv1.Table, error) {
	for {
		data, _, ok, err := h.store.Versions(id, uint8(name), at)
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
		if record.GetParentId() == "" {
			return start.versionAt(name, at), nil
		}
		id, at = record.GetParentId(), min(at, record.GetForkedAt())
		if record, err = h.record(id); err != nil {
			return nil, err
		}
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

// digestOf identifies a batch of calls.
func digestOf(calls []*worldv1.Message) ([]byte, error) {
	h := sha256.New()
	for _, call := range calls {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(call)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(raw)
		_, _ = h.Write(sum[:])
	}
	return h.Sum(nil), nil
}

func equal(a, b []byte) bool { return bytes.Equal(a, b) }
