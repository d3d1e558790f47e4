package probe

import (
	"context"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// describeTimeout bounds the request for each description of a server.
const describeTimeout = 2 * time.Second

// description is what a server says about itself. Zero values are what it does not say.
type description struct {
	slots   int32
	context int64
	// takesTools: its chat template takes tools.
	takesTools *bool
}

// version matches the version at the end of a base URL.
var version = regexp.MustCompile(`/v[0-9]+[a-z0-9]*$`)

// root returns the server's address without the version of its interface.
func (t Target) root() string { return version.ReplaceAllString(t.Endpoint.BaseURL, "") }

// get reads a JSON document of the server. It returns false if there is none.
func (t Target) get(ctx context.Context, url string, document any) bool {
	at := t.Endpoint
	at.BaseURL = url
	body, err := t.Client.Send(ctx, at, &provider.Request{}, describeTimeout)
	return err == nil && json.Unmarshal(body, document) == nil
}

// describe reads llama.cpp's /props, and the list of models, where vLLM says how long a
// conversation may be.
func (t Target) describe(ctx context.Context) (said description) {
	var props struct {
		Slots    float64 `json:"total_slots"`
		Settings struct {
			Context float64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Template     string `json:"chat_template"`
		ToolTemplate string `json:"chat_template_tool_use"`
		Abilities    struct {
			Tools *bool `json:"supports_tools"`
		} `json:"chat_template_caps"`
	}
	if t.get(ctx, t.root()+"/props", &props) {
		said.slots, said.context = int32(count(props.Slots)), count(props.Settings.Context)
		said.takesTools = props.Abilities.Tools
		if said.takesTools == nil && props.Template != "" {
			said.takesTools = new(props.ToolTemplate != "" || strings.Contains(props.Template, "tools"))
		}
	}
	if said.context > 0 {
		return said
	}
	var list struct {
		Models []struct {
			ID      string  `json:"id"`
			Context float64 `json:"max_model_len"`
		} `json:"data"`
	}
	models := t.Endpoint.BaseURL + "/models"
	if request, err := t.encode(question{}); err == nil && strings.HasPrefix(request.Path, "/v1/") {
		models = t.Endpoint.BaseURL + "/v1/models"
	}
	if t.get(ctx, models, &list) {
		for _, model := range list.Models {
			if model.ID == t.Model.GetModel() {
				said.context = count(model.Context)
			}
		}
	}
	return said
}

// loadedContext returns the context with which Ollama has loaded the model, 0 if the server does
// not say. It loads a model at its first request.
func (t Target) loadedContext(ctx context.Context) int64 {
	var list struct {
		Models []struct {
			Name    string  `json:"name"`
			Context float64 `json:"context_length"`
		} `json:"models"`
	}
	if !t.get(ctx, t.root()+"/api/ps", &list) {
		return 0
	}
	names := []string{t.Model.GetModel(), t.Model.GetModel() + ":latest"}
	for _, model := range list.Models {
		if slices.Contains(names, model.Name) {
			return count(model.Context)
		}
	}
	return 0
}

// count returns a number as a count, 0 if it is none.
func count(number float64) int64 {
	if number < 1 || number > math.MaxInt32 || number != math.Trunc(number) {
		return 0
	}
	return int64(number)
}
