package lenient

import (
	"regexp"
	"slices"
	"strings"
)

// namedCall matches a name in the JSON of a call, as models write it whose server has no parser of
// tools. markedCall matches one behind a mark of calls, and calledName one before an argument list.
var (
	markedCall = regexp.MustCompile(`(?:<function=|<tool_call>\s*|\[TOOL_CALLS\]\s*|<\|tool_call_begin\|>\s*(?:functions\.)?)([A-Za-z_][A-Za-z0-9_]*)`)
	namedCall  = regexp.MustCompile(`"(?:name|tool|tool_name|function|action)"\s*:\s*"([A-Za-z_][A-Za-z0-9_]*)"`)
	calledName = regexp.MustCompile(`\b([A-Za-z_][A-Za-z0-9_]*)\(`)
)

// CalledInText returns the names that a text calls: first those in the JSON of calls, then those
// behind a mark, then those before an argument list. Whether they are names of tools is for the
// caller to decide.
func CalledInText(text string) []string {
	var names []string
	for _, pattern := range []*regexp.Regexp{namedCall, markedCall, calledName} {
		for _, match := range pattern.FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
	}
	return names
}

// LooksLikeCall reports whether a text calls a tool, or has the form of a call of any tool: a mark
// of calls, or a name and arguments in JSON.
func LooksLikeCall(text, tool string) bool {
	names := CalledInText(text)
	hasArguments := strings.Contains(text, `"arguments"`) || strings.Contains(text, `"parameters"`)
	return slices.Contains(names, tool) || markedCall.MatchString(text) || hasArguments && namedCall.MatchString(text)
}
