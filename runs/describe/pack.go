package describe

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

// notStated is the text in place of a missing one.
const notStated = "not stated"

// Pack describes a pack, for people and for programs.
type Pack struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Licence     string `json:"licence"`
	Description string `json:"description"`
	// Digest is the SHA-256 of its files, in hex.
	Digest string `json:"digest"`
	// Standalone is set for a pack without the built-in tools and tables, BuiltIn for the one that has
	// them.
	Standalone bool           `json:"standalone"`
	BuiltIn    bool           `json:"built_in"`
	Needs      []string       `json:"needs"`
	Tables     []PackTable    `json:"tables"`
	Tools      []PackTool     `json:"tools"`
	Scenarios  []PackScenario `json:"scenarios"`
}

// PackTable is a declared table of a pack.
type PackTable struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Extends is set for a built-in table to which the pack adds the columns.
	Extends bool         `json:"extends,omitempty"`
	Columns []PackColumn `json:"columns"`
}

// PackColumn is a column of such a table.
type PackColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Measure     string `json:"measure"`
	Description string `json:"description"`
	// Default is the cell of a row that is written without one, as JSON. Empty means null.
	Default string `json:"default,omitempty"`
}

// PackTool is a tool of a pack.
type PackTool struct {
	Name string `json:"name"`
	// File is its source file, or for a tool of a server the one that declares the server.
	File string `json:"file"`
	// Server is the name of its tool server. Empty for a tool in Python.
	Server      string `json:"server,omitempty"`
	VisibleTo   string `json:"visible_to"`
	ReadOnly    bool   `json:"read_only"`
	Description string `json:"description"`
	// Consent is what the user has to allow before the agent may call the tool; empty if nothing.
	Consent string `json:"consent"`
	// Parameters is the JSON Schema of the arguments.
	Parameters json.RawMessage `json:"parameters"`
}

// PackScenario is a scenario of a pack.
type PackScenario struct {
	Name       string   `json:"name"`
	File       string   `json:"file"`
	Categories []string `json:"categories"`
	Notes      string   `json:"notes"`
}

// OfPack describes a pack with its own tools, of which some need the user's consent.
func OfPack(loaded *pack.Pack, tools []*toolhostv1.ToolInfo, confirm []*setupv1.ConsentTool) *Pack {
	consent := make(map[string]string)
	for _, entry := range confirm {
		consent[entry.GetTool()] = entry.GetAction()
	}
	out := &Pack{
		Name: loaded.Name, Version: loaded.Version, Licence: loaded.Licence, Description: loaded.Description, Digest: loaded.Digest,
		Standalone: loaded.Standalone, BuiltIn: len(loaded.Restated) > 0, Needs: []string{}, Tables: []PackTable{}, Tools: []PackTool{}, Scenarios: []PackScenario{},
	}
	for _, need := range loaded.Needs {
		out.Needs = append(out.Needs, need.Variable+need.Command) // one of them is empty
	}
	schema := world.SchemaOrBuiltin(loaded.Tables)
	for _, declared := range slices.Concat(loaded.Restated, loaded.Tables) {
		if declared.GetName() != world.Sandbox {
			table := packTable(declared)
			table.Extends = !out.BuiltIn && schema.IsBuiltin(declared.GetName())
			out.Tables = append(out.Tables, table)
		}
	}
	for _, info := range tools {
		file, server := "tools/"+info.GetModule()+".py", ""
		if slices.ContainsFunc(loaded.ToolServers, func(s *setupv1.ToolServer) bool { return s.GetName() == info.GetModule() }) {
			file, server = "pack.yaml", info.GetModule()
		}
		out.Tools = append(out.Tools, PackTool{
			Name: info.GetTool().GetExecutionName(), File: file, Server: server,
			VisibleTo: roles(info.GetVisibleTo()), ReadOnly: info.GetReadOnly(),
			Description: info.GetTool().GetDescription(), Consent: consent[info.GetTool().GetExecutionName()], Parameters: json.RawMessage(info.GetTool().GetParametersJson()),
		})
	}
	for _, one := range loaded.Scenarios {
		out.Scenarios = append(out.Scenarios, PackScenario{
			Name: one.Scenario.GetSetup().GetName(), File: one.Position.File,
			Categories: append([]string{}, one.Scenario.GetSetup().GetCategories()...), Notes: one.Scenario.GetNotes(),
		})
	}
	return out
}

// roles returns the names of roles.
func roles(list []worldv1.Role) string {
	names := make([]string, len(list))
	for i, role := range list {
		names[i] = strings.ToLower(world.RoleName(role))
	}
	return strings.Join(names, " and ")
}

func packTable(declared *worldv1.TableSchema) PackTable {
	table := PackTable{Name: world.AuthorName(declared.GetName()), Description: declared.GetDescription()}
	for _, column := range declared.GetColumns() {
		described := PackColumn{
			Name: column.GetName(), Type: world.Kind(column.GetType()).String(), Measure: column.GetMeasure(), Description: column.GetDescription(),
		}
		if column.GetDefault().GetKind() != nil {
			described.Default = world.Literal(column.GetDefault())
		}
		table.Columns = append(table.Columns, described)
	}
	return table
}

