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
	// tokenTimeout bounds one request for a token of Google Cloud.
	tokenTimeout = 30 * time.Second
)

// tokens are the application default credentials of Google Cloud, found when they are first needed.
// Safe for concurrent use; the zero value has found none.
type tokens struct {
	mu     sync.Mutex
	source oauth2.TokenSource
}

// token returns a token that is valid for a while.
func (t *tokens) token(ctx context.Context) (string, error) {
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

// find returns the credentials. They outlive the request that needed them first, with its timeout:
// those that were found for a caller in a hurry are not kept.
func (t *tokens) find(ctx context.Context) (oauth2.TokenSource, error) {
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
