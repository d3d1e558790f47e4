package player

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
)

// hostPort matches an address without a scheme.
var hostPort = regexp.MustCompile(`^[A-Za-z0-9.-]+:[0-9]{1,5}$`)

// families returns the providers of well-known families of models, by the beginning of their names.
// A model without a provider of its own runs on a server that speaks OpenAI's chat completions.
func families() [][2]string {
	const server = "openai"
	return [][2]string{
		{"gpt", "openai"}, {"chatgpt", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"claude", "anthropic"},
		{"gemini", "google"}, {"command", "cohere"}, {"c4ai", "cohere"},
		{"llama", server}, {"qwen", server}, {"deepseek", server}, {"gemma", server}, {"phi", server}, {"mixtral", server},
	}
}

// localProvider is the provider of models that somebody serves.
const localProvider = "openai"

// prefixes returns the providers of names that LiteLLM writes before a slash, beside our own names.
func prefixes() map[string]string {
	return map[string]string{
		"gemini": "google", "vertex_ai": "vertex",
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
	served, isLocal := strings.CutPrefix(name, localProvider+":")
	return name, isLocal && !strings.EqualFold(before, localProvider) && (hasSlash || !isOpenAI(served))
}

// servers returns programs and services of open models, as other programs name them.
func servers() []string {
	return []string{"ollama", "ollama_chat", "vllm", "hosted_vllm", "lm_studio", "llamacpp", "llama.cpp", "sglang", "tgi", "huggingface", "hf", "transformers", "together", "together_ai", "groq",
		"openrouter", "fireworks_ai", "azure", "litellm"}
}

const (
	ownAgent  = "an agent of your own serves gRPC: start its program and give its address, grpc://HOST:PORT"
	ownServer = "with --base-url, the address of its server"
)

// pythonObject matches the name of a class or function in a module.
var pythonObject = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*[:.][A-Z_][A-Za-z0-9_]*$`)

// hint returns what somebody may mean by an unknown name who is used to other programs, or the
// nearest known name; empty if nothing is near.
func hint(text string, known []string) string {
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"):
		return fmt.Sprintf("a model server is openai:MODEL with --base-url %s, an agent of your own grpc://HOST:PORT", text)
	case hostPort.MatchString(text):
		return fmt.Sprintf("did you mean \"grpc://%s\"?", text)
	case strings.HasSuffix(lower, ".py"), strings.HasPrefix(text, "."), strings.HasPrefix(text, "/"):
		return ownAgent
	case slices.Contains([]string{"human", "person", "terminal", "manual", "interactive"}, lower):
		return `did you mean "cli"?`
	case slices.Contains([]string{"idle", "noop", "dummy", "nothing"}, lower):
		return `did you mean "unhelpful"?`
	case slices.Contains(servers(), lower):
		return "did you mean openai:MODEL " + ownServer + "?"
	}
	for _, meant := range []string{model(text), longer(text, known), nearest(text, known)} {
		switch provider, name, _ := strings.Cut(meant, ":"); {
		case meant == "":
		case provider == "openai" && !isOpenAI(name):
			return fmt.Sprintf("did you mean %q %s?", meant, ownServer)
		default:
			return fmt.Sprintf("did you mean %q?", meant)
		}
	}
	if pythonObject.MatchString(text) {
		return ownAgent
	}
	return ""
}

// isOpenAI reports whether a model, or the variable part of a pattern, is OpenAI's own.
func isOpenAI(name string) bool {
	if name == "MODEL" {
		return true
	}
	lower := strings.ToLower(name)
	return slices.ContainsFunc([]string{"gpt", "chatgpt", "o1", "o3", "o4"}, func(family string) bool { return strings.HasPrefix(lower, family) })
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
	if before, after, ok := strings.Cut(text, ":"); ok && slices.Contains(servers(), strings.ToLower(before)) {
		return "openai:" + after
	}
	if before, after, ok := strings.Cut(text, "/"); ok && after != "" && !strings.Contains(text, ":/") {
		before = strings.ToLower(before)
		if _, known := providers.Named(providers.All(nil), before); known {
			return before + ":" + after
		}
		if provider, known := prefixes()[before]; known {
			return provider + ":" + after
		}
		if slices.Contains(servers(), before) {
			return "openai:" + after
		}
		return "openai:" + text // a name of Hugging Face, as servers of open models use it
	}
	for _, family := range families() {
		rest, ok := strings.CutPrefix(strings.ToLower(text), family[0])
		switch {
		case !ok:
		case rest == "":
			return family[1] + ":MODEL"
		case strings.ContainsRune("-.0123456789", rune(rest[0])):
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
