package tool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/ported/fuzzy"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// ErrSelection means that a tool selection is invalid.
var ErrSelection = errors.New("tool selection")

// These are numbers of distraction tools.
const (
	fewDistractions  = 3
	manyDistractions = 10
)

// describedAlways is the tool whose arguments keep their descriptions when those of others are
// scrambled, as in the original.
const describedAlways = "modify_reminder"

// visibility states the parts of a tool that an agent sees.
type visibility struct {
	name, description, argName, argDescription, argType bool
}

func allVisible() visibility {
	return visibility{name: true, description: true, argName: true, argDescription: true, argType: true}
}

// Selection is the tools of a session as its roles see them. It is immutable.
type Selection struct {
	// Agent and User are the tools that the roles see, in the original's order.
	Agent, User []*worldv1.Tool

	// unrestricted lets both roles call every tool. As in the original, this holds without allowed or
	// denied tools.
	unrestricted bool
	// hasUserTools restricts the user to its own tools, even if unrestricted.
	hasUserTools bool
	agent        map[string]bool
	user         map[string]bool
	// gated are the agent's tools that need consent. allow is the tool that gives it; see
	// RequireConsent.
	gated map[string]*Tool
	allow *Tool
	// scrambled reports that the agent knows arguments by scrambled names.
	scrambled bool
}

// Tool returns a tool by real name as a role calls it, nil if the role may not call it.
func (s *Selection) Tool(c *Catalogue, name string, role worldv1.Role) *Tool {
	switch user := role == worldv1.Role_ROLE_USER; {
	case s.allow != nil && user && name == world.AllowTool:
		return s.allow
	case !s.Callable(name, role):
		return nil
	case !user && s.gated[name] != nil:
		return s.shown(s.gated[name], role)
	default:
		return s.shown(c.Find(name), role)
	}
}

// shown returns a tool, which may be nil, as a role knows its arguments.
func (s *Selection) shown(t *Tool, role worldv1.Role) *Tool {
	if t == nil || !s.scrambled || role != worldv1.Role_ROLE_AGENT {
		return t
	}
	return t.withScrambledArguments()
}

// Callable reports whether a role may call a tool by real name.
func (s *Selection) Callable(name string, role worldv1.Role) bool {
	if role == worldv1.Role_ROLE_USER {
		return s.unrestricted && !s.hasUserTools || s.user[name]
	}
	return s.unrestricted || s.agent[name]
}

// Select returns the tools of a session. An empty list of allowed tools allows all. The error is
// ErrSelection.
func (c *Catalogue) Select(selection *setupv1.ToolSelection) (*Selection, error) {
	if err := c.check(selection); err != nil {
		return nil, err
	}
	visible, allowed, err := c.augment(selection)
	if err != nil {
		return nil, err
	}
	s := &Selection{
		unrestricted: allowed == nil && len(selection.GetDeny()) == 0,
		hasUserTools: len(selection.GetUser()) > 0,
		agent:        make(map[string]bool),
		user:         make(map[string]bool),
		scrambled:    !visible.argName,
	}
	for _, t := range c.tools {
		if !t.User && slices.Contains(selection.GetUser(), t.Name) {
			s.user[t.Name] = true
			s.User = append(s.User, t.WithoutAugmentations())
		}
		if (allowed != nil && !slices.Contains(allowed, t.Name)) || slices.Contains(selection.GetDeny(), t.Name) {
			continue
		}
		described := t.withDescription(selection.GetDescriptions())
		if t.User {
			s.user[t.Name] = true
			s.User = append(s.User, described.toProto(visible)) // the user's tools keep their names
			if !t.Shared {
				continue
			}
		}
		s.agent[t.Name] = true
		if !visible.argName {
			described = described.withScrambledArguments()
		}
		seen := described.toProto(visible)
		if !visible.name {
			seen.Name = c.scrambled[t.Name]
		}
		s.Agent = append(s.Agent, seen)
	}
	return s, nil
}

// check rejects unknown names of tools and arguments. The error is ErrSelection.
func (c *Catalogue) check(selection *setupv1.ToolSelection) error {
	for _, name := range slices.Concat(selection.GetAllow(), selection.GetDeny(), selection.GetUser()) {
		if c.byName[name] == nil {
			return fmt.Errorf("%w: unknown tool %q", ErrSelection, name)
		}
	}
	for _, text := range selection.GetDescriptions() {
		described := c.byName[text.GetTool()]
		if described == nil {
			return fmt.Errorf("%w: description of an unknown tool %q", ErrSelection, text.GetTool())
		}
		for _, argument := range text.GetArguments() {
			if !slices.ContainsFunc(described.Params, func(p Param) bool { return p.Name == argument.GetName() }) {
				return fmt.Errorf("%w: description of an unknown argument %q of %s", ErrSelection, argument.GetName(), described.Name)
			}
		}
	}
	return nil
}

