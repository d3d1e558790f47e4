package openai

import (
	"encoding/json"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	// maxName is how long the name of a function may be.
	maxName = 64
	// unnamed is the name of a call whose model gave none.
	unnamed = "unnamed"
)

// Name returns the name under which an earlier call, or what it returned, is sent back. Models call
// tools that do not exist, and the interface refuses a whole conversation for one name with a dot
// in it. In compatible mode the name stays.
func Name(q *provider.Query, entry conversation.Entry) string {
	if q.Compat || Sendable(entry.Name) {
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

// Sendable says whether the interface takes a name of a function.
func Sendable(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool { return !allowed(r) })
}

func allowed(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}

// Arguments returns the arguments of an earlier call as they are sent back: as the model wrote
// them. Compatible servers put them into the model's template, for which they have to be an object,
// and refuse the whole conversation if they are not: they get an empty one, except in compatible
// mode. What was wrong is said in the call's result.
func Arguments(q *provider.Query, entry conversation.Entry) string {
	written := entry.Written()
	if _, object := entry.Arguments.AsDict(); object || q.Own || q.Compat {
		return written
	}
	if strings.HasPrefix(strings.TrimSpace(written), "{") && json.Valid([]byte(written)) {
		return written
	}
	return entry.Object(true)
}
