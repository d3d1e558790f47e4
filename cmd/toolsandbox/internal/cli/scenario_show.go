package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/describe"
)

func newScenarioShow() *cobra.Command {
	var from catalogue.Selection
	var asJSON, asProto bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Describe a scenario",
		Long: `show prints a scenario for people: its world, what its user wants and knows, its solution and its score. --json prints the
canonical toolsandbox.scenario.v1.Scenario, --proto its deterministic wire form. NAME may be a variant.`,
		Example: "  toolsandbox scenario show which_mateo\n  toolsandbox scenario show which_mateo_all_tools --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && asProto {
				return process.UsageErrorf("--json and --proto: both given, expected one")
			}
			subject, err := chosenSubject(cmd, &from, args)
			if err != nil {
				return err
			}
			switch w := cmd.OutOrStdout(); {
			case asJSON:
				return writeProtoJSON(w, subject.Scenario)
			case asProto:
				wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(subject.Scenario)
				if err != nil {
					return err
				}
				_, err = w.Write(wire)
				return err
			default:
				return describe.Write(w, *subject)
			}
		},
	}
	from.RegisterSourceFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print canonical protobuf JSON")
	cmd.Flags().BoolVar(&asProto, "proto", false, "print the deterministic wire form")
	return cmd
}

func newScenarioGraph() *cobra.Command {
	var from catalogue.Selection
	var format string
	var minefields bool
	cmd := &cobra.Command{
		Use:   "graph NAME",
		Short: "Draw the milestones of a scenario",
		Long: `graph draws the milestones of a scenario, or its minefields: an arrow leads from a node to each that must follow it. GitHub,
GitLab and many editors draw Mermaid, Graphviz draws DOT. show prints the same in words.`,
		Example: "  toolsandbox scenario graph which_mateo\n  toolsandbox scenario graph which_mateo --format dot | dot -Tsvg > which_mateo.svg",
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := map[string]func(*evaluationv1.Graph, *setupv1.Setup) string{"mermaid": describe.Mermaid, "dot": describe.DOT}[format]
			if !ok {
				return process.UsageErrorf("--format: %q given, expected mermaid or dot", format)
			}
			subject, err := chosenSubject(cmd, &from, args)
			if err != nil {
				return err
			}
			setup, evaluation := subject.Scenario.GetSetup(), subject.Scenario.GetEvaluation()
			graph, kind := evaluation.GetMilestones(), "milestones"
			if minefields {
				graph, kind = evaluation.GetMinefields(), "minefields"
			}
			if len(graph.GetNodes()) == 0 {
				return process.UsageErrorf("NAME: %s has no %s", setup.GetName(), kind)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), write(graph, setup))
			return err
		},
	}
	from.RegisterSourceFlags(cmd.Flags())
	cmd.Flags().StringVar(&format, "format", "mermaid", "mermaid or dot")
	cmd.Flags().BoolVar(&minefields, "minefields", false, "draw the minefields instead")
	return cmd
}

// chosenSubject returns the one scenario that the arguments name, with its position.
func chosenSubject(cmd *cobra.Command, c *catalogue.Selection, args []string) (*describe.Subject, error) {
	if len(args) != 1 {
		return nil, process.UsageErrorf("NAME: %d given, expected one scenario", len(args))
	}
	c.Variants = []string{catalogue.PlainVariant}
	scenarios, err := c.LoadExpanded(cmd.Context(), cmd.ErrOrStderr(), args)
	if err != nil {
		return nil, err
	}
	if len(scenarios) != 1 {
		return nil, process.UsageErrorf("NAME: %q names %d scenarios, expected one", args[0], len(scenarios))
	}
	subject := &describe.Subject{Scenario: scenarios[0].Scenario()}
	for _, name := range []string{scenarios[0].Base, scenarios[0].Name} {
		if written, ok := c.Bases[name]; ok { // the position of a variant is its base's
			subject.Position, subject.World, subject.Base = c.Positions[name], written.World, written.Base
		}
	}
	return subject, nil
}

// writeProtoJSON writes a message as indented JSON. The encoder's own spacing varies from build to
// build.
func writeProtoJSON(w io.Writer, message proto.Message) error {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return err
	}
	var compacted, out bytes.Buffer
	if err := json.Compact(&compacted, raw); err != nil {
		return err
	}
	if err := json.Indent(&out, compacted.Bytes(), "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = out.WriteTo(w)
	return err
}
