package view

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

const (
	// mostSites bounds the open sites of a portal, mostOfToken those of one token. A further one
	// replaces the one that was used longest ago.
	mostSites, mostOfToken = 64, 8
	// siteIdle is the time after which a site without requests is closed, siteAge the time after which
	// every one is: the next request asks the orchestrator anew. siteLook is the interval of looking.
	siteIdle, siteAge, siteLook = 5 * time.Minute, time.Hour, 30 * time.Second
	// sweepFolder has the pages of a sweep, by its id.
	sweepFolder = "sweep/"
)

// portal serves the members of teams the pages of their sweeps. Every request shows a bearer token,
// which the policy knows. The orchestrator and the evaluator get that token, and decide what it may
// see. What was read with a token serves requests with the same token only.
type portal struct {
	policy       *access.Policy
	orchestrator orchestratorv1.OrchestratorServiceClient
	evaluator    evaluatorv1.EvaluatorServiceClient
	scenarios    Scenarios
	traceUI      string

	ctx     context.Context // that of run, with which sites end
	group   sync.WaitGroup
	streams chan struct{} // of events, of all sites

	mu    sync.Mutex
	sites map[siteKey]*openSite
}

// siteKey is what a site is for: the digest of a token, and a sweep.
type siteKey struct {
	token [sha256.Size]byte
	sweep string
}

// openSite is a site with the times by which it is closed.
type openSite struct {
	*Site
	token        string
	ctx          context.Context // that of the site, which requests end with
	cancel       context.CancelFunc
	opened, used time.Time
	requests     int
}

// serveTeams serves the teams of the installation's access file their sweeps until ctx is done, and
// prints the address. The tokens of requests go to the installation. They never travel over a
// network in plain text: that is an error of usage.
func (c *Command) serveTeams(ctx context.Context) error {
	network := c.Installation.Network
	policy, err := access.Load(network.AccessFile)
	if err := errors.Join(err, network.CheckForwarding()); err != nil {
		return process.UsageErrorf("%w", err)
	}
	if err := checkLoopback(c.Listen); err != nil && network.TLSCert == "" {
		return process.UsageErrorf("%w; tokens would travel in plain text: give --tls-cert and --tls-key", err)
	} else if err != nil && len(c.Hosts) == 0 {
		return process.UsageErrorf("--view-host: missing with --listen %s: give the name of the pages in people's browsers, such as view.example.com; other requests are refused", c.Listen)
	}
	return standalone.WithTemporary(ctx, c.Installation, "warn", c.Stderr, func(ctx context.Context, node *rpc.Node) error {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
		if err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		p := &portal{
			policy: policy, orchestrator: orchestratorv1.NewOrchestratorServiceClient(node.Conn(rpc.Orchestrator)),
			evaluator: evaluatorv1.NewEvaluatorServiceClient(node.Conn(rpc.Evaluator)), scenarios: c.Scenarios, traceUI: c.TraceUI,
		}
		return p.run(ctx, listener, c.Hosts, network, process.DefaultLog().New(c.Stderr), c.Stdout)
	})
}

