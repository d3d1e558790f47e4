package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

// envCrash holds the path that the test binary writes to, when it is run to be killed.
const envCrash = "STORE_TEST_CRASH"

func TestMain(m *testing.M) {
	if path := os.Getenv(envCrash); path != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// writeUntilKilled prints "session index" after each acknowledged commit. It returns only with an
// error.
func writeUntilKilled(path string) error {
	s, err := Open(Config{Path: path})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for w := range 8 {
		go func() {
			id := fmt.Sprint(w)
			if err := s.Create(context.Background(), id, []byte("0"), 0); err != nil {
				failed <- err
			}
			for i := int32(1); ; i++ {
				text := []byte(fmt.Sprint(i))
				if err := s.Commit(context.Background(), id, Execution{Index: i, LastIndex: i, Meta: text, Versions: []Version{{0, i, text}}, Outcome: text}); err != nil {
					failed <- err
				}
				fmt.Println(id, i)
			}
		}()
	}
	return <-failed
}

func TestKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), envCrash+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]int32{} // the highest index by session
	lines := 0
	for scan := bufio.NewScanner(out); scan.Scan(); lines++ {
		var id string
		var index int32
		// The last line may have been cut off by the kill.
		if n, _ := fmt.Sscanf(scan.Text(), "%s %d", &id, &index); n == 2 && lines <= 1000 {
			acknowledged[id] = index
		}
		if lines == 1000 {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = child.Wait() // an error: it was killed
	if lines < 1000 {
		t.Fatalf("the process ended after %d commits by itself", lines)
	}

	s := openTest(t, Config{Path: path})
	for id, last := range acknowledged {
		record, err := s.Load(id)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(record.Meta); record.LastIndex < last || got != fmt.Sprint(record.LastIndex) || len(record.Versions) != int(record.LastIndex) {
			t.Errorf("session %s: got index %d, meta %q, %d versions, want index %d at least", id, record.LastIndex, got, len(record.Versions), last)
		}
		if got := outcomes(t, s, id); len(got) != int(record.LastIndex) {
			t.Errorf("session %s: got %d outcomes, want %d", id, len(got), record.LastIndex)
		}
	}
	wantSound(t, s)
}

// wantSound has bbolt check the file.
func wantSound(t *testing.T, s *Store) {
	t.Helper()
	if err := s.db.View(func(tx *bolt.Tx) error {
		var all []error
		for err := range tx.Check() {
			all = append(all, err)
		}
		return errors.Join(all...)
	}); err != nil {
		t.Errorf("check of the file: %v", err)
	}
}

func TestCopyOfLiveFile(t *testing.T) {
	s := openTest(t, Config{})
	const writers, commits = 8, 50
	inParallel(writers, writers, func(w int) {
		id := fmt.Sprint(w)
		err := s.Create(t.Context(), id, []byte("0"), 0)
		for i := int32(1); i <= commits && err == nil; i++ {
			text := []byte(fmt.Sprint(i))
			err = s.Commit(t.Context(), id, Execution{Index: i, LastIndex: i, Meta: text, Versions: []Version{{uint8(i % 3), i, text}}, Outcome: text})
		}
		if err != nil {
			t.Error(err)
		}
	})
	data, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}

	c := openTest(t, Config{Path: path})
	for w := range writers {
		id := fmt.Sprint(w)
		want, err := s.Load(id)
		if err != nil {
			t.Fatal(err)
		}
		wantRecord(t, c, id, want)
		if got := len(want.Versions); got != commits || want.LastIndex != commits {
			t.Errorf("session %s: got %d versions, index %d, want %d", id, got, want.LastIndex, commits)
		}
		if got := outcomes(t, c, id); len(got) != commits || got[commits-1] != "50=50" {
			t.Errorf("session %s: got outcomes %q, want %d", id, got, commits)
		}
	}
	wantSound(t, c)
}

func TestConcurrentUse(t *testing.T) {
	for _, cfg := range []Config{{}, {BatchSize: 1}, {BatchSize: 3}} {
		t.Run(fmt.Sprintf("batch=%d", cfg.BatchSize), func(t *testing.T) {
			s := openTest(t, cfg)
			var created atomic.Int32
			inParallel(16, 400, func(i int) {
				id := fmt.Sprint(i % 20)
				switch err := s.Create(t.Context(), id, []byte("m"), 0); {
				case err == nil:
					created.Add(1)
				case !errors.Is(err, ErrExists):
					t.Error(err)
				}
				text := fmt.Appendf(nil, "outcome %d", i)
				if err := s.Commit(t.Context(), id, Execution{Index: int32(i), LastIndex: int32(i), Meta: []byte("m"), Versions: []Version{{0, int32(i), text}}, Outcome: text}); err != nil {
					t.Error(err)
				}
				if got, err := s.Outcome(id, int32(i)); err != nil || string(got) != string(text) {
					t.Errorf("Outcome(%s, %d): got %q, %v, want %q", id, i, got, err, text)
				}
				wantError(t, "Commit without session", s.Commit(t.Context(), "none", Execution{}), ErrNotFound)
			})
			if got := created.Load(); got != 20 {
				t.Errorf("got %d sessions made, want 20", got)
			}
			for i := range 20 {
				if got := outcomes(t, s, fmt.Sprint(i)); len(got) != 20 {
					t.Errorf("session %d: got %d outcomes, want 20", i, len(got))
				}
			}
			wantSound(t, s)
		})
	}
}

