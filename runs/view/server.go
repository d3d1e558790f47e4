package view

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// Limits of a request. Pages are made in less than a second.
const (
	readLimit  = 5 * time.Second
	writeLimit = time.Minute
	stopLimit  = 2 * time.Second
)

// policy is the content security policy of every page: its own style and script, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Listen listens on a loopback address, such as 127.0.0.1:0. Another address is an error of usage:
// the pages show milestones, and nothing asks who reads them.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, process.UsageErrorf("--listen: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, process.UsageErrorf("--listen: %q is not an address of this machine alone, such as 127.0.0.1:8080: for another machine forward a port of it, as with ssh -L", address)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// newServer returns a server whose requests end with ctx.
func newServer(ctx context.Context, handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: readLimit, ReadTimeout: readLimit, WriteTimeout: writeLimit,
		BaseContext: func(net.Listener) context.Context { return ctx }, MaxHeaderBytes: 1 << 16,
	}
}

// Handler admits requests to the pages at an address. It answers only requests that a page of its
// own sent, or that a person typed: the host has to be the address, and a browser must not say that
// another site asks.
func Handler(address string, pages http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address)
	hosts := []string{address, net.JoinHostPort("localhost", port)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "same-origin") // without a referrer a form has no origin
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
		switch {
		case !slices.Contains(hosts, r.Host):
			http.Error(w, "This server has another name.", http.StatusMisdirectedRequest)
		case origin != "" && origin != "http://"+r.Host, site != "" && site != "same-origin" && site != "none":
			http.Error(w, "Another site may not ask.", http.StatusForbidden)
		case r.Method == http.MethodPost && r.URL.Path == "/"+forkPath && origin != "":
			pages.ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			head.Set("Allow", "GET, HEAD")
			http.Error(w, "The pages are for reading.", http.StatusMethodNotAllowed)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// ServeHTTP answers an admitted request.
func (v *Viewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	switch path {
	case "":
		path = "index.html"
	case styleFile, scriptFile:
		v.serveAsset(w, path)
		return
	}
	content, err := v.html(r.Context(), path, r.URL.Query())
	switch {
	case r.Context().Err() != nil: // nobody reads it
	case errors.Is(err, errNoPage):
		http.Error(w, "There is no such page.", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(content)
	}
}

func (v *Viewer) serveAsset(w http.ResponseWriter, name string) {
	content, err := asset(name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	kind := map[string]string{styleFile: "text/css", scriptFile: "text/javascript"}[name]
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write(content)
}

// html returns the page at an escaped path.
func (v *Viewer) html(ctx context.Context, path string, query url.Values) ([]byte, error) {
	if len(v.runs) == 0 {
		return (&page{Root: strings.Repeat("../", strings.Count(path, "/")), Title: "Reading", Version: v.version, template: "reading"}).render()
	}
	p, err := v.at(ctx, path, query, false)
	if err != nil {
		return nil, err
	}
	return p.render()
}

// at is page for an escaped path.
func (v *Viewer) at(ctx context.Context, path string, query url.Values, static bool) (*page, error) {
	var segments []string
	for escaped := range strings.SplitSeq(path, "/") {
		segment, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, errNoPage
		}
		segments = append(segments, segment)
	}
	return v.page(ctx, segments, query, static)
}
