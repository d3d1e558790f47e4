package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that must happen.
const patience = time.Minute

const (
	issuerURL = "https://idp.example.com"
	audience  = "toolsandbox"
)

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// keySet returns the JSON Web Key Set of public keys, and of one that is no public key.
func keySet(t *testing.T, keys ...*ecdsa.PrivateKey) []byte {
	t.Helper()
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: []byte("a symmetric key, which nobody may use"), KeyID: "s"}}}
	for i, key := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: fmt.Sprint(i), Use: "sig"})
	}
	raw, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// signed returns a token with claims that valid ones have, changed by more.
func signed(t *testing.T, algorithm jose.SignatureAlgorithm, key any, more map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{
		"iss": issuerURL, "aud": audience, "sub": "ann", "team": "red", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
	}
	for name, value := range more {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func write(t *testing.T, name string, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, keys string) *Policy {
	t.Helper()
	digest := sha256.Sum256([]byte("static-token"))
	p, err := Load(write(t, "access.yaml", fmt.Appendf(nil, `
issuers: [{url: %q, audience: %s, keys: %q}]
tokens: [{sha256: %s, name: bob, team: blue}]
teams:
  red: {providers: [openai], spend: 10.5, members: ["system:serviceaccount:red:sweep"]}
  blue: {}
  ops: {admin: true}
`, issuerURL, audience, keys, hex.EncodeToString(digest[:]))))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTokens(t *testing.T) {
	key, other := newKey(t), newKey(t)
	p := load(t, write(t, "keys.json", keySet(t, newKey(t), key)))
	es := func(more map[string]any) string { return signed(t, jose.ES256, key, more) }
	valid := es(nil)
	parts := strings.Split(valid, ".")
	unsigned := "eyJhbGciOiJub25lIn0." + parts[1] + "."
	tests := []struct {
		name, token, want string // the principal, or empty for a refusal
	}{
		{"team by claim", valid, "ann of red"},
		{"list of teams", es(map[string]any{"team": []string{"blue", "strangers"}}), "ann of blue"},
		{"team by subject", es(map[string]any{"sub": "system:serviceaccount:red:sweep", "team": nil}), "system:serviceaccount:red:sweep of red"},
		{"audience in a list", es(map[string]any{"aud": []string{"x", audience}}), "ann of red"},
		{"static", "static-token", "bob of blue"},
		{"several teams", es(map[string]any{"team": []string{"blue", "ops"}}), ""},
		{"unknown team", es(map[string]any{"team": "green"}), ""},
		{"no team", es(map[string]any{"team": nil}), ""},
		{"team of no text", es(map[string]any{"team": 7}), ""},
		{"expired", es(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), ""},
		{"not valid yet", es(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), ""},
		{"no expiry", es(map[string]any{"exp": nil}), ""},
		{"other audience", es(map[string]any{"aud": "another"}), ""},
		{"other issuer", es(map[string]any{"iss": "https://evil.example.com"}), ""},
		{"key of nobody", signed(t, jose.ES256, other, nil), ""},
		{"symmetric key", signed(t, jose.HS256, []byte("a symmetric key, which nobody may use"), nil), ""},
		{"unsigned", unsigned, ""},
		{"other claims under a signature", parts[0] + "." + strings.Split(es(map[string]any{"team": "ops"}), ".")[1] + "." + parts[2], ""},
		{"static token with a blank", "static-token ", ""},
		{"hash of a static token", hex.EncodeToString([]byte("static-token")), ""},
		{"empty", "", ""},
		{"nonsense", "a.b.c", ""},
		{"long", strings.Repeat("a", maxToken+1), ""},
	}
	for _, test := range tests {
		principal, err := p.OfToken(t.Context(), test.token)
		got := ""
		if principal != nil {
			got = principal.Name + " of " + principal.Team
		}
		if got != test.want || (err == nil) != (test.want != "") || err != nil && !errors.Is(err, ErrToken) {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
		if err != nil && len(test.token) > 20 && strings.Contains(err.Error(), test.token) {
			t.Errorf("%s: the error repeats the token: %v", test.name, err)
		}
	}
}

// TestKeysOfAnAddress begins without an issuer, which then comes and replaces its keys.
func TestKeysOfAnAddress(t *testing.T) {
	key := newKey(t)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(keySet(t, key)) }))
	defer served.Close()
	p := load(t, served.URL)
	token := signed(t, jose.ES256, key, nil)
	if _, err := p.OfToken(t.Context(), token); !errors.Is(err, ErrNotReady) {
		t.Errorf("token before the keys are there: got %v, want %v", err, ErrNotReady)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx, slog.New(slog.DiscardHandler))
	}()
	for _, err := p.OfToken(ctx, token); err != nil; _, err = p.OfToken(ctx, token) {
		if ctx.Err() != nil {
			t.Fatalf("token: got %v, want nil once the keys are there", err)
		}
	}
	stop()
	<-ended
}

