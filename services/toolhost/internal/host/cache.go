package host

import (
	"fmt"
	"maps"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// sizes are those of a session's own tables as they are stored. Tables of the setup are shared and
// have none.
type sizes map[string]int

// with returns the sizes with those of new table versions.
func (s sizes) with(tables ...*worldv1.Table) sizes {
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

// cache keeps the sessions that were used last, as many as are allowed and as there is room for.
// Safe for concurrent use.
type cache struct {
	room int // bytes of tables

	mu   sync.Mutex
	kept *simplelru.LRU[string, *openSession]
	used int
}

func newCache(sessions, room int) (*cache, error) {
	c := &cache{room: room}
	var err error
	c.kept, err = simplelru.NewLRU(sessions, func(_ string, gone *openSession) { c.used -= gone.sizes.sum() })
	if err != nil {
		return nil, fmt.Errorf("make cache of sessions: %w", err)
	}
	return c, nil
}

// Get returns a session, false if it is not kept.
func (c *cache) Get(id string) (*openSession, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Get(id)
}

// Add keeps a session in place of what was kept of it, for as long as there is room.
func (c *cache) Add(id string, l *openSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Remove(id)
	c.used += l.sizes.sum()
	c.kept.Add(id, l)
	for c.used > c.room && c.kept.Len() > 0 {
		c.kept.RemoveOldest()
	}
}

// Remove forgets a session.
func (c *cache) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Remove(id)
}
