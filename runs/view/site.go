package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/pause"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// Evaluator calls do with an evaluator. It may have to start one.
type Evaluator func(ctx context.Context, do func(context.Context, evaluatorv1.EvaluatorServiceClient) error) error

// Site serves the pages of sources: at once, while they are read, and as their rollouts end.
type Site struct {
	sources   []Source
	given     int // number of sources that the site began with; forks follow
	scenarios Scenarios
	start     Evaluator
	traceUI   string

	group     sync.WaitGroup // what Serve starts
	evaluator *eventual[evaluatorv1.EvaluatorServiceClient]
	proofs    *proofs
	news      *news
	renew     chan struct{} // has room for one: the sources or their progress changed

	forking *forking // nil if no form may fork

	mu       sync.Mutex
	progress []*progress // by source
	ended    []bool      // by source: it is followed no more
	playing  int         // number of sources that are followed
	viewer   *Viewer     // nil until the sources are read
}

// NewSite returns a site of sources, of which there is at least one. Rollouts lead to their traces
// in Jaeger's user interface at traceUI, or in another one with the same paths; empty is for no
// links.
func NewSite(sources []Source, scenarios Scenarios, evaluator Evaluator, traceUI string) *Site {
	return &Site{
		sources: sources, given: len(sources), scenarios: scenarios, start: evaluator, traceUI: traceUI, news: newNews(), renew: make(chan struct{}, 1),
		progress: make([]*progress, len(sources)), ended: make([]bool, len(sources)), playing: len(sources),
	}
}

// Export follows the sources to their end, writes the pages as files as Viewer.Export does, and
// prints where they are. proofs: it plays the proofs of the scenarios, which takes a while.
func (s *Site) Export(ctx context.Context, dir string, proofs bool, stderr io.Writer) error {
	runs := make([]*analysis.Run, len(s.sources))
	for i, source := range s.sources {
		err := source.Follow(ctx, func(report.SweepDetail) {})
		if err == nil {
			runs[i], err = source.Run(ctx)
		}
		if err != nil {
			return err
		}
	}
	scenarios, err := s.scenarios(ctx)
	if err != nil {
		return err
	}
	return s.start(ctx, func(ctx context.Context, client evaluatorv1.EvaluatorServiceClient) error {
		v := New(runs, scenarios, client)
		for i, r := range v.runs {
			r.read = s.sources[i].Trajectory
		}
		v.traceUI = s.traceUI
		return v.write(ctx, dir, proofs, stderr)
	})
}

// Run listens at a loopback address, prints the address of the pages and serves them, see Serve.
func (s *Site) Run(ctx context.Context, address string, stdout io.Writer) error {
	listener, err := Listen(ctx, address)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "view: http://%s/\n", listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	return s.Serve(ctx, listener)
}

