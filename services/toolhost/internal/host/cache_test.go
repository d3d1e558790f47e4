package host

import (
	"strconv"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

// TestCacheStaysWithinBytes adds growing sessions. The most recently used ones stay, except
// one that exceeds the limit itself.
func TestCacheStaysWithinBytes(t *testing.T) {
	c, err := newCache(10, 1000)
	if err != nil {
		t.Fatal(err)
	}
	of := func(bytes int) *openSession {
		return &openSession{sizes: sizes{world.Setting: bytes}}
	}
	kept := func(ids ...string) {
		t.Helper()
		for _, id := range []string{"0", "1", "2", "3"} {
			want := false
			for _, one := range ids {
				want = want || one == id
			}
			if _, got := c.Get(id); got != want {
				t.Errorf("session %s is kept: got %v, want %v", id, got, want)
			}
		}
	}
	for i := range 3 {
		c.Add(strconv.Itoa(i), of(300))
	}
	kept("0", "1", "2")
	c.Add("1", of(500)) // replaces 300
	kept("1", "2")
	c.Add("3", of(1001))
	kept()
	c.Add("0", of(1000))
	c.Remove("0")
	c.Add("1", of(1000))
	kept("1")
	if c.usedBytes != 1000 {
		t.Errorf("bytes: got %d, want 1000", c.usedBytes)
	}
	small, err := newCache(1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	small.Add("0", of(600))
	small.Add("1", of(600))
	if _, ok := small.Get("1"); !ok || small.usedBytes != 600 {
		t.Errorf("a second session where one is allowed: got %v and %d bytes, want it and 600", ok, small.usedBytes)
	}
}
