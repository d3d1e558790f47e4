package access

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/toolsandbox/toolsandbox/internal/pause"
)

const (
	// keysInterval is how often keys are read again, and keysRetry how soon after a failure. An issuer
	// publishes a key well before it signs with it.
	keysInterval = 5 * time.Minute
	keysRetry    = 5 * time.Second
	keysTimeout  = 10 * time.Second
	maxKeysBytes = 1 << 20
)

// algorithms are those of public keys.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// issuerConfig is an OpenID Connect issuer.
type issuerConfig struct {
	URL      string `yaml:"url"`
	Audience string `yaml:"audience"`
	// Keys is the JSON Web Key Set: an https:// address or a file.
	Keys string `yaml:"keys"`
	// Claim holds the team, or a list with it. Empty means team.
	Claim string `yaml:"claim"`
}

// issuer verifies the tokens of one issuer.
type issuer struct {
	cfg  issuerConfig
	keys atomic.Pointer[oidc.StaticKeySet] // nil until they are read
}

func newIssuer(cfg issuerConfig) (*issuer, error) {
	if cfg.Claim == "" {
		cfg.Claim = "team"
	}
	switch {
	case cfg.URL == "":
		return nil, errors.New("url: empty, expected the issuer as in its tokens")
	case cfg.Audience == "":
		return nil, errors.New("audience: empty, expected that of tokens for this installation")
	case cfg.Keys == "":
		return nil, errors.New("keys: empty, expected an https:// address or a file of a JSON Web Key Set")
	}
	i := &issuer{cfg: cfg}
	if !i.isRemote() {
		return i, i.read(context.Background())
	}
	at, err := url.Parse(cfg.Keys)
	if err != nil || at.Scheme != "https" && (at.Scheme != "http" || at.Hostname() != "127.0.0.1") {
		return nil, errors.New("keys: expected https in the address")
	}
	return i, nil
}

func (i *issuer) isRemote() bool { return strings.Contains(i.cfg.Keys, "://") }

// issued reports whether a token says that it is from this issuer.
func (i *issuer) issued(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer string `json:"iss"`
	}
	return err == nil && json.Unmarshal(raw, &claims) == nil && claims.Issuer == i.cfg.URL
}

// verify returns the subject of a token and the teams that it names.
func (i *issuer) verify(ctx context.Context, token string) (subject string, teams []string, err error) {
	keys := i.keys.Load()
	if keys == nil {
		return "", nil, fmt.Errorf("%w: %s", ErrNotReady, i.cfg.URL)
	}
	verified, err := oidc.NewVerifier(i.cfg.URL, keys, &oidc.Config{ClientID: i.cfg.Audience, SupportedSigningAlgs: algorithms}).Verify(ctx, token)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	claims := make(map[string]any)
	if err := verified.Claims(&claims); err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	switch value := claims[i.cfg.Claim].(type) {
	case string:
		teams = []string{value}
	case []any:
		for _, item := range value {
			if text, ok := item.(string); ok {
				teams = append(teams, text)
			}
		}
	}
	return verified.Subject, teams, nil
}

// follow reads the keys again and again until ctx is done.
func (i *issuer) follow(ctx context.Context, logger *slog.Logger) {
	for {
		wait := keysInterval
		if err := i.read(ctx); err != nil && ctx.Err() == nil {
			wait = keysRetry
			logger.Warn("keys of the issuer cannot be read, retrying", "issuer", i.cfg.URL, "error", err)
		}
		if !pause.For(ctx, wait) {
			return
		}
	}
}

// read reads the keys. Symmetric and unknown keys count for nothing.
func (i *issuer) read(ctx context.Context) error {
	raw, err := i.fetch(ctx)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return fmt.Errorf("keys: %s: %w", i.cfg.Keys, err)
	}
	keys := &oidc.StaticKeySet{}
	for _, encoded := range set.Keys {
		var key jose.JSONWebKey
		if err := json.Unmarshal(encoded, &key); err != nil || !key.Valid() || key.Use == "enc" {
			continue
		}
		if public := key.Public(); public.Valid() { // that of a symmetric key is not
			keys.PublicKeys = append(keys.PublicKeys, crypto.PublicKey(public.Key))
		}
	}
	if len(keys.PublicKeys) == 0 {
		return fmt.Errorf("keys: %s: no public key for signatures in it", i.cfg.Keys)
	}
	i.keys.Store(keys)
	return nil
}

// keysClient follows no redirect: it could lead away from https.
var keysClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (i *issuer) fetch(ctx context.Context) ([]byte, error) {
	if !i.isRemote() {
		return os.ReadFile(i.cfg.Keys) // it names the file
	}
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.cfg.Keys, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	request.Close = true // the next is minutes away
	response, err := keysClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: %s", i.cfg.Keys, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxKeysBytes)) // the caller names the keys
}
