package terminal

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

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
	parameters, _ := parameter.Read(tool.GetParametersJson()) // an invalid schema has none
	var list []string
	for _, p := range parameters {
		text := p.Name
		if p.Type != "" {
			text += ": " + p.Type
		}
		if !p.Required {
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
	parameters, _ := parameter.Read(tool.GetParametersJson())
	arguments := &python.Dict{}
	for _, p := range parameters {
		if p.Description != "" {
			c.paragraph("  # ", "  # ", strings.ReplaceAll(p.Description, "\n", " "))
		}
		for {
			line, err := c.readLine(ctx, "  "+prompt(p))
			if err != nil {
				return "", err
			}
			value, present, err := read(p, line)
			if err != nil {
				c.printf("  %v\n", err)
				continue
			}
			if present {
				arguments.Set(p.Name, value)
			}
			break
		}
	}
	return python.JSON(arguments.Value()), nil
}

func prompt(p parameter.Parameter) string {
	notes := []string{}
	if p.Type != "" {
		notes = append(notes, p.Type)
	}
	if !p.Required {
		notes = append(notes, "Enter to omit")
	}
	if len(notes) == 0 {
		return p.Name + ": "
	}
	return p.Name + " (" + strings.Join(notes, ", ") + "): "
}

// read parses a line as a value. "" is an empty text.
func read(p parameter.Parameter, line string) (value python.Value, present bool, err error) {
	line = strings.TrimSpace(line)
	switch {
	case line == "" && p.Required:
		return value, false, fmt.Errorf("%s is needed", p.Name)
	case line == "":
		return value, false, nil
	case line == `""`:
		return python.Str(""), true, nil
	case p.Type == "boolean":
		return readBoolean(line)
	}
	parsed, parseErr := python.ParseJSON(line)
	_, isInt := parsed.AsBigInt()
	_, isNumber := parsed.Number()
	_, isBool := parsed.AsBool()
	isInt, isNumber = isInt && parseErr == nil && !isBool, (isNumber || isInt) && parseErr == nil && !isBool
	switch {
	case p.Type == "integer" && !isInt:
		return value, false, fmt.Errorf("%q is not an integer", line)
	case p.Type == "number" && !isNumber:
		return value, false, fmt.Errorf("%q is not a number", line)
	case p.Type == "string", parseErr != nil:
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
