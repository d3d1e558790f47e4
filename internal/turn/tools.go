package turn

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python/syntax"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Tools indexes the tools of one role by both of their names. It is immutable and safe for
// concurrent use.
type Tools struct {
	list        []*worldv1.Tool
	byName      map[string]*worldv1.Tool
	byExecution map[string]*worldv1.Tool
	text        ToolText
	any         bool
}

// NewTools indexes a list of tools, which the result shares. Of several tools with one name the
// first counts.
func NewTools(list []*worldv1.Tool) *Tools {
	t := &Tools{
		list:        list,
		byName:      make(map[string]*worldv1.Tool, len(list)),
		byExecution: make(map[string]*worldv1.Tool, len(list)),
	}
	for _, tool := range list {
		if _, found := t.byName[tool.GetName()]; !found {
			t.byName[tool.GetName()] = tool
		}
		if _, found := t.byExecution[tool.GetExecutionName()]; !found {
			t.byExecution[tool.GetExecutionName()] = tool
		}
	}
	return t
}

// AnyTools returns the tools of a request without a tool set: every name is a tool's, and also its
// execution name.
func AnyTools() *Tools { return &Tools{any: true} }

// OrNone returns the tools, or no tools for AnyTools.
func (t *Tools) OrNone() *Tools {
	if t.any {
		return NewTools(nil)
	}
	return t
}

// Knows reports whether an execution name is that of one of the tools.
func (t *Tools) Knows(execution string) bool { return t.byExecution[execution] != nil }

// HasUserTools reports whether a user with these tools has more than world.EndTool.
func (t *Tools) HasUserTools() bool {
	return slices.ContainsFunc(t.list, func(tool *worldv1.Tool) bool { return tool.GetExecutionName() != world.EndTool })
}

// List returns the tools in order. Callers must not change it.
func (t *Tools) List() []*worldv1.Tool { return t.list }

// Text returns the cache of the encodings of List.
func (t *Tools) Text() *ToolText { return &t.text }

func (t *Tools) unknown(name string) *Mistake {
	names := make([]string, len(t.list))
	for i, tool := range t.list {
		names[i] = tool.GetName()
	}
	return &Mistake{raised: true, Exception: exceptionKey, Detail: fmt.Sprintf("tool %q is not among the role's tools: %s", name, strings.Join(names, ", "))}
}

// invalidName turns a name that is no tool of the role into an identifier that is no tool at all.
// The name may be the real name of a tool that the role knows under a scrambled one. In a scenario
// without a choice of tools the environment accepts calls of every tool by every role: the agent
// could call world.EndTool, and a user with only that could call the agent's tools. No tool's name
// ends with an underscore.
func (t *Tools) invalidName(name string) string {
	identifier := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name)
	if identifier == "" || unicode.IsDigit([]rune(identifier)[0]) {
		identifier = "_" + identifier
	}
	if !t.any && (identifier == world.EndTool || !t.HasUserTools()) {
		identifier += "_"
	}
	for t.byExecution[identifier] != nil || syntax.IsKeyword(identifier) {
		identifier += "_"
	}
	return identifier
}
