package store

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// withoutCommitter returns a store on the file of s that queues writes and does not commit them.
func withoutCommitter(s *Store, size int) *Store {
	return &Store{
		db:    s.db,
		path:  s.path,
		size:  size,
		queue: make(chan *request, size),
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
	}
}

// TestContextEnds ends the context of a write that is queued, changes the memory given to it, and
// then commits it.
func TestContextEnds(t *testing.T) {
	s := openTest(t, Config{})
	mustCreate(t, s, "a", "old")
	idle := withoutCommitter(s, 1)
	meta, outcome, versions := []byte("meta"), []byte("outcome"), []Version{{Data: []byte("data")}}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- idle.Commit(ctx, "a", Execution{Meta: meta, Versions: versions, Outcome: outcome}) }()
	queued := <-idle.queue
	cancel()
	wantError(t, "Commit with its context ended", <-result, context.Canceled)
	wantRecord(t, s, "a", &Record{Meta: []byte("old"), LastIndex: -1})
	meta[0], outcome[0], versions[0].Data[0], versions[0].Table = 'X', 'X', 'X', 9

	idle.flush(&writer{}, []*request{queued})
	want := &Record{Meta: []byte("meta"), Versions: []Version{{Data: []byte("data")}}}
	wantRecord(t, s, "a", want)
	if got, err := s.Outcome("a", 0); err != nil || string(got) != "outcome" {
		t.Errorf("Outcome: got %q, %v, want outcome", got, err)
	}
	record, err := s.Load("a")
	if err != nil {
		t.Fatal(err)
	}
	record.Meta[0], record.Versions[0].Data[0] = 'Y', 'Y'
	wantRecord(t, s, "a", want)

	wantError(t, "Create after the end", s.Create(ctx, "c", nil, 0), context.Canceled)
	_, err = s.Load("c")
	wantError(t, "Load", err, ErrNotFound)
}

// TestFullQueue ends the contexts of writers that find no place in the queue, and closes the store
// over others.
func TestFullQueue(t *testing.T) {
	s := openTest(t, Config{})
	idle := withoutCommitter(s, 1)
	idle.queue <- &request{}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- idle.Delete(ctx, "a") }()
	cancel()
	wantError(t, "Delete with its context ended", <-result, context.Canceled)
	go func() { result <- idle.Delete(t.Context(), "a") }()
	close(idle.stop)
	wantError(t, "Delete while closing", <-result, ErrClosed)
}

// TestCollect takes what is queued in order of arrival, up to a full batch.
func TestCollect(t *testing.T) {
	idle := withoutCommitter(openTest(t, Config{}), 3)
	idle.queue = make(chan *request, 5)
	var queued []*request
	for range cap(idle.queue) {
		queued = append(queued, &request{})
		idle.queue <- queued[len(queued)-1]
	}
	batch := make([]*request, 0, 3)
	for _, want := range [][]*request{queued[:3], queued[3:]} {
		if batch = idle.collect(batch); !slices.Equal(batch, want) {
			t.Errorf("collect: got %d writes, want the next %d", len(batch), len(want))
		}
	}
	close(idle.stop)
	if batch = idle.collect(batch); len(batch) != 0 {
		t.Errorf("collect while closing: got %d writes, want none", len(batch))
	}
}

// TestGather lets patient writes wait for others: until one is not patient, the batch is full, or
// for gatherWait.
func TestGather(t *testing.T) {
	patient, other := &request{mayWait: true}, &request{}
	for name, test := range map[string]struct {
		first, later []*request
		want         time.Duration
	}{
		"alone":        {first: []*request{patient}, want: gatherWait},
		"two":          {first: []*request{patient}, later: []*request{patient}, want: gatherWait},
		"not patient":  {first: []*request{patient}, later: []*request{other}, want: time.Millisecond},
		"full":         {first: []*request{patient, patient}, later: []*request{patient}, want: time.Millisecond},
		"first is not": {first: []*request{other}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Store{size: 3, queue: make(chan *request, 3), stop: make(chan struct{})}
				begun := time.Now()
				for _, r := range test.first {
					s.queue <- r
				}
				time.AfterFunc(time.Millisecond, func() {
					for _, r := range test.later {
						s.queue <- r
					}
				})
				got := s.collect(nil)
				if want := slices.Concat(test.first, test.later); !slices.Equal(got, want) {
					t.Errorf("got %d writes, want %d", len(got), len(want))
				}
				if took := time.Since(begun); took != test.want {
					t.Errorf("took %s, want %s", took, test.want)
				}
			})
		})
	}
}
