package google

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"
	googleauth "golang.org/x/oauth2/google"
)

const (
	cloudScope = "https://www.googleapis.com/auth/cloud-platform"
	// tokenTimeout bounds one token request.
	tokenTimeout = 30 * time.Second
)

// tokenSource holds the application default credentials of Google Cloud, which it loads on first
// use. Safe for concurrent use. The zero value is ready to use.
type tokenSource struct {
	mu     sync.Mutex
	source oauth2.TokenSource
}

// token returns a valid access token.
func (t *tokenSource) token(ctx context.Context) (string, error) {
	source, err := t.find(ctx)
	if err != nil {
		return "", fmt.Errorf("application default credentials: %w", err)
	}
	token, err := source.Token()
	if err != nil {
		return "", fmt.Errorf("token of Google Cloud: %w", err)
	}
	return token.AccessToken, nil
}

// find returns the credentials. They outlive the request that loads them. Credentials that were
// loaded with a shorter timeout than tokenTimeout are not cached.
func (t *tokenSource) find(ctx context.Context) (oauth2.TokenSource, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.source != nil {
		return t.source, nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < tokenTimeout {
		return findDefault(ctx, time.Until(deadline))
	}
	source, err := findDefault(ctx, tokenTimeout)
	if err == nil {
		t.source = source
	}
	return source, err
}

func findDefault(ctx context.Context, timeout time.Duration) (oauth2.TokenSource, error) {
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: timeout})
	credentials, err := googleauth.FindDefaultCredentials(ctx, cloudScope)
	if err != nil {
		return nil, err
	}
	return credentials.TokenSource, nil
}
