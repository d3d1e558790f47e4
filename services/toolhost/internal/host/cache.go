package host

import (
	"fmt"
	"maps"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// sizes are the stored sizes of a session's own tables in bytes. Tables of the setup are shared and
// have none.
type sizes map[string]int

// withTables returns the sizes with those of new table versions.
func (s sizes) withTables(tables ...*worldv1.Table) sizes {
	if len(tables) == 0 {
		return s
	}
	next := make(sizes, len(s)+len(tables))
	maps.Copy(next, s)
	for _, table := range tables {
		next[table.GetName()] = proto.Size(table)
	}
	return next
}

func (s sizes) sum() (bytes int) {
	for _, size := range s {
		bytes += size
	}
	return bytes
}

// cache is an LRU cache of sessions with a limit on their number and on the bytes of their tables.
// It is safe for concurrent use.
type cache struct {
	maxBytes int // of tables

	mu        sync.Mutex
	sessions  *simplelru.LRU[string, *openSession]
	usedBytes int
}

func newCache(sessions, maxBytes int) (*cache, error) {
	c := &cache{maxBytes: maxBytes}
	var err error
	c.sessions, err = simplelru.NewLRU(sessions, func(_ string, evicted *openSession) { c.usedBytes -= evicted.sizes.sum() })
	if err != nil {
		return nil, fmt.Errorf("make cache of sessions: %w", err)
	}
	return c, nil
}

// Len returns the number of sessions.
func (c *cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions.Len()
}

// Get returns a session. ok is false if it is not in the cache.
func (c *cache) Get(id string) (*openSession, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions.Get(id)
}

// Add stores a session, replacing an earlier state of it.
func (c *cache) Add(id string, l *openSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions.Remove(id)
	c.usedBytes += l.sizes.sum()
	c.sessions.Add(id, l)
	for c.usedBytes > c.maxBytes && c.sessions.Len() > 0 {
		c.sessions.RemoveOldest()
	}
}

// Remove removes a session.
func (c *cache) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions.Remove(id)
}
