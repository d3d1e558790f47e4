package toolserver

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

const (
	// leastSecret is the shortest value of a variable that is removed from what a program says:
	// shorter ones occur in too many texts by chance.
	leastSecret = 8
	// redacted replaces it.
	redacted = "[redacted]"
)

// inherited are the environment variables that every program gets. Keys of models are not among
// them.
func inherited() []string {
	return []string{
		"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT",
		"XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	}
}

// environment returns the environment of the target's program, and what of it is secret. The error
// names a variable of the target that is missing or empty.
func (t Target) environment() (variables []string, own secrets, err error) {
	variables = []string{} // not nil, which would be the whole environment
	for _, name := range inherited() {
		if value, ok := os.LookupEnv(name); ok && !slices.Contains(t.Environment, name) {
			variables = append(variables, name+"="+value)
		}
	}
	for _, name := range t.Environment {
		value := os.Getenv(name)
		if value == "" {
			return nil, nil, fmt.Errorf("the environment variable %s is missing; set it", name)
		}
		variables = append(variables, name+"="+value)
		if !slices.Contains(inherited(), name) {
			own = own.with(value)
		}
	}
	return variables, own, nil
}

// secrets are texts that are removed from what a program says, the longest first.
type secrets []string

// with adds a value, and how it looks in JSON.
func (s secrets) with(value string) secrets {
	if len(value) < leastSecret {
		return s
	}
	s = append(s, value)
	for _, quoted := range []string{string(encode(value)), python.JSON(python.Str(value))} {
		s = append(s, quoted[1:len(quoted)-1])
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(s)
}

// redact removes the secrets from a text.
func (s secrets) redact(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}