// TestFailedCommit has commits fail in bbolt, by a file that may not grow and by one that cannot be
// written.
func TestFailedCommit(t *testing.T) {
	for name, breakFile := range map[string]func(s *Store, file *os.File) error{
		"full": func(s *Store, _ *os.File) error {
			s.db.MaxSize = int(s.Size())
			return nil
		},
		"unwritable": func(_ *Store, file *os.File) error { return file.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			var file *os.File
			s, err := open(Config{Path: path}, func(name string, flag int, mode os.FileMode) (*os.File, error) {
				var err error
				file, err = os.OpenFile(name, flag, mode)
				return file, err
			})
			if err != nil {
				t.Fatal(err)
			}
			mustCreate(t, s, "a", "before")
			mustCommit(t, s, "a", 1, "before", "kept")
			if err := breakFile(s, file); err != nil {
				t.Fatal(err)
			}

			big := make([]byte, 1<<20)
			inParallel(16, 48, func(i int) {
				err := s.Commit(t.Context(), "a", Execution{Index: int32(i + 2), Meta: big, Outcome: big})
				if fatal := (*FatalError)(nil); !errors.As(err, &fatal) || errors.Unwrap(fatal) == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("Commit: got %v, want a FatalError with a cause and the path", err)
				}
			})
			first := <-s.Failed()
			wantError(t, "Delete later", s.Delete(t.Context(), "a"), first)
			select {
			case err := <-s.Failed():
				t.Errorf("Failed: got a second error %v, want one", err)
			default:
			}
			wantRecord(t, s, "a", &Record{Meta: []byte("before"), LastIndex: 1}) // reads go on
			_ = s.Close()                                                        // its error is that of the closed file

			s = openTest(t, Config{Path: path})
			wantRecord(t, s, "a", &Record{Meta: []byte("before"), LastIndex: 1})
			mustCommit(t, s, "a", 2, "after", "new")
			if got := outcomes(t, s, "a"); strings.Join(got, " ") != "1=kept 2=new" {
				t.Errorf("outcomes after reopening: got %q, want 1=kept 2=new", got)
			}
			wantSound(t, s)
		})
	}
}

func TestCloseWithWriters(t *testing.T) {
	s := openTest(t, Config{BatchSize: 4})
	const writers = 30
	var results [writers]error
	first := make(chan struct{}, writers)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		inParallel(writers, writers, func(i int) {
			results[i] = s.Create(t.Context(), fmt.Sprint(i), nil, 0)
			first <- struct{}{}
		})
	}()
	<-first
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-finished

	wantError(t, "Create after Close", s.Create(t.Context(), "late", nil, 0), ErrClosed)
	_, err := s.Load("0")
	wantError(t, "Load after Close", err, ErrClosed)
	_, err = s.List("", "", 0, nil)
	wantError(t, "List after Close", err, ErrClosed)
	if got := s.Size(); got != 0 {
		t.Errorf("Size after Close: got %d, want 0", got)
	}

	s = openTest(t, Config{Path: s.path})
	for i, result := range results {
		_, err := s.Load(fmt.Sprint(i))
		if result == nil {
			wantError(t, "Load of an acknowledged session", err, nil)
			continue
		}
		wantError(t, "Create while closing", result, ErrClosed)
		wantError(t, "Load of a refused session", err, ErrNotFound)
	}
}

func TestOpenErrors(t *testing.T) {
	held := openTest(t, Config{})
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	alien := filepath.Join(dir, "alien.db")
	wantError(t, "alien file", makeBolt(alien, "other", "", nil), nil)
	newer := filepath.Join(dir, "newer.db")
	wantError(t, "newer file", makeBolt(newer, string(bucketStore), string(keyFormat), []byte{formatVersion + 1}), nil)
	for name, c := range map[string]struct{ path, want string }{
		"locked":          {held.path, "another process holds its lock (waited 100ms)"},
		"no directory":    {filepath.Join(dir, "none", "x.db"), "no such file or directory"},
		"under a file":    {filepath.Join(write("file", ""), "x.db"), "not a directory"},
		"a directory":     {dir, "is a directory"},
		"another format":  {write("text.db", strings.Repeat("no store ", 2000)), "invalid database"},
		"other buckets":   {alien, `it has a bucket "other"`},
		"a newer version": {newer, "layout 03, only 02 is known"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(Config{Path: c.path, OpenTimeout: 100 * time.Millisecond})
			if err == nil {
				t.Fatalf("Open(%s): got no error, want %q; %v", c.path, c.want, s.Close())
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("Open: got error %q, want %q and the path %s", err, c.want, c.path)
			}
		})
	}
}

// TestUnwritableFile opens a file for reading only, as a file system mounted so does; a mode would
// not stop root.
func TestUnwritableFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	_, err := open(Config{Path: path}, func(name string, _ int, mode os.FileMode) (*os.File, error) {
		return os.OpenFile(name, os.O_RDONLY|os.O_CREATE, mode)
	})
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Open: got error %v, want one that names %s", err, path)
	}
}

// makeBolt makes a bbolt file with a bucket, and a key in it unless key is empty.
func makeBolt(path, bucket, key string, value []byte) error {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte(bucket))
		if err != nil || key == "" {
			return err
		}
		return b.Put([]byte(key), value)
	})
	return errors.Join(err, db.Close())
}
