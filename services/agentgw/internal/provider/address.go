package provider

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/secretkey"
)

// Address says how to reach a provider that takes a key in a header.
type Address struct {
	// BaseURL is the provider's official address, empty if there is none.
	BaseURL string
	// BaseURLVariable is the environment variable that overrides BaseURL.
	BaseURLVariable string
	// KeyVariables are the environment variables of the key. The first that is set counts.
	KeyVariables []string
	// KeyHeader is the header that carries KeyPrefix and the key.
	KeyHeader, KeyPrefix string
	// NoKey replaces a missing key. Empty sends no header.
	NoKey string
}

// locate returns the endpoint with its key. Only the official address requires one.
func (a *Address) locate(_ context.Context, getenv func(string) string, base string) (Endpoint, error) {
	at := strings.TrimSpace(cmp.Or(base, getenv(a.BaseURLVariable), a.BaseURL))
	to := Endpoint{BaseURL: strings.TrimRight(at, "/"), Header: http.Header{}}
	if to.BaseURL == "" {
		return Endpoint{}, fmt.Errorf("no server: give --base-url or set %s", a.BaseURLVariable)
	}
	to.Official = to.BaseURL == a.BaseURL
	for _, name := range a.KeyVariables {
		key, err := secretkey.Lookup(getenv, name)
		if err != nil {
			return Endpoint{}, err
		}
		if key != "" {
			to.Secret = key
			to.Header.Set(a.KeyHeader, a.KeyPrefix+key)
			return to, nil
		}
	}
	if to.Official {
		return Endpoint{}, fmt.Errorf("no key: set %s or %s%s", a.KeyVariables[0], a.KeyVariables[0], secretkey.FileSuffix)
	}
	if a.NoKey != "" {
		to.Header.Set(a.KeyHeader, a.KeyPrefix+a.NoKey)
	}
	return to, nil
}
