package providers_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
)

// TestEncodeSampling checks that every provider sends the stop sequences and the seed in its own
// form, exactly if it takes them, and that a request without them is as it was.
func TestEncodeSampling(t *testing.T) {
	dialects, err := dialect.Load("")
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string][2]string{
		"anthropic": {`"stop_sequences":["\n\n","<end>"]`, ""}, "openai-responses": {"", ""},
		"cohere": {`"stop_sequences":["\n\n","<end>"]`, `"seed":7`},
		"google": {`"stopSequences":["\n\n","<end>"]`, `"seed":7`}, "vertex": {`"stopSequences":["\n\n","<end>"]`, `"seed":7`},
	}
	for _, spec := range providers.All(dialects) {
		form, other := forms[spec.Name]
		if !other {
			form = [2]string{`"stop":["\n\n","<end>"]`, `"seed":7`}
		}
		if spec.TakesStop != (form[0] != "") || spec.TakesSeed != (form[1] != "") {
			t.Errorf("%s: takes stop %t, seed %t, want %q", spec.Name, spec.TakesStop, spec.TakesSeed, form)
		}
		for _, compat := range []bool{false, true} {
			query := providertest.Query(nil)
			query.Compat = compat
			plain, err := spec.Codec.Encode(query)
			if err != nil {
				t.Fatal(err)
			}
			if body := string(plain.Body); strings.Contains(body, `"stop`) || strings.Contains(body, "seed") {
				t.Errorf("%s, compatible %t: got %s, want neither", spec.Name, compat, body)
			}
			query.Model.Stop, query.Seed = []string{"\n\n", "<end>"}, proto.Int64(7)
			got, err := spec.Codec.Encode(query)
			if err != nil {
				t.Fatal(err)
			}
			body := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(got.Body))
			for _, want := range form {
				if !strings.Contains(body, want) {
					t.Errorf("%s, compatible %t: got %s, want %s", spec.Name, compat, body, want)
				}
			}
		}
	}
}

// TestEncodeSeedOfMistral checks the name by which Mistral's own server takes a seed.
func TestEncodeSeedOfMistral(t *testing.T) {
	spec, _ := providers.Named(providers.All(nil), "openai")
	query := providertest.Query(nil)
	query.Host, query.Seed = "api.mistral.ai", proto.Int64(7)
	got, err := spec.Codec.Encode(query)
	if err != nil {
		t.Fatal(err)
	}
	if body := string(got.Body); !strings.Contains(body, `"random_seed":7`) || strings.Contains(body, `"seed"`) {
		t.Errorf("got %s, want random_seed only", body)
	}
}
