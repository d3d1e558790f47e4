package player

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
)

// hostPort matches an address without a scheme.
var hostPort = regexp.MustCompile(`^[A-Za-z0-9.-]+:[0-9]{1,5}$`)

// families returns the providers of well-known families of models, by the beginning of their names.
func families() [][2]string {
	return [][2]string{
		{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"claude-", "anthropic"},
		{"gemini-", "google"}, {"command-", "cohere"}, {"c4ai-", "cohere"},
	}
}

// localProvider is the provider of models that somebody serves.
const localProvider = "openai"

// prefixes returns the providers of names that LiteLLM writes before a slash, beside our own names.
func prefixes() map[string]string {
	return map[string]string{
		"gemini": "google", "vertex_ai": "vertex", "hosted_vllm": localProvider, "ollama": localProvider, "ollama_chat": localProvider,
	}
}

// FromModel returns the player that another program's name of a model means. local reports that no
// known provider has the model: somebody serves it. A player's own name means the player.
func FromModel(id string) (name string, local bool) {
	for _, known := range patterns() {
		if _, ok := known.match(id); ok {
			return id, false
		}
	}
	name = model(id)
	if name == "" {
		return localProvider + ":" + id, true
	}
	before, _, hasSlash := strings.Cut(id, "/")
	return name, hasSlash && strings.HasPrefix(name, localProvider+":") && !strings.EqualFold(before, localProvider)
}

// hint returns the suffix of a message about an unknown name: what somebody may mean by it who is
// used to other programs, or the nearest known name.
func hint(text string, known []string) string {
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"):
		return fmt.Sprintf("; a model server is openai:MODEL with --base-url %s, an agent of your own grpc://HOST:PORT", text)
	case hostPort.MatchString(text):
		return fmt.Sprintf("; did you mean \"grpc://%s\"?", text)
	case strings.HasSuffix(lower, ".py"), strings.HasPrefix(text, "."), strings.HasPrefix(text, "/"):
		return "; an agent of your own serves gRPC: start its program and give its address, grpc://HOST:PORT"
	}
	meant := longer(text, known)
	if meant == "" {
		meant = model(text)
	}
	if meant == "" {
		meant = nearest(text, known)
	}
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", meant)
}

// longer returns the shortest known name that begins with a text, whatever its case.
func longer(text string, known []string) string {
	best := ""
	for _, name := range known {
		if len(text) > 2 && len(name) >= len(text) && strings.EqualFold(name[:len(text)], text) && (best == "" || len(name) < len(best)) {
			best = name
		}
	}
	return best
}

// model returns the name of a model that lacks its provider, or has it before a slash.
func model(text string) string {
	if before, after, ok := strings.Cut(text, "/"); ok && after != "" && !strings.Contains(text, ":/") {
		before = strings.ToLower(before)
		if _, known := providers.Named(providers.All(nil), before); known {
			return before + ":" + after
		}
		if provider, known := prefixes()[before]; known {
			return provider + ":" + after
		}
		return "openai:" + text // a name of Hugging Face, as servers of open models use it
	}
	for _, family := range families() {
		if strings.HasPrefix(strings.ToLower(text), family[0]) {
			return family[1] + ":" + text
		}
	}
	return ""
}

// nearest returns the known name with the smallest edit distance, "" if none is close. The text
// after a known prefix does not count.
func nearest(text string, known []string) string {
	best := spelling.Nearest(text, known, 2)
	if head, _, found := strings.Cut(text, ":"); best == "" && found && len(head) > 0 {
		for _, name := range known {
			fixed, _, open := strings.Cut(name, ":")
			if edits := spelling.Distance(strings.ToLower(head), fixed); open && edits <= 2 {
				return name
			}
		}
	}
	return best
}
