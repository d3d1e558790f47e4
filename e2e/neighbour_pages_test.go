package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// attackPages reads the pages of the sweep of team red: its members do, nobody else gets any
// content.
func attackPages(t *testing.T, services *cluster.Cluster, dir string) {
	t.Helper()
	address := startView(t, dir, append(services.ClientArgs(), "--tls-ca", filepath.Join(dir, "ca.pem"), "--tls-cert", filepath.Join(dir, "client.pem"), "--tls-key", filepath.Join(dir, "client.key"),
		"--access-file", filepath.Join(dir, "access.yaml"), "--view-host", "view.example.com")...)
	get := pageReader(t, address, filepath.Join(dir, "ca.pem"))
	of := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	paths := []string{"", "index.html", "style.css", "sweep/night/index.html", "sweep/night/rollouts.html", "sweep/night/A/turn_off_wifi.html", "sweep/night/A/turn_off_wifi/world-1.html", "sweep/night/scenario/turn_off_wifi.html", "sweep/night/events", "sweep/night/data/0.js"}
	for {
		code, body := get("sweep/night/rollouts.html", of(redToken))
		if code == http.StatusOK && strings.Contains(body, "1 of 1 rollouts") {
			break
		}
		if code != http.StatusOK || t.Context().Err() != nil {
			t.Fatalf("member: got %d and\n%s\nwant the rollouts", code, body)
		}
	}
	for path, want := range map[string]string{"": `href="sweep/night/index.html"`, "sweep/night/A/turn_off_wifi.html": "similarity 1 ", "sweep/night/events": "data: ", "sweep/night/scenario/turn_off_wifi.html": "What counts"} {
		if code, body := get(path, of(redToken)); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("member, %q: got %d and\n%s\nwant %q in it", path, code, body, want)
		}
	}
	if _, body := get("sweep/night/A/turn_off_wifi.html", of(redToken)); !strings.Contains(body, "toolsandbox run --remote --fork RUN/turn_off_wifi@") || strings.Contains(body, "<form") {
		t.Errorf("member: got\n%s\nwant the command that forks, and no form", body)
	}
	strangers := map[string]http.Header{
		"nobody": {}, "an unknown token": of("guess"), "no token": of(""), "another scheme": {"Authorization": {"Basic " + redToken}},
		"two tokens": {"Authorization": {"Bearer " + blueToken, "Bearer " + redToken}}, "a cookie": {"Cookie": {"token=" + redToken}},
	}
	for _, path := range paths {
		for name, header := range strangers {
			if code, body := get(path, header); code != http.StatusUnauthorized || body != "" {
				t.Errorf("%s, %q: got %d and %q, want 401 without content", name, path, code, body)
			}
		}
		code, body := get(path, of(blueToken))
		if strings.HasPrefix(path, "sweep/") && code != http.StatusNotFound || strings.Contains(body, "turn_off_wifi") || strings.Contains(body, "sweep/night") {
			t.Errorf("other team, %q: got %d and\n%s\nwant nothing of red's sweep", path, code, body)
		}
	}
	for path, want := range map[string]int{"scenario/which_mateo.html": http.StatusNotFound, "scenario/which_mateo/tools-plain.html": http.StatusNotFound, "scenario/turn_off_wifi/tools-plain.html": http.StatusOK} {
		if code, body := get("sweep/night/"+path, of(redToken)); code != want {
			t.Errorf("member, %s: got %d and\n%s\nwant %d: pages have the scenarios of the sweep", path, code, body, want)
		}
	}
	for host, want := range map[string]int{"view.example.com": http.StatusOK, "evil.example.com": http.StatusMisdirectedRequest} {
		header := of(redToken)
		header.Set("Host", host)
		if code, _ := get("", header); code != want {
			t.Errorf("host %s: got %d, want %d", host, code, want)
		}
	}
	wantFailure(t, "plain text", append([]string{"view", "--tls-ca", filepath.Join(dir, "ca.pem"), "--access-file", filepath.Join(dir, "access.yaml"), "--listen", "0.0.0.0:0"}, services.ClientArgs()...)...)
	wantFailure(t, "--view-host: missing", append([]string{
		"view", "--tls-ca", filepath.Join(dir, "ca.pem"), "--tls-cert", filepath.Join(dir, "client.pem"), "--tls-key", filepath.Join(dir, "client.key"),
		"--access-file", filepath.Join(dir, "access.yaml"), "--listen", "0.0.0.0:0",
	}, services.ClientArgs()...)...)
	wantFailure(t, "this machine alone", append([]string{"view", "--tls-ca", filepath.Join(dir, "ca.pem"), "--listen", "0.0.0.0:0", "night"}, services.ClientArgs()...)...)
}

// pageReader returns a function that gets pages at an address whose certificate is of an authority.
// It returns the code and the content of the answer, of events the beginning.
func pageReader(t *testing.T, address, authorityFile string) func(path string, header http.Header) (int, string) {
	t.Helper()
	authority, err := os.ReadFile(authorityFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}}
	t.Cleanup(client.CloseIdleConnections)
	return func(path string, header http.Header) (int, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = header
		if host := header.Get("Host"); host != "" {
			request.Host = host
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		var body []byte
		if strings.HasSuffix(path, "events") && response.StatusCode == http.StatusOK {
			body = make([]byte, 64) // it does not end
			n, _ := response.Body.Read(body)
			body = body[:n]
		} else if body, err = io.ReadAll(response.Body); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
}
