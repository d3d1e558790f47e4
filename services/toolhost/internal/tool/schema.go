package tool

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/python"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrSelection says that a tool selection cannot be met.
var ErrSelection = errors.New("tool selection")

// show says which parts of a tool an agent gets to see.
type show struct {
	description, argDescription, argType bool
}

// Select returns what the agent of a session sees. All tools of an empty list are allowed.
func (c *Catalogue) Select(selection *setupv1.ToolSelection) ([]*worldv1.Tool, error) {
	for _, name := range slices.Concat(selection.GetAllow(), selection.GetDeny()) {
		if c.byName[name] == nil {
			return nil, fmt.Errorf("%w: unknown tool %q", ErrSelection, name)
		}
	}
	shown := show{description: true, argDescription: true, argType: true}
	all := len(selection.GetAllow()) == 0
	for _, augmentation := range selection.GetAugmentations() {
		switch augmentation {
		case setupv1.Augmentation_AUGMENTATION_TOOL_DESCRIPTION_SCRAMBLED:
			shown.description = false
		case setupv1.Augmentation_AUGMENTATION_ARG_DESCRIPTION_SCRAMBLED:
			shown.argDescription = false
		case setupv1.Augmentation_AUGMENTATION_ARG_TYPE_SCRAMBLED:
			shown.argType = false
		case setupv1.Augmentation_AUGMENTATION_ARG_NAME_SCRAMBLED:
		case setupv1.Augmentation_AUGMENTATION_ALL_TOOLS:
			all = true
		default:
			return nil, fmt.Errorf("%w: augmentation %s is not supported by this tool host", ErrSelection, augmentation)
		}
	}
	var tools []*worldv1.Tool
	for _, t := range c.tools {
		if t.User || (!all && !slices.Contains(selection.GetAllow(), t.Name)) || slices.Contains(selection.GetDeny(), t.Name) {
			continue
		}
		tools = append(tools, t.shown(shown))
	}
	return tools, nil
}

// ForUser returns what the simulated user sees.
func (c *Catalogue) ForUser() []*worldv1.Tool {
	var tools []*worldv1.Tool
	for _, t := range c.tools {
		if t.User {
			tools = append(tools, t.Shown())
		}
	}
	return tools
}

// Shown returns the tool with everything that is known about it.
func (t *Tool) Shown() *worldv1.Tool {
	return t.shown(show{description: true, argDescription: true, argType: true})
}

func (t *Tool) shown(s show) *worldv1.Tool {
	shown := &worldv1.Tool{Name: t.Name, ExecutionName: t.Name, Description: t.Description}
	if !s.description && len(t.Params) > 0 { // the original keeps the description of tools without arguments
		shown.Description = ""
	}
	properties, required := &python.Dict{}, []python.Value{}
	for i := range t.Params {
		param := &t.Params[i]
		property := &python.Dict{}
		if s.argType {
			property.Set("type", python.Str(param.Type.Schema))
		}
		if s.argDescription {
			property.Set("description", python.Str(param.Description))
		}
		if property.Len() > 0 {
			properties.Set(param.Name, property.Value())
		}
		if !param.Optional {
			required = append(required, python.Str(param.Name))
		}
	}
	shown.ParametersJson = python.JSON(python.DictOf(
		python.Item{Key: "type", Value: python.Str("object")},
		python.Item{Key: "properties", Value: properties.Value()},
		python.Item{Key: "required", Value: python.List(required...)},
	))
	return shown
}
