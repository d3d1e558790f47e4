package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openTest opens a store in a new directory and has it closed at the end of the test.
func openTest(t *testing.T, cfg Config) *Store {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "sessions.db")
	}
	s, err := Open(cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func mustCreate(t *testing.T, s *Store, id, meta string, versions ...Version) {
	t.Helper()
	if err := createWith(t.Context(), s, id, meta, versions...); err != nil {
		t.Fatalf("Create(%q): %v", id, err)
	}
}

// createWith creates a session with versions, which only executions have outside of tests.
func createWith(ctx context.Context, s *Store, id, meta string, versions ...Version) error {
	if err := s.Create(ctx, id, []byte(meta), -1); err != nil {
		return err
	}
	versions = checkedVersions(id, versions)
	return s.write(ctx, "put versions of", id, &request{apply: func(w *writer) (_, err error) { return nil, w.putVersions(id, versions) }})
}

func mustCommit(t *testing.T, s *Store, id string, index int32, meta, outcome string, versions ...Version) {
	t.Helper()
	if err := s.Commit(t.Context(), id, Execution{Index: index, LastIndex: index, Meta: []byte(meta), Versions: versions, Outcome: []byte(outcome)}); err != nil {
		t.Fatalf("Commit(%q, %d): %v", id, index, err)
	}
}

func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", what, got, want)
	}
}

