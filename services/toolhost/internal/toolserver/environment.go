package toolserver

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// minSecret is the minimum length of redacted values in bytes. Shorter ones occur in other texts
	// by chance.
	minSecret = 8
	// redacted replaces secret values.
	redacted = "[redacted]"
)

// inheritedVariables returns the environment variables that every program inherits. They include no
// keys of model providers.
func inheritedVariables() []string {
	return []string{
		"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT",
		"XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	}
}

// environment returns the environment of the target's program and its secret values. The error
// names a required variable that is missing or empty.
func (t Target) environment() (variables []string, own secrets, err error) {
	variables = []string{} // os/exec replaces nil by the environment of this process
	for _, name := range inheritedVariables() {
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
		if !slices.Contains(inheritedVariables(), name) {
			own = own.with(value)
		}
	}
	return variables, own, nil
}

// secrets are the texts to redact from a program's output, the longest first.
type secrets []string

// with adds a value and its JSON encodings.
func (s secrets) with(value string) secrets {
	if len(value) < minSecret {
		return s
	}
	s = append(s, value)
	for _, quoted := range []string{string(encode(value)), python.JSON(python.Str(value))} {
		s = append(s, quoted[1:len(quoted)-1])
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(s)
}

// redact replaces the secrets in a text.
func (s secrets) redact(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}
