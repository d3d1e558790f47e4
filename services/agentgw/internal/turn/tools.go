package turn

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/python/syntax"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Tools are the tools of one role, by both of their names. Nil stands for a set that is not known.
// It does not change and is safe for concurrent use.
type Tools struct {
	list        []*worldv1.Tool
	byName      map[string]*worldv1.Tool
	byExecution map[string]*worldv1.Tool
	text        ToolText
	open        bool
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

// AnyTools stands for a request that says nothing about tools: every name is a tool's, and its
// execution name too.
func AnyTools() *Tools { return &Tools{open: true} }

// Closed returns the tools themselves where they are known, and no tools for a request that says
// nothing about them.
func (t *Tools) Closed() *Tools {
	if t.open {
		return NewTools(nil)
	}
	return t
}

// Knows says whether the environment's name of a tool is that of one of these.
func (t *Tools) Knows(execution string) bool { return t.byExecution[execution] != nil }

// endTool is the one tool that every user has.
const endTool = "end_conversation"

// HasUserTools says whether a user with these tools has more than the one that ends the
// conversation.
func (t *Tools) HasUserTools() bool {
	return slices.ContainsFunc(t.list, func(tool *worldv1.Tool) bool { return tool.GetExecutionName() != endTool })
}

// List returns the tools in order. The caller must not change it.
func (t *Tools) List() []*worldv1.Tool { return t.list }

// Text keeps how List is written for models.
func (t *Tools) Text() *ToolText { return &t.text }

func (t *Tools) unknown(name string) *Mistake {
	names := make([]string, len(t.list))
	for i, tool := range t.list {
		names[i] = tool.GetName()
	}
	return &Mistake{raised: true, Exception: exceptionKey, Detail: fmt.Sprintf("tool %q is not among the role's tools: %s", name, strings.Join(names, ", "))}
}

// refused turns a name that is no tool of the role into an identifier that is no tool at all, e.g.
// the real name of a tool that the role knows under a scrambled one. Where a scenario restricts
// nothing, the environment lets everybody call every tool: the agent the one that ends the
// conversation, and the user, which has only that one there, all of the agent's. No tool's name
// ends with an underscore.
func (t *Tools) refused(name string) string {
	identifier := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name)
	if identifier == "" || unicode.IsDigit([]rune(identifier)[0]) {
		identifier = "_" + identifier
	}
	if !t.open && (identifier == endTool || !t.HasUserTools()) {
		identifier += "_"
	}
	for t.byExecution[identifier] != nil || syntax.IsKeyword(identifier) {
		identifier += "_"
	}
	return identifier
}
