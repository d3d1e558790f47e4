package providers_test

import (
	"regexp"
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/anthropic"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
)

// TestAll checks that provider and alias names are unique, that the proto allows them, and that
// each provider has an endpoint and a codec.
func TestAll(t *testing.T) {
	dialects, err := dialect.Load("")
	if err != nil {
		t.Fatal(err)
	}
	specs := providers.All(dialects)
	taken := make(map[string]bool)
	name := func(name string) {
		if taken[name] {
			t.Errorf("%s: two have this name", name)
		}
		taken[name] = true
	}
	for i := range specs {
		s := &specs[i]
		name(s.Name)
		for _, a := range s.Aliases {
			name(a.Name)
		}
		if !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(s.Name) {
			t.Errorf("%s: expected small letters, digits and -", s.Name)
		}
		if s.Description == "" || len(s.Roles) == 0 || s.Codec == nil || s.Locate == nil && (s.Address.BaseURLVariable == "" || len(s.Address.KeyVariables) == 0) {
			t.Errorf("%s: %+v lacks a description, roles, a wire format or where it is", s.Name, s)
		}
		if _, known := providers.Named(specs, s.Account()); !known {
			t.Errorf("%s: account of %q, which is no provider", s.Name, s.Account())
		}
	}
	if _, known := providers.Named(specs, "none"); known {
		t.Error("none is known")
	}
}

// TestErrorWords checks that no error code has different statuses at two providers.
func TestErrorWords(t *testing.T) {
	statuses := make(map[string]int)
	for _, spec := range []provider.Spec{anthropic.Spec(), openai.Spec()} {
		for code, status := range spec.Errors.Statuses {
			if earlier, ok := statuses[code]; ok && earlier != status || status < 400 || status > 599 {
				t.Errorf("%s of %s: got status %d, want the %d of another provider, of an error", code, spec.Name, status, earlier)
			}
			statuses[code] = status
		}
	}
}
