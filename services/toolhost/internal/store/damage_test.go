//go:build !race

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	// damages is how many files a test damages, each in another way.
	damages  = 150
	sessions = 60
	// lastIndex ends the names of the values that change as a session goes on.
	lastIndex = " last index"
)

// written makes a store of sessions with versions of many sizes, some of them deleted again, and
// returns its file.
func written(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, err := Open(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for n := range sessions + 20 {
		id := fmt.Sprintf("sweep.%d", n)
		err := createWith(t.Context(), s, id, id, Version{Index: -1, Data: bytes.Repeat([]byte(id), n)})
		for i := range int32(4) {
			data := bytes.Repeat([]byte{byte(i), byte(n)}, n*n*int(i))
			err = errors.Join(err, s.Commit(t.Context(), id, Execution{Index: i, LastIndex: i, Meta: []byte(id), Versions: []Version{{Table: uint8(i % 2), Index: i, Data: data}}, Outcome: data[:len(data)/3]}))
		}
		if err = errors.Join(err, s.PutAnswer(t.Context(), id, Answer{Index: 1, Data: []byte(id)})); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		if err := s.Delete(t.Context(), fmt.Sprintf("sweep.%d", 4*n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// contents reads everything, one text for each value, and how many values there are of a session.
func contents(s *Store) (all map[string]string, failed error) {
	all = make(map[string]string)
	var ids []string
	_, failed = s.List("", "", 0, func(id string, meta []byte, last int32) error {
		ids = append(ids, id)
		all[id], all[id+lastIndex] = string(meta), fmt.Sprint(last)
		return nil
	})
	for _, id := range ids {
		record, err := s.Load(id)
		if err == nil {
			all[id+" record"], all[id+" record"+lastIndex] = string(record.Meta), fmt.Sprint(record.LastIndex)
			for _, v := range record.Versions {
				all[fmt.Sprint(id, " version ", v.Table, v.Index)] = string(v.Data)
			}
		}
		data, index, ok, versionErr := s.VersionAt(id, 1, 2)
		if versionErr == nil && ok {
			all[fmt.Sprint(id, " version ", 1, index)] = string(data)
		}
		outcomeErr := s.Outcomes(id, func(index int32, outcome []byte) error {
			all[fmt.Sprint(id, " outcome ", index)] = string(outcome)
			return nil
		})
		answers, answerErr := s.Answers(id, 0, 9)
		for _, answer := range answers {
			all[fmt.Sprint(id, " answer ", answer.Index, answer.Number)] = string(answer.Data)
		}
		failed = errors.Join(failed, err, versionErr, outcomeErr, answerErr)
	}
	return all, failed
}

// damage changes a file: some bytes anywhere, a page, or its length.
func damage(random *rand.Rand, file []byte) []byte {
	file = slices.Clone(file)
	page := os.Getpagesize()
	switch random.IntN(5) {
	case 0:
		return file[:random.IntN(len(file))]
	case 1:
		clear(file[random.IntN(len(file)/page)*page:][:page])
	case 2: // at the beginning of a page, where it says what is in it
		file[random.IntN(len(file)/page)*page+random.IntN(64)] ^= byte(1 + random.IntN(255))
	default:
		for range 1 + random.IntN(8) {
			file[random.IntN(len(file))] ^= byte(1 + random.IntN(255))
		}
	}
	return file
}

// wantDamage checks that an error is a line that names the file and what to do.
func wantDamage(t *testing.T, n int, err error, path string) {
	t.Helper()
	if text := fmt.Sprint(err); !errors.As(err, new(*CorruptError)) || !strings.Contains(text, path) || !strings.Contains(text, "sets the file aside") {
		t.Errorf("damage %d: got %v, want that %s is damaged and what to do", n, err, path)
	}
}

// TestLongDamagedFiles damages a file in many ways: it does not open, with a line that says what to
// do, or everything in it is as it was.
func TestLongDamagedFiles(t *testing.T) {
	file := written(t)
	dir, random := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	var want map[string]string
	page, rejected := os.Getpagesize(), 0
	for n := range damages {
		path, damaged := filepath.Join(dir, "sessions.db"), file
		switch {
		case n%8 == 1: // a page in place of another
			damaged = slices.Clone(file)
			copy(damaged[random.IntN(len(file)/page)*page:], file[random.IntN(len(file)/page)*page:][:page])
		case n%8 == 2: // less than bbolt needs, though its first page may be whole
			damaged = file[:1+random.IntN(2*page)]
		case n > 0:
			damaged = damage(random, file)
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Config{Path: path})
		if err != nil {
			wantDamage(t, n, err, path)
			rejected++
			continue
		}
		got, err := contents(s)
		if n == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); (diff != "" || err != nil) && len(damaged) > 0 {
			t.Errorf("damage %d: got %v and contents that differ, want an error when it is opened\n%.2000s", n, err, diff)
		}
		if err := errors.Join(s.Create(t.Context(), "new", nil, 0), s.Close()); err != nil {
			t.Errorf("damage %d: write and close: got %v, want nil", n, err)
		}
	}
	if rejected < damages/4 {
		t.Errorf("files that were refused: got %d of %d, want a quarter at least", rejected, damages)
	}
}

// TestOpenOrReplace opens a damaged file twice: it is set aside under two names, each as it was,
// and the new file is a store. A sound file stays.
func TestOpenOrReplace(t *testing.T) {
	cfg := Config{Path: filepath.Join(t.TempDir(), "sessions.db")}
	asides := make(map[string]bool)
	for n := range 2 {
		damaged := []byte(fmt.Sprint("no store ", n))
		if err := os.WriteFile(cfg.Path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, replaced, err := OpenOrReplace(cfg, time.Unix(0, int64(n)))
		if err != nil || replaced == nil {
			t.Fatalf("damaged file: got %v and %v, want that it is replaced", replaced, err)
		}
		if got, err := os.ReadFile(replaced.Aside); err != nil || !bytes.Equal(got, damaged) {
			t.Errorf("%s: got %q and %v, want %q", replaced.Aside, got, err, damaged)
		}
		asides[replaced.Aside] = true
		if err := errors.Join(s.Create(t.Context(), "new", nil, 0), s.Close()); err != nil {
			t.Error(err)
		}
		if s, replaced, err = OpenOrReplace(cfg, time.Unix(0, 0)); err != nil || replaced != nil {
			t.Fatalf("sound file: got %v and %v, want that it stays", replaced, err)
		}
		if _, err := s.Load("new"); err != nil {
			t.Errorf("sound file: got %v, want the session", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(asides) != 2 {
		t.Errorf("files set aside: got %v, want two", asides)
	}
}

// TestLongDamageWhileOpen damages a file that is open and was sound: every value that can be read
// was stored under its key, though a damaged reference may lead to a page that has been freed, with
// a last index of before and sessions that were deleted, or away from what is stored. Nothing is a
// panic or a fault: it is an error, and the store says that it is lost.
func TestLongDamageWhileOpen(t *testing.T) {
	file := written(t)
	random := rand.New(rand.NewPCG(2, 2))
	lost := 0
	for n := range damages {
		path := filepath.Join(t.TempDir(), "sessions.db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		want, err := contents(s)
		if err != nil {
			t.Fatal(err)
		}
		damaged := damage(random, file)
		if n%2 == 0 {
			damaged = file[:random.IntN(len(file))]
		}
		overwrite(t, path, damaged)
		got, failed := contents(s)
		for name, text := range got {
			if was, ok := want[name]; ok && text != was && !strings.HasSuffix(name, lastIndex) {
				t.Errorf("damage %d: %s: got what was not stored, want it or an error", n, name)
			}
		}
		errs := make([]error, sessions)
		inParallel(sessions, sessions, func(i int) {
			errs[i] = s.Create(context.Background(), fmt.Sprintf("sweep.%d new", i), bytes.Repeat([]byte("x"), 5000), 0)
		})
		writes := errors.Join(errs...)
		select {
		case err := <-s.Failed():
			lost++
			wantDamage(t, n, err, path)
		default:
			if failed != nil && !errors.Is(failed, ErrNotFound) || writes != nil {
				t.Errorf("damage %d: got %v and %v, want that the store says it is lost", n, failed, writes)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("damage %d: Close: got %v, want nil", n, err)
		}
	}
	if lost < damages/4 {
		t.Errorf("stores that were lost: got %d of %d, want a quarter at least", lost, damages)
	}
}

// overwrite changes a file in place.
func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(data, 0)
	if err := errors.Join(err, file.Truncate(int64(len(data))), file.Close()); err != nil {
		t.Fatal(err)
	}
}
