package google

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

var reasoning = provider.Reasoning{Efforts: []string{provider.EffortNone, "minimal", "low", "medium", "high"}, Budget: true, Temperature: true}

// StudioSpec returns the provider Gemini on AI Studio.
func StudioSpec() provider.Spec {
	return provider.Spec{
		Name:        "google",
		Description: "A Gemini model of Google AI Studio, with GEMINI_API_KEY.",
		Roles:       []worldv1.Role{worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT},
		Address: provider.Address{
			BaseURL: "https://generativelanguage.googleapis.com/v1beta", BaseURLVariable: "GEMINI_BASE_URL",
			KeyVariables: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, KeyHeader: "X-Goog-Api-Key",
		},
		Reasoning: reasoning, TakesStop: true, TakesSeed: true, Codec: Codec{}, Compat: Codec{Compat: true}, ReplaysNative: true,
	}
}

// vertexVariable names a server in place of Vertex AI.
const vertexVariable = "VERTEX_BASE_URL"

// VertexSpec returns the provider Gemini on Vertex AI. It caches the credentials.
func VertexSpec() provider.Spec {
	credentials := &tokenSource{}
	return provider.Spec{
		Name:        "vertex",
		Description: "A Gemini model of Vertex AI, with application default credentials.",
		Roles:       []worldv1.Role{worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT},
		Aliases: []provider.Alias{
			{Name: "Gemini_1_0", Model: "gemini-1.0-pro"},
			{Name: "Gemini_1_5", Model: "gemini-1.5-pro-001"},
			{Name: "Gemini_1_5_Flash", Model: "gemini-1.5-flash-001"},
		},
		Locate: credentials.locate, AddressVariable: vertexVariable, Reasoning: reasoning, TakesStop: true, TakesSeed: true,
		Codec: Codec{Vertex: true}, Compat: Codec{Vertex: true, Compat: true}, ReplaysNative: true,
	}
}

// locate returns the endpoint of a project in a region. Another address than Google's needs no key:
// a proxy there has its own credentials.
func (t *tokenSource) locate(ctx context.Context, getenv func(string) string, base string) (provider.Endpoint, error) {
	if base = cmp.Or(base, getenv(vertexVariable)); base != "" {
		return provider.Endpoint{BaseURL: strings.TrimRight(base, "/"), Expires: true}, nil
	}
	project := cmp.Or(getenv("GOOGLE_CLOUD_PROJECT"), getenv("CLOUD_ML_PROJECT_ID"))
	region := cmp.Or(getenv("GOOGLE_CLOUD_REGION"), getenv("GOOGLE_CLOUD_LOCATION"), getenv("CLOUD_ML_REGION"))
	if project == "" || region == "" {
		return provider.Endpoint{}, errors.New("no project or region: set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_REGION")
	}
	token, err := t.token(ctx)
	if err != nil {
		return provider.Endpoint{}, err
	}
	return provider.Endpoint{
		BaseURL:  vertexURL(project, region),
		Official: true,
		Header:   http.Header{"Authorization": {"Bearer " + token}},
		Secret:   token,
		Expires:  true,
	}, nil
}

// vertexURL is the address of a project in a region.
func vertexURL(project, region string) string {
	host := region + "-aiplatform.googleapis.com"
	if region == "global" {
		host = "aiplatform.googleapis.com"
	}
	return "https://" + host + "/v1beta1/projects/" + project + "/locations/" + region
}