// base describes what a pack extends.
func (p *Pack) base() string {
	switch {
	case p.Standalone:
		return "stands alone: no built-in tools and tables"
	case p.BuiltIn:
		return "has the built-in tools and tables, which other packs extend"
	}
	return "extends the built-in tools and tables"
}

// arguments returns the parameters of a tool in order. The schema comes from a tool host.
func (t *PackTool) arguments() []parameter.Parameter {
	list, _ := parameter.Read(string(t.Parameters))
	return list
}

// signature writes a tool's name with its parameters, optional ones with a question mark, and what
// the user has to allow.
func (t *PackTool) signature() string {
	var parts []string
	for _, a := range t.arguments() {
		parts = append(parts, a.String())
	}
	signature := t.Name + "(" + strings.Join(parts, ", ") + ")"
	if t.Consent != "" {
		signature += ", with the user's consent to " + t.Consent
	}
	return signature
}

// WritePack writes a pack for people. The error is w's.
func WritePack(w io.Writer, pack *Pack) error {
	p := &printer{}
	p.line("%s", pack.Name)
	p.pair("version", pack.Version)
	p.pair("licence", pack.Licence)
	p.pair("about", pack.Description)
	p.pair("digest", pack.Digest)
	p.pair("base", pack.base())
	p.pair("needs", strings.Join(pack.Needs, ", "))
	p.heading("Tables")
	for _, table := range pack.Tables {
		var columns []string
		for _, column := range table.Columns {
			columns = append(columns, column.Name+": "+column.Type)
		}
		if table.Extends {
			columns = slices.Insert(columns, 0, "…")
		}
		p.line("  %s(%s)", table.Name, strings.Join(columns, ", "))
	}
	p.heading("Tools")
	for i := range pack.Tools {
		p.line("  %s", pack.Tools[i].signature())
	}
	p.heading("Scenarios")
	scenarios := output.NewList()
	for _, s := range pack.Scenarios {
		scenarios.Append(table.Row{s.Name, strings.Join(s.Categories, " ")})
	}
	if len(pack.Scenarios) > 0 {
		p.line("  %s", strings.ReplaceAll(output.Trimmed(scenarios.Fit(max(0, output.Width(w)-2))), "\n", "\n  "))
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

// PackPage writes a Markdown page for users of a pack. The error is w's.
func PackPage(w io.Writer, pack *Pack) error {
	p := &printer{}
	p.line("# %s\n", pack.Name)
	if pack.Description != "" {
		p.line("%s\n", pack.Description)
	}
	p.line("Version %s, licence %s. This pack %s.", cmp.Or(pack.Version, notStated), cmp.Or(pack.Licence, notStated), pack.base())
	if len(pack.Needs) > 0 {
		p.line("It needs %s.", strings.Join(pack.Needs, ", "))
	}
	if len(pack.Tables) > 0 {
		p.heading("## Tables")
	}
	for _, table := range pack.Tables {
		description := cmp.Or(table.Description, notStated)
		if table.Extends {
			description = "New columns of the built-in table."
		}
		p.line("\n### %s\n\n%s\n", table.Name, description)
		p.line("| column | type | measure | meaning |\n|---|---|---|---|")
		for _, c := range table.Columns {
			meaning := c.Description
			if c.Default != "" {
				meaning += " " + c.Default + " by default."
			}
			p.line("| `%s` | %s | %s | %s |", c.Name, c.Type, c.Measure, cell(meaning))
		}
	}
	if len(pack.Tools) > 0 {
		p.heading("## Tools")
	}
	for i := range pack.Tools {
		p.tool(&pack.Tools[i])
	}
	p.heading("## Scenarios")
	p.line("\n| scenario | categories | notes |\n|---|---|---|")
	for _, s := range pack.Scenarios {
		p.line("| `%s` | %s | %s |", s.Name, strings.Join(s.Categories, " "), cell(s.Notes))
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

// tool writes a tool's section of a page.
func (p *printer) tool(t *PackTool) {
	effect := "Changes the world."
	if t.ReadOnly {
		effect = "Read-only."
	}
	if t.Consent != "" {
		effect += " Needs the user's consent to " + t.Consent + "."
	}
	p.line("\n### %s\n\n%s\n\nFor the %s. %s", t.Name, t.Description, t.VisibleTo, effect)
	arguments := t.arguments()
	if len(arguments) == 0 {
		return
	}
	p.line("\n| argument | type | meaning |\n|---|---|---|")
	for _, a := range arguments {
		kind := a.Type
		if !a.Required {
			kind += ", optional"
		}
		p.line("| `%s` | %s | %s |", a.Name, kind, cell(a.Description))
	}
}

// cell escapes a text for a Markdown table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
