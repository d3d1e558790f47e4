package provider

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// fileSuffix ends the name of the variable that names a file with the key.
const fileSuffix = "_FILE"

// Address is that of a provider which takes a key in a header.
type Address struct {
	// BaseURL is the provider's own address; empty if there is none that everybody uses.
	BaseURL string
	// BaseURLVariable is the environment's variable for another one.
	BaseURLVariable string
	// KeyVariables are the environment's variables for the key; the first that is set counts.
	KeyVariables []string
	// KeyHeader is the header that the key is sent in, behind KeyPrefix.
	KeyHeader, KeyPrefix string
	// NoKey is sent where there is no key; empty sends no header.
	NoKey string
}

// endpoint returns the endpoint with its key. A server at another address than the provider's own
// may want none.
func (a *Address) endpoint(getenv func(string) string, base string) (Endpoint, error) {
	to := Endpoint{BaseURL: strings.TrimRight(cmp.Or(base, getenv(a.BaseURLVariable), a.BaseURL), "/"), Header: http.Header{}}
	if to.BaseURL == "" {
		return Endpoint{}, fmt.Errorf("no server: give --base-url or set %s", a.BaseURLVariable)
	}
	to.Own = to.BaseURL == a.BaseURL
	for _, name := range a.KeyVariables {
		key, err := keyOf(getenv, name)
		if err != nil {
			return Endpoint{}, err
		}
		if key != "" {
			to.Secret = key
			to.Header.Set(a.KeyHeader, a.KeyPrefix+key)
			return to, nil
		}
	}
	if to.Own {
		return Endpoint{}, fmt.Errorf("no key: set %s or %s%s", a.KeyVariables[0], a.KeyVariables[0], fileSuffix)
	}
	if a.NoKey != "" {
		to.Header.Set(a.KeyHeader, a.KeyPrefix+a.NoKey)
	}
	return to, nil
}

// keyOf returns a key from the environment, or from the file that the environment names.
func keyOf(getenv func(string) string, name string) (string, error) {
	if key := strings.TrimSpace(getenv(name)); key != "" {
		return key, sendable(key, name)
	}
	path := getenv(name + fileSuffix)
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