// augment returns the visible parts for the augmentations, and the allowed tools, nil for all.
func (c *Catalogue) augment(selection *setupv1.ToolSelection) (visibility, []string, error) {
	visible, distractions := allVisible(), 0
	for _, augmentation := range selection.GetAugmentations() {
		switch augmentation {
		case setupv1.Augmentation_AUGMENTATION_THREE_DISTRACTION_TOOLS:
			distractions = max(distractions, fewDistractions)
		case setupv1.Augmentation_AUGMENTATION_TEN_DISTRACTION_TOOLS:
			distractions = max(distractions, manyDistractions)
		case setupv1.Augmentation_AUGMENTATION_ALL_TOOLS:
			distractions = len(c.tools)
		case setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED:
			visible.name = false
		case setupv1.Augmentation_AUGMENTATION_TOOL_DESCRIPTION_SCRAMBLED:
			visible.description = false
		case setupv1.Augmentation_AUGMENTATION_ARG_DESCRIPTION_SCRAMBLED:
			visible.argDescription = false
		case setupv1.Augmentation_AUGMENTATION_ARG_TYPE_SCRAMBLED:
			visible.argType = false
		case setupv1.Augmentation_AUGMENTATION_ARG_NAME_SCRAMBLED:
			visible.argName = false
		case setupv1.Augmentation_AUGMENTATION_CONFIRMATION: // see RequireConsent
		case setupv1.Augmentation_AUGMENTATION_FAILING_TOOLS: // ExecuteRequest.failing has the calls
		case setupv1.Augmentation_AUGMENTATION_UNSPECIFIED:
			return visibility{}, nil, fmt.Errorf("%w: augmentation %d is unknown", ErrSelection, augmentation)
		default:
			return visibility{}, nil, fmt.Errorf("%w: augmentation %d is unknown", ErrSelection, augmentation)
		}
	}
	if len(selection.GetAllow()) == 0 {
		return visible, nil, nil
	}
	if distractions == 0 {
		return visible, selection.GetAllow(), nil
	}
	ranking := c.rank(selection.GetAllow())
	return visible, slices.Concat(selection.GetAllow(), ranking[:min(distractions, len(ranking))]), nil
}

// rank returns the names of all other tools, most distracting first. Tools of the same modules are
// before others, and similar names before others in each part. The original's order breaks ties.
func (c *Catalogue) rank(wanted []string) []string {
	type candidate struct {
		name  string
		near  int // 1 for a tool in a module of the wanted
		score float64
	}
	modules, texts := make(map[string]int), make([]*fuzzy.Text, len(wanted))
	for i, name := range wanted {
		texts[i] = fuzzy.Prepare(name)
		if t := c.byName[name]; t != nil {
			modules[t.Module] = 1
		}
	}
	var candidates []candidate
	for _, t := range c.tools {
		if slices.Contains(wanted, t.Name) {
			continue
		}
		other := candidate{name: t.Name, near: modules[t.Module]}
		text := fuzzy.Prepare(t.Name)
		for i := range texts {
			other.score = max(other.score, fuzzy.WRatio(text, texts[i]))
		}
		candidates = append(candidates, other)
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.near, a.near), cmp.Compare(b.score, a.score))
	})
	names := make([]string, len(candidates))
	for i := range candidates {
		names[i] = candidates[i].name
	}
	return names
}

// scramble numbers the tools of each module in alphabetical order.
func scramble(tools []*Tool) map[string]string {
	sorted := slices.Clone(tools)
	slices.SortFunc(sorted, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	next, names := make(map[string]int), make(map[string]string, len(tools))
	for _, t := range sorted {
		names[t.Name] = t.Module + "_" + strconv.Itoa(next[t.Module])
		next[t.Module]++
	}
	return names
}

// withDescription returns the tool with a selection's replacements of texts.
func (t *Tool) withDescription(texts []*setupv1.ToolDescription) *Tool {
	at := slices.IndexFunc(texts, func(text *setupv1.ToolDescription) bool { return text.GetTool() == t.Name })
	if at < 0 {
		return t
	}
	copied := *t
	if texts[at].Description != nil {
		copied.Description = texts[at].GetDescription()
	}
	copied.Params = slices.Clone(t.Params)
	for _, argument := range texts[at].GetArguments() {
		for i := range copied.Params {
			if copied.Params[i].Name == argument.GetName() {
				copied.Params[i].Description = argument.GetDescription()
			}
		}
	}
	return &copied
}

// WithoutAugmentations returns the tool without augmentations.
func (t *Tool) WithoutAugmentations() *worldv1.Tool { return t.toProto(allVisible()) }

func (t *Tool) toProto(s visibility) *worldv1.Tool {
	described := &worldv1.Tool{Name: t.Name, ExecutionName: t.Name, Description: t.Description, ArgumentNames: t.argumentNames}
	if !s.description && len(t.Params) > 0 { // the original keeps the description of tools without arguments
		described.Description = ""
	}
	properties, required := &python.Dict{}, []python.Value{}
	for i := range t.Params {
		param := &t.Params[i]
		property := &python.Dict{}
		if s.argType {
			property = param.Type.schema()
		}
		if len(param.Choices) > 0 {
			property.Set("enum", python.List(texts(param.Choices)...))
		}
		if s.argDescription || t.Name == describedAlways {
			property.Set("description", python.Str(param.Description))
		}
		if param.Property != nil {
			property = shownProperty(param, s)
		}
		if property.Len() > 0 {
			properties.Set(param.Name, property.Value())
		}
		if !param.Optional {
			required = append(required, python.Str(param.Name))
		}
	}
	schema := []python.Item{
		{Key: "type", Value: python.Str("object")},
		{Key: "properties", Value: properties.Value()},
		{Key: "required", Value: python.List(required...)},
	}
	if s.argType {
		schema = append(schema, t.Definitions...)
	}
	described.ParametersJson = python.JSON(python.DictOf(schema...))
	return described
}

func texts(list []string) []python.Value {
	values := make([]python.Value, len(list))
	for i, text := range list {
		values[i] = python.Str(text)
	}
	return values
}