// Serve serves the pages until ctx is done, and then returns nil. It closes the listener. It fails
// if a source cannot be read.
func (s *Site) Serve(ctx context.Context, listener net.Listener) error {
	if err := s.checkForks(listener); err != nil {
		return errors.Join(err, listener.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer s.group.Wait()
	defer cancel()
	if s.forking != nil {
		s.forking.life = ctx
	}
	s.proofs = newProofs(ctx, &s.group, s.news.add)
	failed := s.begin(ctx)
	server := newServer(ctx, Handler(listener.Addr().String(), s))
	served := make(chan error, 1)
	s.group.Go(func() { served <- server.Serve(listener) })
	return shutdown(ctx, cancel, server, served, failed)
}

// begin reads and follows the sources in goroutines of the group until ctx is done. failed gets one
// value: why they cannot be read, or nil at the end.
func (s *Site) begin(ctx context.Context) (failed <-chan error) {
	s.evaluator = newEventual(&s.group, func(settle func(evaluatorv1.EvaluatorServiceClient, error)) {
		err := s.start(ctx, func(ctx context.Context, client evaluatorv1.EvaluatorServiceClient) error {
			settle(client, nil)
			<-ctx.Done()
			return nil
		})
		settle(nil, cmp.Or(err, ctx.Err()))
	})
	kept := make(chan error, 1)
	s.group.Go(func() { kept <- s.keep(ctx) })
	for i, source := range slices.Clone(s.sources) {
		s.group.Go(func() { s.follow(ctx, i, source) })
	}
	return kept
}

// follow follows one source to its end.
func (s *Site) follow(ctx context.Context, i int, source Source) {
	err := source.Follow(ctx, func(now report.SweepDetail) {
		s.mu.Lock()
		s.progress[i] = newProgress(now)
		s.mu.Unlock()
		s.wake()
	})
	s.mu.Lock()
	s.playing--
	s.ended[i] = true
	if err != nil && s.progress[i] != nil {
		failed := *s.progress[i] // pages show the other one
		failed.Problem = err.Error()
		s.progress[i] = &failed
	}
	s.mu.Unlock()
	s.wake()
}

func (s *Site) wake() {
	select {
	case s.renew <- struct{}{}:
	default:
	}
}

// keep reads the sources, and again when rollouts have ended, at most a tenth of the time. It fails
// if they cannot be read at first: later the pages stay as they are, if they have anything.
func (s *Site) keep(ctx context.Context) error {
	var runs []*analysis.Run
	var done []int64 // of the progress that runs has
	var last []bool  // whether they were read after their end
	for {
		began := time.Now()
		s.mu.Lock()
		sources, state, ended, playing := slices.Clone(s.sources), slices.Clone(s.progress), slices.Clone(s.ended), s.playing
		s.mu.Unlock()
		changed := false
		for i, source := range sources {
			now := state[i]
			first := i == len(runs) // of this source
			if first {
				runs, done, last = append(runs, nil), append(done, 0), append(last, false)
			}
			if !first && playing > 0 && last[i] == ended[i] && (now == nil || now.Done == done[i]) {
				continue
			}
			last[i] = ended[i]
			loaded, err := source.Run(ctx)
			if err != nil && i >= s.given { // a fork that is about to write its results
				loaded, err = analysis.NewRun("fork", &resultfile.Summary{}, nil), nil
				if !first {
					continue
				}
			}
			if err != nil && (first || playing == 0 && runs[i].Record() == nil && len(runs[i].Names()) == 0) {
				return err
			}
			if err == nil && loaded != runs[i] {
				runs[i], changed = loaded, true
			}
			if now != nil {
				done[i] = now.Done
			}
		}
		s.show(ctx, runs, state, changed, playing > 0)
		took := time.Since(began)
		if playing == 0 {
			s.prepare(ctx)
		}
		select {
		case <-s.renew:
		case <-ctx.Done():
			return nil
		}
		s.rest(ctx, 10*took)
	}
}

// prepare gets ready for the first rollout of runs that change no more. An error is that of the
// page that needs them.
func (s *Site) prepare(ctx context.Context) {
	if _, err := s.scenarios(ctx); err == nil {
		_, _ = s.evaluator.get(ctx)
	}
}

// rest waits while runs are played.
func (s *Site) rest(ctx context.Context, d time.Duration) {
	s.mu.Lock()
	playing := s.playing
	s.mu.Unlock()
	if playing > 0 {
		pause.For(ctx, d)
	}
}

// show replaces the viewer. changed: the runs are others than before.
func (s *Site) show(ctx context.Context, runs []*analysis.Run, state []*progress, changed, playing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	runs = slices.Clone(runs) // the report is computed while keep reads the next ones
	v := New(runs, nil, nil)
	if !changed {
		same := *s.viewer
		same.runs = nil
		for _, r := range s.viewer.runs {
			run := *r
			same.runs = append(same.runs, &run)
		}
		v = &same
	} else {
		computed := newEventual(&s.group, func(settle func(*analysis.Report, error)) {
			settle(analysis.NewReport(ctx, runs, passAt))
			s.news.add()
		})
		v.report = computed.get
	}
	for i, r := range v.runs {
		r.read, r.Progress = s.sources[i].Trajectory, state[i]
		_, r.isSweep = s.sources[i].(*sweepSource)
	}
	v.traceUI, v.changing, v.forkToken = s.traceUI, playing, s.forking.form()
	s.viewer = v
	s.news.add()
}

// ServeHTTP answers an admitted request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	if path == eventsPath {
		s.news.serve(w, r)
		return
	}
	if r.Method == http.MethodPost {
		s.serveFork(w, r)
		return
	}
	version, _ := s.news.now()
	s.mu.Lock()
	v := s.viewer
	s.mu.Unlock()
	isReady := v != nil
	if !isReady {
		v = &Viewer{version: version, changing: true}
	} else {
		same := *v
		v = &same
		v.version = version
	}
	if strings.Contains(path, "/") && isReady {
		scenarios, err := s.scenarios(r.Context())
		client, evaluatorErr := s.evaluator.get(r.Context())
		if err := cmp.Or(err, evaluatorErr); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		v.scenarios, v.evaluator = scenarios, client
		if s.proofs != nil {
			v.proofOf = s.proofs.of
		}
	}
	v.ServeHTTP(w, r)
}

// Memoize returns a function that calls scenarios until it succeeds once.
func Memoize(scenarios Scenarios) Scenarios {
	var mu sync.Mutex
	var known map[string]*scenariov1.Scenario
	return func(ctx context.Context) (map[string]*scenariov1.Scenario, error) {
		mu.Lock()
		defer mu.Unlock()
		if known != nil {
			return known, nil
		}
		var err error
		known, err = scenarios(ctx)
		return known, err
	}
}

// eventual is a value that a goroutine makes once somebody wants it.
type eventual[T any] struct {
	begin func()
	done  chan struct{}
	value T
	err   error
}

// newEventual returns a value that run makes in a goroutine of group. Only the first call of settle
// counts.
func newEventual[T any](group *sync.WaitGroup, run func(settle func(T, error))) *eventual[T] {
	e := &eventual[T]{done: make(chan struct{})}
	var settled sync.Once
	e.begin = sync.OnceFunc(func() {
		group.Go(func() {
			run(func(value T, err error) {
				settled.Do(func() {
					e.value, e.err = value, err
					close(e.done)
				})
			})
		})
	})
	return e
}

func (e *eventual[T]) get(ctx context.Context) (T, error) {
	e.begin()
	select {
	case <-e.done:
		return e.value, e.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("not ready: %w", context.Cause(ctx))
	}
}
