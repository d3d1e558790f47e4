package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	googleauth "golang.org/x/oauth2/google"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/anthropic"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/cohere"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/google"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/responses"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/wire"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	cloudScope = "https://www.googleapis.com/auth/cloud-platform"
	// tokenTimeout bounds one request for a token of Google Cloud.
	tokenTimeout = 30 * time.Second
	// fileSuffix ends the name of the variable that names a file with the key.
	fileSuffix = "_FILE"

	openaiBaseURL = "OPENAI_BASE_URL"
	openaiKey     = "OPENAI_API_KEY"
)

// family is one provider: its wire format, where it is, and whether it wants its own turns back as
// they were.
type family struct {
	codec provider.Codec
	// compat is the wire format as the original reads it; nil if that is the same.
	compat   provider.Codec
	native   bool
	endpoint func(ctx context.Context, p *Player, base string) (wire.Endpoint, error)
}

// families is the table of providers. A new wire format gets its line here.
func families(dialects map[string]dialect.Codec) map[agentgwv1.Model_Provider]family {
	return map[agentgwv1.Model_Provider]family{
		agentgwv1.Model_PROVIDER_OPENAI:    {codec: openai.Codec{}, compat: openai.Codec{Compat: true}, native: true, endpoint: openaiEndpoint},
		agentgwv1.Model_PROVIDER_ANTHROPIC: {codec: anthropic.Codec{}, native: true, endpoint: anthropicEndpoint},
		agentgwv1.Model_PROVIDER_GOOGLE:    {codec: google.Codec{}, native: true, endpoint: studioEndpoint},
		agentgwv1.Model_PROVIDER_VERTEX:    {codec: google.Codec{Vertex: true}, native: true, endpoint: vertexEndpoint},
		agentgwv1.Model_PROVIDER_COHERE:    {codec: cohere.Codec{}, native: true, endpoint: cohereEndpoint},

		agentgwv1.Model_PROVIDER_OPENAI_RESPONSES: {codec: responses.Codec{}, native: true, endpoint: openaiEndpoint},

		agentgwv1.Model_PROVIDER_HERMES:          {codec: dialects[dialect.Hermes], endpoint: completionEndpoint},
		agentgwv1.Model_PROVIDER_GORILLA:         {codec: dialects[dialect.Gorilla], endpoint: completionEndpoint},
		agentgwv1.Model_PROVIDER_MISTRAL:         {codec: dialects[dialect.Mistral], endpoint: completionEndpoint},
		agentgwv1.Model_PROVIDER_COHERE_PROMPTED: {codec: dialects[dialect.Cohere], endpoint: completionEndpoint},
		agentgwv1.Model_PROVIDER_PLAIN:           {codec: dialects[dialect.Plain], endpoint: completionEndpoint},
	}
}

func openaiEndpoint(_ context.Context, p *Player, base string) (wire.Endpoint, error) {
	return p.keyed(base, openaiBaseURL, openai.BaseURL, []string{openaiKey}, "Authorization", "Bearer ")
}

func anthropicEndpoint(_ context.Context, p *Player, base string) (wire.Endpoint, error) {
	return p.keyed(base, "ANTHROPIC_BASE_URL", anthropic.BaseURL, []string{"ANTHROPIC_API_KEY"}, "X-Api-Key", "")
}

func studioEndpoint(_ context.Context, p *Player, base string) (wire.Endpoint, error) {
	return p.keyed(base, "GEMINI_BASE_URL", google.StudioURL, []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, "X-Goog-Api-Key", "")
}

func cohereEndpoint(_ context.Context, p *Player, base string) (wire.Endpoint, error) {
	return p.keyed(base, "COHERE_BASE_URL", cohere.BaseURL, []string{"COHERE_API_KEY", "CO_API_KEY"}, "Authorization", "Bearer ")
}