// TestKeysAreNotRedirected has the address of the keys lead to another one, such as one in plain
// text.
func TestKeysAreNotRedirected(t *testing.T) {
	key := newKey(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(keySet(t, key)) }))
	defer other.Close()
	named := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer named.Close()
	i, err := newIssuer(issuerConfig{URL: issuerURL, Audience: audience, Keys: named.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.read(t.Context()); err == nil || !strings.Contains(err.Error(), "302 Found") {
		t.Errorf("read: got %v, want an error with 302 Found", err)
	}
}

func TestGrants(t *testing.T) {
	red := &Principal{Team: "red", Grant: Grant{Providers: []string{"openai"}}}
	admin := &Principal{Team: "ops", Grant: Grant{Admin: true}}
	for _, test := range []struct {
		p    *Principal
		team string
		want bool
	}{{nil, "red", true}, {nil, "", true}, {red, "red", true}, {red, "blue", false}, {red, "", false}, {admin, "red", true}} {
		if got := test.p.Owns(test.team); got != test.want {
			t.Errorf("%+v owns what is of %q: got %t, want %t", test.p, test.team, got, test.want)
		}
	}
	if Has(nil, "openai") || Has(red.Grant.Providers, "*") || !Has([]string{"*"}, "openai") {
		t.Error("Has: an empty list grants nothing, and * everything")
	}
	if FromContext(NewContext(t.Context(), red)) != red || FromContext(t.Context()) != nil {
		t.Error("FromContext: want the principal of NewContext, and nil without one")
	}
}

func TestFiles(t *testing.T) {
	digest := strings.Repeat("0", 64)
	for text, want := range map[string]string{
		"":                            "teams: expected at least one",
		"teams: {Red: {}}":            "teams.Red: ",
		"teams: {red: {x: 1}}":        "unknown field",
		"teams: {red: {spend: -1}}":   "teams.red: a budget is below 0",
		"teams: {red: {spend: .nan}}": "teams.red: a budget is below 0",

		"tokens: [{sha256: '" + digest + "', team: red}, {sha256: '" + digest + "', team: blue}]\nteams: {red: {}, blue: {}}": "tokens[1]: sha256: the token is that",

		"teams: {red: {members: [a]}, blue: {members: [a]}}":                               `member "a"`,
		"tokens: [{sha256: abc, team: red}]\nteams: {red: {}}":                             "tokens[0]: sha256",
		"tokens: [{sha256: '" + digest + "', team: blue}]\nteams: {red: {}}":               "tokens[0]: no such team",
		"issuers: [{url: u, keys: k}]\nteams: {red: {}}":                                   "issuers[0]: audience",
		"issuers: [{url: u, audience: a}]\nteams: {red: {}}":                               "issuers[0]: keys",
		"issuers: [{url: u, audience: a, keys: missing.json}]\nteams: {red: {}}":           "missing.json",
		"issuers: [{url: u, audience: a, keys: 'http://10.0.0.1/'}]\nteams: {red: {}}":     "expected https",
		"issuers: [{url: u, audience: a, keys: 'http://127.0.0.1:a@b'}]\nteams: {red: {}}": "expected https",
	} {
		if _, err := Load(write(t, "access.yaml", []byte(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}

// TestProductionFile reads the file that the manifests ship.
func TestProductionFile(t *testing.T) {
	p, err := Load("../../deploy/k8s/overlays/prod/access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Member("default", "job"); err != nil {
		t.Errorf("certificate of components/tls-client: got %v, want a principal", err)
	}
}

func FuzzToken(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlLmNvbSJ9.")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	raw, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public()}}})
	if err != nil {
		f.Fatal(err)
	}
	keys := filepath.Join(f.TempDir(), "keys.json")
	if err := os.WriteFile(keys, raw, 0o600); err != nil {
		f.Fatal(err)
	}
	added, err := newIssuer(issuerConfig{URL: issuerURL, Audience: audience, Keys: keys})
	if err != nil {
		f.Fatal(err)
	}
	p := &Policy{teams: map[string]Grant{"red": {}}, issuers: []*issuer{added}}
	f.Fuzz(func(t *testing.T, token string) {
		if principal, err := p.OfToken(t.Context(), token); err == nil {
			t.Errorf("token %q: got %+v, want a refusal", token, principal)
		}
	})
}
