package describe

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// widestArguments is the width at which the arguments of a tool wrap in a table for people.
const widestArguments = 60

// toolsPreface begins the page that --markdown prints.
const toolsPreface = `# Tools

Every tool of the built-in catalogue, in the order in which agents see them. The following command prints this page from the
tool host, and a test compares both.

` + "```sh\ntoolsandbox tools --markdown\n```" + `

An argument with a question mark is optional. A call fails without the services that its tool needs; *location_service by
default* means: needed unless the optional arguments give a place. Read-only tools never change the world.
A user has allow_action only if a tool of the scenario [needs consent](confirmation.md).

`

// ToolLine is one tool in the output for programs.
type ToolLine struct {
	Name      string   `json:"name"`
	Module    string   `json:"module"`
	VisibleTo []string `json:"visible_to"`
	// Needs must be on for every call, DefaultNeeds also if the optional arguments are omitted.
	Needs        []string `json:"needs"`
	DefaultNeeds []string `json:"default_needs"`
	ReadOnly     bool     `json:"read_only"`
	Description  string   `json:"description"`
	// Parameters is the JSON Schema of the arguments.
	Parameters json.RawMessage `json:"parameters"`
}

// ToolLines returns tools for programs.
func ToolLines(tools []*toolhostv1.ToolInfo) []ToolLine {
	lines := make([]ToolLine, len(tools))
	for i, info := range tools {
		lines[i] = ToolLine{
			Name:         info.GetTool().GetName(),
			Module:       info.GetModule(),
			VisibleTo:    rolesOf(info),
			Needs:        append([]string{}, info.GetNeeds()...),
			DefaultNeeds: append([]string{}, info.GetDefaultNeeds()...),
			ReadOnly:     info.GetReadOnly(),
			Description:  info.GetTool().GetDescription(),
			Parameters:   json.RawMessage(info.GetTool().GetParametersJson()),
		}
	}
	return lines
}

// WriteTools prints a table of tools as wide as w.
func WriteTools(w io.Writer, tools []*toolhostv1.ToolInfo) error {
	_, err := fmt.Fprintln(w, toolTable(tools, false).Fit(output.Width(w)))
	return err
}

// ToolsPage prints tools as a Markdown page.
func ToolsPage(w io.Writer, tools []*toolhostv1.ToolInfo) error {
	_, err := fmt.Fprintf(w, "%s%s\n", toolsPreface, toolTable(tools, true).Markdown())
	return err
}

func rolesOf(info *toolhostv1.ToolInfo) []string {
	roles := []string{}
	for _, role := range info.GetVisibleTo() {
		roles = append(roles, strings.ToLower(world.RoleName(role)))
	}
	return roles
}

// toolTable lays out tools for people, with their descriptions if described.
func toolTable(tools []*toolhostv1.ToolInfo, described bool) *output.Table {
	header := table.Row{"tool", "module", "visible to", "needs", "read-only", "arguments"}
	if described {
		header = append(header, "what it does")
	}
	t := output.NewTable(header)
	for _, info := range tools {
		needs := append([]string{}, info.GetNeeds()...)
		for _, need := range info.GetDefaultNeeds() {
			needs = append(needs, need+" by default")
		}
		readOnly := "no"
		if info.GetReadOnly() {
			readOnly = "yes"
		}
		row := table.Row{
			info.GetTool().GetName(), info.GetModule(), strings.Join(rolesOf(info), ", "), strings.Join(needs, ", "),
			readOnly, wrap(arguments(info.GetTool().GetParametersJson()), widestArguments),
		}
		if described {
			row[len(row)-1] = strings.Join(arguments(info.GetTool().GetParametersJson()), ", ")
			row = append(row, info.GetTool().GetDescription())
		}
		t.Append(row)
	}
	return t
}

// arguments reads a schema as "name: type" in its order, with a question mark after optional names.
// An invalid schema has none.
func arguments(schema string) []string {
	parameters, _ := parameter.Read(schema)
	var lines []string
	for _, p := range parameters {
		lines = append(lines, p.String())
	}
	return lines
}

// wrap joins texts with commas in lines of at most width, if possible.
func wrap(texts []string, width int) string {
	var b strings.Builder
	line := 0
	for i, text := range texts {
		switch {
		case i > 0 && line+len(", ")+len(text)+len(",") > width:
			b.WriteString(",\n")
			line = 0
		case i > 0:
			b.WriteString(", ")
			line += len(", ")
		}
		b.WriteString(text)
		line += len(text)
	}
	return b.String()
}
