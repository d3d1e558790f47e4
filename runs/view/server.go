package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
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
	if err := needLoopback(address); err != nil {
		return nil, err
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// needLoopback is an error of usage for an address that others than this machine may reach.
func needLoopback(address string) error {
	if err := checkLoopback(address); err != nil {
		return process.UsageErrorf("%w: for another machine forward a port of it, as with ssh -L, or serve the teams of --access-file", err)
	}
	return nil
}

// checkLoopback returns an error for an address that others than this machine may reach.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--listen: %q is not an address of this machine alone, such as 127.0.0.1:8080", address)
	}
	return nil
}

// shutdown waits until ctx is done, the server has ended or failed says why it has to, and ends the
// server. It returns the reason, nil for the end of ctx.
func shutdown(ctx context.Context, cancel context.CancelFunc, server *http.Server, served, failed <-chan error) (err error) {
	select {
	case err = <-served:
	case err = <-failed:
	case <-ctx.Done():
	}
	cancel()
	stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer stop()
	if server.Shutdown(stopping) != nil {
		_ = server.Close()
	}
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// newServer returns a server whose requests end with ctx.
func newServer(ctx context.Context, handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: readLimit, ReadTimeout: readLimit, WriteTimeout: writeLimit,
		BaseContext: func(net.Listener) context.Context { return ctx }, MaxHeaderBytes: 1 << 16,
		ErrorLog: log.New(io.Discard, "", 0), // of handshakes, such as those of probes
	}
}

// Handler admits requests to the pages at an address. It answers only requests that a page of its
// own sent, or that a person typed: the host has to be the address or one of its public names, and
// a browser must not say that another site asks.
func Handler(address string, pages http.Handler, names ...string) http.Handler {
	_, port, _ := net.SplitHostPort(address)
	hosts := append([]string{address, net.JoinHostPort("localhost", port)}, names...)
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
		case origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host, site != "" && site != "same-origin" && site != "none":
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
		writeHTML(w, content)
	}
}

func writeHTML(w http.ResponseWriter, content []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(content)
}

func writePage(w http.ResponseWriter, p *page) {
	content, err := p.render()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeHTML(w, content)
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
