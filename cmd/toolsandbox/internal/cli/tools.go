package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
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

// toolLine is one tool in the output for programs.
type toolLine struct {
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

// toolsOptions are the flags of tools.
type toolsOptions struct {
	installation       standalone.Config
	network            *pflag.FlagSet
	asJSON, asMarkdown bool
}

func newTools() *cobra.Command {
	options := &toolsOptions{installation: standalone.DefaultConfig(), network: pflag.NewFlagSet("network", pflag.ContinueOnError)}
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools of the world",
		Long: `tools lists every tool with its module, the roles that see it, the phone's services that it needs, whether it is read-only,
and its arguments. An argument with a question mark is optional. With --remote it asks a running tool host.`,
		Example: "  toolsandbox tools\n  toolsandbox tools --json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.asJSON && options.asMarkdown {
				return process.UsageErrorf("--json and --markdown: both given, expected one")
			}
			return options.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.register(cmd.Flags())
	return cmd
}

func (o *toolsOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.BoolVar(&o.asMarkdown, "markdown", false, "print the page docs/tools.md")
	o.network.BoolVar(&o.installation.Network.Remote, "remote", false, "ask the running tool host at --toolhost-addr")
	o.installation.Network.RegisterClientFlags(o.network)
	o.installation.Network.RegisterToolHostFlag(o.network)
	addSettings(flags, o.network)
}

func (o *toolsOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	tools, err := o.list(ctx, stderr)
	if err != nil {
		return err
	}
	switch {
	case o.asJSON:
		return writeTools(stdout, tools)
	case o.asMarkdown:
		return printf(stdout, "%s%s", toolsPreface, toolTable(tools, true).Markdown())
	default:
		return printf(stdout, "%s", toolTable(tools, false).Fit(output.Width(stdout)))
	}
}

// list asks a tool host: a remote one, or one in this process with an empty directory.
func (o *toolsOptions) list(ctx context.Context, stderr io.Writer) (tools []*toolhostv1.ToolInfo, err error) {
	if err := o.installation.Network.Validate(); err != nil {
		return nil, process.UsageErrorf("%w", err)
	}
	o.installation.Services = onlyToolHost
	err = standalone.WithTemporary(ctx, o.installation, "warn", stderr, func(ctx context.Context, m *rpc.Node) error {
		response, err := toolhostv1.NewToolHostServiceClient(m.Conn(rpc.ToolHost)).ListTools(ctx, &toolhostv1.ListToolsRequest{})
		if err != nil && o.installation.Network.Remote {
			err = fmt.Errorf("list tools: %s", status.Convert(err).Message())
		}
		tools = response.GetTools()
		return err
	})
	return tools, err
}

// writeTools prints tools for programs.
func writeTools(w io.Writer, tools []*toolhostv1.ToolInfo) error {
	lines := make([]toolLine, len(tools))
	for i, info := range tools {
		lines[i] = toolLine{
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
	return report.JSON(w, lines)
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
