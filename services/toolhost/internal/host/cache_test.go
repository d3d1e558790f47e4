package host

import (
	"strconv"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

// TestCacheHoldsNoMoreThanItsRoom grows one session after the other: those that were used last
// stay, one that is larger than the room does not.
func TestCacheHoldsNoMoreThanItsRoom(t *testing.T) {
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
	c.Add("1", of(500)) // in place of its 300
	kept("1", "2")
	c.Add("3", of(1001))
	kept()
	c.Add("0", of(1000))
	c.Remove("0")
	c.Add("1", of(1000))
	kept("1")
	if c.used != 1000 {
		t.Errorf("bytes: got %d, want 1000", c.used)
	}
	small, err := newCache(1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	small.Add("0", of(600))
	small.Add("1", of(600))
	if _, ok := small.Get("1"); !ok || small.used != 600 {
		t.Errorf("a second session where one is allowed: got %v and %d bytes, want it and 600", ok, small.used)
	}
}
