package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/runs/describe"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
)

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
		return report.JSON(stdout, describe.ToolLines(tools))
	case o.asMarkdown:
		return describe.ToolsPage(stdout, tools)
	default:
		return describe.WriteTools(stdout, tools)
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