// completionEndpoint is that of a server of one's own: there is no address for models of this kind
// that everybody uses.
func completionEndpoint(_ context.Context, p *Player, base string) (wire.Endpoint, error) {
	if base = cmp.Or(base, p.cfg.Getenv(openaiBaseURL)); base == "" {
		return wire.Endpoint{}, fmt.Errorf("no server: give --base-url or set %s", openaiBaseURL)
	}
	to, err := p.keyed(base, openaiBaseURL, "", []string{openaiKey}, "Authorization", "Bearer ")
	if err == nil && to.Secret == "" {
		to.Header.Set("Authorization", "Bearer EMPTY")
	}
	return to, err
}

// keyed returns the endpoint of a provider that takes a key in a header. A server at another
// address than the provider's own may want none.
func (p *Player) keyed(base, baseVariable, own string, keyVariables []string, header, prefix string) (wire.Endpoint, error) {
	to := wire.Endpoint{BaseURL: strings.TrimRight(cmp.Or(base, p.cfg.Getenv(baseVariable), own), "/"), Header: http.Header{}}
	to.Own = to.BaseURL == own
	for _, name := range keyVariables {
		key, err := p.key(name)
		if err != nil {
			return wire.Endpoint{}, err
		}
		if key != "" {
			to.Secret = key
			to.Header.Set(header, prefix+key)
			return to, nil
		}
	}
	if to.Own {
		return wire.Endpoint{}, fmt.Errorf("no key: set %s or %s%s", keyVariables[0], keyVariables[0], fileSuffix)
	}
	return to, nil
}

// key returns a key from the environment, or from the file that the environment names.
func (p *Player) key(name string) (string, error) {
	if key := strings.TrimSpace(p.cfg.Getenv(name)); key != "" {
		return key, sendable(key, name)
	}
	path := p.cfg.Getenv(name + fileSuffix)
	if path == "" {
		return "", nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s%s: %w", name, fileSuffix, err)
	}
	key := strings.TrimSpace(string(raw))
	return key, sendable(key, fmt.Sprintf("%s%s, %s", name, fileSuffix, path))
}

// sendable fails if no header takes the key that was read from where.
func sendable(key, where string) error {
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' }
	if strings.ContainsFunc(key, control) {
		return fmt.Errorf("the key in %s has a line break or another control character within it, expected one key on one line", where)
	}
	return nil
}

// vertexEndpoint needs no key at another address than Google's: a proxy there has credentials of
// its own.
func vertexEndpoint(ctx context.Context, p *Player, base string) (wire.Endpoint, error) {
	if base = cmp.Or(base, p.cfg.Getenv("VERTEX_BASE_URL")); base != "" {
		return wire.Endpoint{BaseURL: strings.TrimRight(base, "/")}, nil
	}
	project := cmp.Or(p.cfg.Getenv("GOOGLE_CLOUD_PROJECT"), p.cfg.Getenv("CLOUD_ML_PROJECT_ID"))
	region := cmp.Or(p.cfg.Getenv("GOOGLE_CLOUD_REGION"), p.cfg.Getenv("GOOGLE_CLOUD_LOCATION"), p.cfg.Getenv("CLOUD_ML_REGION"))
	if project == "" || region == "" {
		return wire.Endpoint{}, errors.New("no project or region: set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_REGION")
	}
	token, err := p.google.token(ctx)
	if err != nil {
		return wire.Endpoint{}, err
	}
	return wire.Endpoint{
		BaseURL: google.VertexURL(project, region),
		Own:     true,
		Header:  http.Header{"Authorization": {"Bearer " + token}},
		Secret:  token,
	}, nil
}

// tokens are the application default credentials of Google Cloud, found when they are first needed.
type tokens struct {
	// timeout bounds one request for a token.
	timeout time.Duration

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

func (t *tokens) find(ctx context.Context) (oauth2.TokenSource, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.source != nil {
		return t.source, nil
	}
	// The source outlives the request that needed it first.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: t.timeout})
	found, err := googleauth.FindDefaultCredentials(ctx, cloudScope)
	if err != nil {
		return nil, err
	}
	t.source = found.TokenSource
	return t.source, nil
}
