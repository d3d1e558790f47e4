package openai

import (
	"encoding/json"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	// maxName is the longest function name.
	maxName = 64
	// unnamed replaces an empty function name.
	unnamed = "unnamed"
)

// ToolName returns the name that an earlier call or its result carries in a request. Models call
// tools that do not exist, and the interface refuses a whole conversation for one name with a dot.
// Compat keeps the name.
func ToolName(q *provider.Query, entry conversation.Entry) string {
	if q.Compat || ValidName(entry.Name) {
		return entry.Name
	}
	if entry.Name == "" {
		return unnamed
	}
	clean := strings.Map(func(r rune) rune {
		if allowed(r) {
			return r
		}
		return '_'
	}, entry.Name)
	return clean[:min(len(clean), maxName)]
}

// ValidName reports whether the interface accepts a function name.
func ValidName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool { return !allowed(r) })
}

func allowed(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}

// Arguments returns the arguments that an earlier call carries in a request: those that the model
// wrote. Compatible servers insert them into the model's template as an object, and refuse the
// whole conversation if they are none. They get an empty object instead, except with compat. The
// call's result describes the mistake.
func Arguments(q *provider.Query, entry conversation.Entry) string {
	written := entry.ArgumentsText()
	if _, object := entry.Arguments.AsDict(); object || q.Official || q.Compat {
		return written
	}
	if strings.HasPrefix(strings.TrimSpace(written), "{") && json.Valid([]byte(written)) {
		return written
	}
	return entry.ArgumentsObject(true)
}
