package terminal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

// parameter is one argument of a tool as its schema describes it.
type parameter struct {
	name, kind, description string
	required                bool
}

// parameters reads a tool's schema, in order. An invalid schema has none.
func parameters(tool *agentv1.Tool) []parameter {
	schema, err := python.ParseJSON(tool.GetParametersJson())
	if err != nil {
		return nil
	}
	var required []string
	for _, name := range items(field(schema, "required")) {
		text, _ := name.AsStr()
		required = append(required, text)
	}
	var list []parameter
	if properties, ok := field(schema, "properties").AsDict(); ok {
		for _, property := range properties.Items() {
			kind, _ := field(property.Value, "type").AsStr()
			description, _ := field(property.Value, "description").AsStr()
			list = append(list, parameter{property.Key, kind, description, slices.Contains(required, property.Key)})
		}
	}
	for _, name := range required { // without types and descriptions only the names are left
		if !slices.ContainsFunc(list, func(p parameter) bool { return p.name == name }) {
			list = append(list, parameter{name: name, required: true})
		}
	}
	return list
}

func field(v python.Value, name string) python.Value {
	dict, ok := v.AsDict()
	if !ok {
		return python.None()
	}
	value, _ := dict.Get(name)
	return value
}

func items(v python.Value) []python.Value {
	list, _ := v.AsList()
	return list
}

func (c *Console) showTools(tools []*agentv1.Tool) {
	for _, tool := range tools {
		c.paragraph("  ", "      ", signature(tool))
		if tool.GetDescription() != "" {
			c.paragraph("      ", "      ", tool.GetDescription())
		}
	}
	if len(tools) == 0 {
		c.printf("  there are no tools now\n")
	}
}

// signature returns a tool's name and arguments; optional ones are in brackets.
func signature(tool *agentv1.Tool) string {
	var list []string
	for _, p := range parameters(tool) {
		text := p.name
		if p.kind != "" {
			text += ": " + p.kind
		}
		if !p.required {
			text = "[" + text + "]"
		}
		list = append(list, text)
	}
	return tool.GetName() + "(" + strings.Join(list, ", ") + ")"
}

// calls fills in one call after the other. It returns nothing if the person drops the first one;
// dropping a later one keeps the earlier ones.
func (c *Console) calls(ctx context.Context, tools []*agentv1.Tool, name string) (*agentv1.ActResponse, error) {
	response := &agentv1.ActResponse{}
	for {
		tool, err := c.chooseTool(ctx, tools, name)
		if err != nil || tool == nil && len(response.Calls) == 0 {
			return nil, err
		}
		if tool != nil {
			arguments, err := c.askArguments(ctx, tool)
			if err != nil {
				return nil, err
			}
			response.Calls = append(response.Calls, &agentv1.ToolCall{Name: tool.GetName(), ArgumentsJson: arguments})
		}
		more, err := c.readLine(ctx, "  another parallel call? name, or Enter to send: ")
		if err != nil {
			return nil, err
		}
		if name = strings.TrimSpace(more); name == "" {
			return response, nil
		}
	}
}

// chooseTool finds the tool by its name or a unique prefix; nil if the person drops the call.
func (c *Console) chooseTool(ctx context.Context, tools []*agentv1.Tool, name string) (*agentv1.Tool, error) {
	for {
		var fitting []*agentv1.Tool
		for _, tool := range tools {
			if tool.GetName() == name {
				return tool, nil
			}
			if name != "" && strings.HasPrefix(tool.GetName(), name) {
				fitting = append(fitting, tool)
			}
		}
		if len(fitting) == 1 {
			return fitting[0], nil
		}
		switch {
		case name == "":
			fitting = tools
		case len(fitting) == 0:
			c.printf("  no tool begins with %q\n", name)
			fitting = tools
		default:
			c.printf("  %d tools begin with %q\n", len(fitting), name)
		}
		for _, tool := range fitting {
			c.paragraph("  ", "      ", signature(tool))
		}
		line, err := c.readLine(ctx, "  which tool? Enter to drop this call: ")
		if err != nil || strings.TrimSpace(line) == "" {
			return nil, err
		}
		name = strings.TrimSpace(line)
	}
}

// askArguments asks for each argument until it is valid.
func (c *Console) askArguments(ctx context.Context, tool *agentv1.Tool) (string, error) {
	arguments := &python.Dict{}
	for _, p := range parameters(tool) {
		if p.description != "" {
			c.paragraph("  # ", "  # ", strings.ReplaceAll(p.description, "\n", " "))
		}
		for {
			line, err := c.readLine(ctx, "  "+p.prompt())
			if err != nil {
				return "", err
			}
			value, present, err := p.read(line)
			if err != nil {
				c.printf("  %v\n", err)
				continue
			}
			if present {
				arguments.Set(p.name, value)
			}
			break
		}
	}
	return python.JSON(arguments.Value()), nil
}

func (p parameter) prompt() string {
	notes := []string{}
	if p.kind != "" {
		notes = append(notes, p.kind)
	}
	if !p.required {
		notes = append(notes, "Enter to omit")
	}
	if len(notes) == 0 {
		return p.name + ": "
	}
	return p.name + " (" + strings.Join(notes, ", ") + "): "
}

// read parses a line as a value. "" is an empty text.
func (p parameter) read(line string) (value python.Value, present bool, err error) {
	line = strings.TrimSpace(line)
	switch {
	case line == "" && p.required:
		return value, false, fmt.Errorf("%s is needed", p.name)
	case line == "":
		return value, false, nil
	case line == `""`:
		return python.Str(""), true, nil
	case p.kind == "boolean":
		return readBoolean(line)
	}
	parsed, parseErr := python.ParseJSON(line)
	_, isInt := parsed.AsBigInt()
	_, isNumber := parsed.Number()
	_, isBool := parsed.AsBool()
	isInt, isNumber = isInt && parseErr == nil && !isBool, (isNumber || isInt) && parseErr == nil && !isBool
	switch {
	case p.kind == "integer" && !isInt:
		return value, false, fmt.Errorf("%q is not an integer", line)
	case p.kind == "number" && !isNumber:
		return value, false, fmt.Errorf("%q is not a number", line)
	case p.kind == "string", parseErr != nil:
		return python.Str(line), true, nil
	}
	return parsed, true, nil
}

func readBoolean(line string) (value python.Value, present bool, err error) {
	switch strings.ToLower(line) {
	case "true", "yes", "y", "on":
		return python.Bool(true), true, nil
	case "false", "no", "n", "off":
		return python.Bool(false), true, nil
	}
	return value, false, fmt.Errorf("%q is not true or false", line)
}