func wantRecord(t *testing.T, s *Store, id string, want *Record) {
	t.Helper()
	got, err := s.Load(id)
	if err != nil {
		t.Fatalf("Load(%q): %v", id, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Load(%q): -want +got\n%s", id, diff)
	}
}

// outcomes returns all outcomes of a session as "index=outcome".
func outcomes(t *testing.T, s *Store, id string) []string {
	t.Helper()
	var all []string
	if err := s.Outcomes(id, func(index int32, outcome []byte) error {
		all = append(all, fmt.Sprintf("%d=%s", index, outcome))
		return nil
	}); err != nil {
		t.Fatalf("Outcomes(%q): %v", id, err)
	}
	return all
}

// list returns the sessions that List visits as "id:meta:index".
func list(t *testing.T, s *Store, prefix, after string, limit int) (sessions []string, more bool) {
	t.Helper()
	more, err := s.List(prefix, after, limit, func(id string, meta []byte, lastIndex int32) error {
		sessions = append(sessions, fmt.Sprintf("%s:%s:%d", id, meta, lastIndex))
		return nil
	})
	if err != nil {
		t.Fatalf("List(%q, %q, %d): %v", prefix, after, limit, err)
	}
	return sessions, more
}

func TestSessionLifecycle(t *testing.T) {
	s := openTest(t, Config{})
	first := Version{Table: 3, Index: -1, Data: []byte("three")}
	big := Version{Table: 1, Index: 300, Data: bytes.Repeat([]byte("big"), 10_000)}
	empty := Version{Table: 1, Index: 2, Data: []byte{}}
	mustCreate(t, s, "a", "m0", first, Version{Table: 0, Index: -1, Data: []byte("zero")})
	wantError(t, "second Create", s.Create(t.Context(), "a", []byte("other"), 9), ErrExists)
	mustCommit(t, s, "a", 300, "m2", "three hundred", big)
	mustCommit(t, s, "a", 2, "m1", "", empty) // a late one does not take the highest index back
	mustCommit(t, s, "a", -5, "m3", "before")

	wantRecord(t, s, "a", &Record{
		Meta:      []byte("m3"),
		Versions:  []Version{{Table: 0, Index: -1, Data: []byte("zero")}, empty, big, first},
		LastIndex: 300,
	})
	if diff := cmp.Diff([]string{"-5=before", "2=", "300=three hundred"}, outcomes(t, s, "a")); diff != "" {
		t.Errorf("Outcomes: -want +got\n%s", diff)
	}
	for index, want := range map[int32]string{300: "three hundred", 2: ""} {
		if got, err := s.Outcome("a", index); err != nil || string(got) != want {
			t.Errorf("Outcome(%d): got %q, %v, want %q", index, got, err, want)
		}
	}
	_, err := s.Outcome("a", 3)
	wantError(t, "Outcome of no commit", err, ErrNotFound)

	mustCreate(t, s, "ab", "kept")
	for range 2 {
		if err := s.Delete(t.Context(), "a"); err != nil {
			t.Fatalf("Delete: %v", err)
		}
	}
	_, err = s.Outcome("a", 300)
	wantError(t, "Outcome after Delete", err, ErrNotFound)
	mustCreate(t, s, "a", "new")
	wantRecord(t, s, "a", &Record{Meta: []byte("new"), LastIndex: -1})
	wantRecord(t, s, "ab", &Record{Meta: []byte("kept"), LastIndex: -1})
	if got := outcomes(t, s, "a"); got != nil {
		t.Errorf("Outcomes of the new session: got %q, want none", got)
	}
	if s.Size() <= 0 {
		t.Errorf("Size: got %d, want more than 0", s.Size())
	}
}

func TestLastIndex(t *testing.T) {
	s := openTest(t, Config{})
	if err := s.Create(t.Context(), "a", nil, 7); err != nil {
		t.Fatal(err)
	}
	wantRecord(t, s, "a", &Record{Meta: []byte{}, LastIndex: 7})
	for _, step := range []struct{ index, last, want int32 }{{3, 5, 7}, {8, 10, 10}, {9, 9, 10}, {12, 0, 12}} {
		if err := s.Commit(t.Context(), "a", Execution{Index: step.index, LastIndex: step.last}); err != nil {
			t.Fatal(err)
		}
		wantRecord(t, s, "a", &Record{Meta: []byte{}, LastIndex: step.want})
	}
}

func TestUpdate(t *testing.T) {
	s := openTest(t, Config{})
	mustCreate(t, s, "a", "old", Version{Table: 1, Index: 0, Data: []byte("kept")})
	mustCommit(t, s, "a", 4, "old", "outcome")
	if err := s.Update(t.Context(), "a", []byte("new")); err != nil {
		t.Fatalf("Update: %v", err)
	}
	wantRecord(t, s, "a", &Record{Meta: []byte("new"), Versions: []Version{{1, 0, []byte("kept")}}, LastIndex: 4})
	if diff := cmp.Diff([]string{"4=outcome"}, outcomes(t, s, "a")); diff != "" {
		t.Errorf("Outcomes: -want +got\n%s", diff)
	}
	wantError(t, "Update without session", s.Update(t.Context(), "none", nil), ErrNotFound)
	_, err := s.Load("none")
	wantError(t, "Load", err, ErrNotFound)
}

func TestNoSession(t *testing.T) {
	s := openTest(t, Config{})
	mustCreate(t, s, "session", "m")
	for _, id := range []string{"sessio", "session2", "none"} {
		_, err := s.Load(id)
		wantError(t, "Load", err, ErrNotFound)
		if !strings.Contains(err.Error(), fmt.Sprintf("%q", id)) {
			t.Errorf("Load(%q): error %q does not name the id", id, err)
		}
		_, _, _, err = s.VersionAt(id, 0, 0)
		wantError(t, "Versions", err, ErrNotFound)
		_, err = s.Outcome(id, 0)
		wantError(t, "Outcome", err, ErrNotFound)
		wantError(t, "Outcomes", s.Outcomes(id, nil), ErrNotFound)
		wantError(t, "Commit", s.Commit(t.Context(), id, Execution{Versions: []Version{{Index: 1}}}), ErrNotFound)
		wantError(t, "Delete", s.Delete(t.Context(), id), nil)
	}
	if got, _ := list(t, s, "", "", 0); !slices.Equal(got, []string{"session:m:-1"}) {
		t.Errorf("List: got %q, want only the session made", got)
	}
}

func TestVersions(t *testing.T) {
	s := openTest(t, Config{})
	mustCreate(t, s, "a", "", Version{2, -1, []byte("a2-1")}, Version{2, 256, []byte("a2+256")}, Version{4, math.MaxInt32, []byte("end")})
	mustCommit(t, s, "a", 5, "", "outcome", Version{2, 5, []byte("a2+5")}, Version{4, 5, []byte("a4+5")})
	mustCreate(t, s, "b", "", Version{0, math.MinInt32, []byte("begin")})
	for _, c := range []struct {
		id    string
		table uint8
		at    int32
		want  string // "" for none
		index int32
	}{
		{"a", 2, -2, "", 0}, {"a", 2, -1, "a2-1", -1}, {"a", 2, 4, "a2-1", -1}, {"a", 2, 5, "a2+5", 5}, {"a", 2, 255, "a2+5", 5},
		{"a", 2, math.MaxInt32, "a2+256", 256}, {"a", 4, 4, "", 0}, {"a", 4, math.MaxInt32 - 1, "a4+5", 5},
		{"a", 4, math.MaxInt32, "end", math.MaxInt32}, {"a", 3, 9, "", 0}, {"a", 0, 9, "", 0}, {"a", 255, 9, "", 0},
		{"b", 0, math.MinInt32, "begin", math.MinInt32}, {"b", 0, math.MaxInt32, "begin", math.MinInt32}, {"b", 255, 0, "", 0},
	} {
		data, index, ok, err := s.VersionAt(c.id, c.table, c.at)
		if err != nil || string(data) != c.want || index != c.index || ok != (c.want != "") {
			t.Errorf("Versions(%q, %d, %d): got %q, %d, %v, %v, want %q, %d", c.id, c.table, c.at, data, index, ok, err, c.want, c.index)
		}
	}
}

func TestUnusualIDs(t *testing.T) {
	ids := []string{
		"a", "a\x01", "a\x01\x01", "a\x01\x02b", "a b", "a/../b", "aa", "A", "ä", "日本", "\xff", "\xff\xff", "\x01", "\n",
		`"quoted"`, strings.Repeat("x", maxID),
	}
	s := openTest(t, Config{})
	for _, id := range ids {
		mustCreate(t, s, id, "meta", Version{Table: 255, Index: math.MaxInt32, Data: []byte(id)})
		mustCommit(t, s, id, math.MaxInt32, "meta", id)
	}
	slices.Sort(ids)
	for len(ids) > 0 {
		var want []string
		for _, id := range ids {
			want = append(want, fmt.Sprintf("%s:meta:%d", id, math.MaxInt32))
			wantRecord(t, s, id, &Record{Meta: []byte("meta"), Versions: []Version{{255, math.MaxInt32, []byte(id)}}, LastIndex: math.MaxInt32})
			if got, err := s.Outcome(id, math.MaxInt32); err != nil || string(got) != id {
				t.Errorf("Outcome(%q): got %q, %v, want the id", id, got, err)
			}
		}
		if got, _ := list(t, s, "", "", 0); !slices.Equal(got, want) {
			t.Errorf("List: got %q, want %q", got, want)
		}
		gone := len(ids) / 2
		if err := s.Delete(t.Context(), ids[gone]); err != nil {
			t.Fatalf("Delete(%q): %v", ids[gone], err)
		}
		ids = slices.Delete(ids, gone, gone+1)
	}

	for _, id := range []string{"", "\x00", "a\x00", "a\x00b", strings.Repeat("x", maxID+1)} {
		wantError(t, "Create", s.Create(t.Context(), id, nil, 0), ErrID)
		wantError(t, "Commit", s.Commit(t.Context(), id, Execution{}), ErrID)
		wantError(t, "Delete", s.Delete(t.Context(), id), ErrID)
		_, err := s.Load(id)
		wantError(t, "Load", err, ErrID)
	}
	_, err := s.List("a\x00", "", 0, nil)
	wantError(t, "List", err, ErrID)
}

func TestKeyOrder(t *testing.T) {
	var want [][]byte
	for _, id := range []string{"\x01", "a", "a\x01", "aa", "\xff"} {
		for _, kind := range []byte{kindSession, kindVersion, kindOutcome} {
			for _, table := range []byte{0, 1, 255} {
				for _, index := range []int32{math.MinInt32, -256, -1, 0, 1, 255, 256, math.MaxInt32} {
					key := appendKey(nil, id, kind, table, index)
					if keyID(key) != id || keyTable(key) != table || keyIndex(key) != index {
						t.Errorf("key %x: got %q, %d, %d, want %q, %d, %d", key, keyID(key), keyTable(key), keyIndex(key), id, table, index)
					}
					want = append(want, key)
				}
			}
		}
	}
	got := slices.Clone(want)
	slices.SortFunc(got, bytes.Compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order of keys: -want +got\n%s", diff)
	}
}

func TestList(t *testing.T) {
	s := openTest(t, Config{})
	const n = 2*page + 50
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("s%04d", i))
	}
	inParallel(16, n, func(i int) {
		if err := errors.Join(
			createWith(t.Context(), s, all[i], "m", Version{Data: []byte("v")}),
			s.Commit(t.Context(), all[i], Execution{Index: 1, LastIndex: 1, Meta: []byte("m"), Outcome: []byte("o")})); err != nil {
			t.Error(err)
		}
	})
	mustCreate(t, s, "r", "m")
	mustCreate(t, s, "t", "m")
	for _, limit := range []int{1, 7, page, page + 1, n, n + 1, 0} {
		var got []string
		for after, more := "", true; more; {
			var visited []string
			visited, more = list(t, s, "s", after, limit)
			if limit > 0 && len(visited) > limit || more && len(visited) != limit {
				t.Fatalf("limit %d: got %d sessions and more=%v", limit, len(visited), more)
			}
			for _, v := range visited {
				got = append(got, strings.TrimSuffix(v, ":m:1"))
			}
			after = got[len(got)-1]
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("limit %d: -want +got\n%s", limit, diff)
		}
	}
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          string
		more          bool
	}{
		{"s000", "s0007", 0, "s0008:m:1 s0009:m:1", false}, {"s000", "s0007", 2, "s0008:m:1 s0009:m:1", false},
		{"s000", "s0007", 1, "s0008:m:1", true}, {"s000", "", 1, "s0000:m:1", true}, {"s000", "a", 1, "s0000:m:1", true},
		{"s000", "s0009", 0, "", false}, {"s000", "z", 0, "", false}, {"none", "", 5, "", false},
		{"", "s0560", 0, "s0561:m:1 t:m:-1", false}, {"", "", 1, "r:m:-1", true}, {"s", "s05605", 1, "s0561:m:1", false},
	} {
		got, more := list(t, s, c.prefix, c.after, c.limit)
		if strings.Join(got, " ") != c.want || more != c.more {
			t.Errorf("List(%q, %q, %d): got %q, %v, want %q, %v", c.prefix, c.after, c.limit, got, more, c.want, c.more)
		}
	}
}

func TestVisitMayUseStore(t *testing.T) {
	s := openTest(t, Config{})
	for i := range 5 {
		mustCreate(t, s, fmt.Sprint(i), "")
		mustCommit(t, s, fmt.Sprint(i), 0, "", "o")
	}
	_, err := s.List("", "", 0, func(id string, _ []byte, _ int32) error {
		return s.Outcomes(id, func(int32, []byte) error { return s.Delete(t.Context(), id) })
	})
	if err != nil {
		t.Errorf("List with Delete: %v", err)
	}
	if got, _ := list(t, s, "", "", 0); got != nil {
		t.Errorf("List: got %q, want none", got)
	}

	mustCreate(t, s, "a", "")
	mustCommit(t, s, "a", 0, "", "o")
	stop := errors.New("stop")
	if _, got := s.List("", "", 0, func(string, []byte, int32) error { return stop }); !errors.Is(got, stop) {
		t.Errorf("List: got error %v, want that of visit", got)
	}
	if got := s.Outcomes("a", func(int32, []byte) error { return stop }); !errors.Is(got, stop) {
		t.Errorf("Outcomes: got error %v, want that of visit", got)
	}
}