// run prints the address and serves until ctx is done. It closes the listener.
func (p *portal) run(ctx context.Context, listener net.Listener, hosts []string, network rpc.Config, logger *slog.Logger, stdout io.Writer) error {
	scheme := "http"
	if network.TLSCert != "" {
		scheme = "https"
	}
	if _, err := fmt.Fprintf(stdout, "view: %s://%s/\n", scheme, listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer p.group.Wait()
	defer cancel()
	p.ctx, p.sites, p.streams = ctx, make(map[siteKey]*openSite), make(chan struct{}, mostStreams)
	p.group.Go(func() { p.policy.Run(ctx, logger) })
	p.group.Go(p.closeOld)
	server := newServer(ctx, Handler(listener.Addr().String(), p, hosts...))
	served := make(chan error, 1)
	p.group.Go(func() {
		if scheme == "https" {
			served <- server.ServeTLS(listener, network.TLSCert, network.TLSKey)
		} else {
			served <- server.Serve(listener)
		}
	})
	return shutdown(ctx, cancel, server, served, nil)
}

// ServeHTTP answers an admitted request: 401 without content if its token is not valid.
func (p *portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Authorization")
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch _, err := p.policy.OfToken(r.Context(), token); {
	case errors.Is(err, access.ErrNotReady):
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case err != nil || len(r.Header.Values("Authorization")) != 1:
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r = r.WithContext(rpc.WithToken(r.Context(), token))
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	rest, ofSweep := strings.CutPrefix(path, sweepFolder)
	if id, _, ok := strings.Cut(rest, "/"); ofSweep && ok {
		p.serveSweep(w, r, token, id)
		return
	}
	if path == styleFile || path == scriptFile {
		new(Viewer).serveAsset(w, path)
		return
	}
	if path != "" && path != "index.html" {
		http.Error(w, "There is no such page.", http.StatusNotFound)
		return
	}
	p.serveList(w, r)
}

// serveSweep answers a request for a page of a sweep.
func (p *portal) serveSweep(w http.ResponseWriter, r *http.Request, token, id string) {
	site, done, err := p.open(r.Context(), siteKey{sha256.Sum256([]byte(token)), id}, token)
	if unknown, ok := errors.AsType[*sweep.UnknownError](err); ok {
		http.Error(w, unknown.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(site.ctx, cancel)()
	http.StripPrefix("/"+sweepFolder+id, site).ServeHTTP(w, r.WithContext(ctx))
}

// open returns the site of a token and a sweep, which it opens if there is none. done has to be
// called after the request. The error is an *sweep.UnknownError for a sweep that the token may not
// see.
func (p *portal) open(ctx context.Context, key siteKey, token string) (site *openSite, done func(), err error) {
	if site = p.use(key, nil); site == nil {
		source, err := openSweep(ctx, p.orchestrator, key.sweep, p.scenarios)
		if err != nil {
			return nil, nil, err
		}
		site = p.use(key, func() *openSite { return p.begin(token, source, source.own(p.scenarios)) })
	}
	return site, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		site.requests--
		site.used = time.Now()
	}, nil
}

// use returns a site for one more request, that of begin if there is none.
func (p *portal) use(key siteKey, begin func() *openSite) *openSite {
	p.mu.Lock()
	defer p.mu.Unlock()
	site := p.sites[key]
	if site != nil && site.ctx.Err() != nil {
		p.end(key)
		site = nil
	}
	if site == nil && begin != nil {
		p.makeRoom(key)
		site = begin()
		p.sites[key] = site
	}
	if site != nil {
		site.requests++
		site.used = time.Now()
	}
	return site
}

// begin starts a site, whose calls show the token. It plays no proofs, and has no scenarios but
// these.
func (p *portal) begin(token string, source Source, scenarios Scenarios) *openSite {
	evaluator := func(ctx context.Context, do func(context.Context, evaluatorv1.EvaluatorServiceClient) error) error {
		return do(ctx, p.evaluator)
	}
	site := NewSite([]Source{source}, scenarios, evaluator, p.traceUI)
	site.news.streams = p.streams
	opened := &openSite{Site: site, token: token, opened: time.Now()}
	opened.ctx, opened.cancel = context.WithCancel(rpc.WithToken(p.ctx, token))
	failed := site.begin(opened.ctx)
	p.group.Go(func() {
		<-failed //nolint:errcheck // ended or unreadable, the next request opens another one
		opened.cancel()
		site.group.Wait()
	})
	return opened
}

// makeRoom closes a site if there are too many for another one.
func (p *portal) makeRoom(key siteKey) {
	var oldest, own *siteKey
	ofToken := 0
	for k, site := range p.sites {
		if oldest == nil || site.used.Before(p.sites[*oldest].used) {
			oldest = &k
		}
		if k.token != key.token {
			continue
		}
		ofToken++
		if own == nil || site.used.Before(p.sites[*own].used) {
			own = &k
		}
	}
	if ofToken >= mostOfToken {
		p.end(*own)
	} else if len(p.sites) >= mostSites {
		p.end(*oldest)
	}
}

// end closes a site. Its requests end as well.
func (p *portal) end(key siteKey) {
	p.sites[key].cancel()
	delete(p.sites, key)
}

// closeOld closes sites that nobody uses, that are old, or whose token is no longer valid.
func (p *portal) closeOld() {
	ticker := time.NewTicker(siteLook)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.closeAt(time.Now())
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *portal) closeAt(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, site := range p.sites {
		_, err := p.policy.OfToken(p.ctx, site.token)
		if site.ctx.Err() != nil || now.Sub(site.opened) > siteAge || site.requests == 0 && now.Sub(site.used) > siteIdle || errors.Is(err, access.ErrToken) {
			p.end(key)
		}
	}
}

// sweepRow is a sweep with the path of its pages.
type sweepRow struct {
	report.Sweep
	Path string
}

// serveList answers with the sweeps that the request's token may see, the newest first.
func (p *portal) serveList(w http.ResponseWriter, r *http.Request) {
	infos, err := sweep.List(r.Context(), p.orchestrator)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	var rows []sweepRow
	for _, info := range infos {
		rows = append(rows, sweepRow{report.NewSweep(info), sweepFolder + url.PathEscape(info.GetId()) + "/index.html"})
	}
	slices.SortStableFunc(rows, func(a, b sweepRow) int { return b.Created.Compare(a.Created) })
	writePage(w, &page{Title: "Sweeps", Section: "runs", Body: rows, template: "sweeps"})
}
