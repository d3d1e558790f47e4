package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/internal/process"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/describe"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/view"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

func newPack() *cobra.Command {
	cmd := &cobra.Command{Use: "pack", Short: "Write, check and describe packs of tables, tools and scenarios"}
	asGroup(cmd)
	cmd.AddCommand(newPackNew(), newPackValidate(), newPackShow(), newPackProve(), newPackDocs(), newPackFreeze())
	return cmd
}

func newPackNew() *cobra.Command {
	return &cobra.Command{
		Use:   "new DIR",
		Short: "Write a new pack as a starting point",
		Long: `new writes a pack that you can play and prove at once: a table, tools in Python, a world, two scenarios, and schema.json, with
which editors complete and check the YAML files. It prints their names. DIR must be new or empty and names the pack.`,
		Example: "  toolsandbox pack new library\n  toolsandbox run --agent oracle --pack library --out out",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return process.UsageErrorf("DIR: %d given, expected the directory of the new pack", len(args))
			}
			written, err := pack.WriteTemplate(args[0])
			if errors.Is(err, fs.ErrExist) || errors.Is(err, pack.ErrName) {
				return process.UsageErrorf("DIR: %w", err)
			}
			if err != nil {
				return err
			}
			for _, name := range written {
				if err := printf(cmd.OutOrStdout(), "%s", filepath.Join(args[0], name)); err != nil {
					return err
				}
			}
			return printf(cmd.ErrOrStderr(), "play it: toolsandbox run --agent oracle --pack %s --out out", report.ShellWord(args[0]))
		},
	}
}

func newPackValidate() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate PACK...",
		Short: "Check packs",
		Long: `validate checks packs without playing: tables, tools, worlds, scenarios, recordings. It prints every problem as
file:line:column: field: what is wrong. scenario validate --pack does the same.`,
		Example: "  toolsandbox pack validate library",
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := packsOf(args)
			if err != nil {
				return err
			}
			return validate(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), from, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newPackShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show PACK",
		Short: "Describe a pack",
		Long: `show prints a pack's version and licence, the digest of its files, which a run records, its needs, tables, tools and
scenarios. A directory and a .zip file of it have the same digest.`,
		Example: "  toolsandbox pack show library\n  toolsandbox pack show library --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			described, err := onePack(cmd, args)
			switch {
			case err != nil:
				return err
			case asJSON:
				return report.JSON(cmd.OutOrStdout(), described)
			default:
				return describe.WritePack(cmd.OutOrStdout(), described)
			}
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newPackDocs() *cobra.Command {
	html, proofs := "", false
	cmd := &cobra.Command{
		Use:   "docs PACK",
		Short: "Print the documentation of a pack",
		Long: `docs prints a Markdown page for the users of a pack: its tables, its tools with their arguments, and its scenarios. --html writes
pages for its authors, with milestones.`,
		Example: "  toolsandbox pack docs library > library.md\n  toolsandbox pack docs library --html pages",
		RunE: func(cmd *cobra.Command, args []string) error {
			described, err := onePack(cmd, args)
			if err != nil {
				return err
			}
			if html == "" {
				return describe.PackPage(cmd.OutOrStdout(), described)
			}
			scenarios := catalogue.Selection{PackPaths: args, Argument: "PACK"}
			return view.WritePack(cmd.Context(), html, described, func(ctx context.Context) (map[string]*scenariov1.Scenario, error) {
				return scenarios.ExpandedByName(ctx, cmd.ErrOrStderr())
			}, proofs, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&html, "html", "", "write pages to a new `directory` instead (default: none)")
	cmd.Flags().BoolVar(&proofs, "proofs", false, "with --html: play the proofs of the scenarios and write them too")
	flagrule.Needs(cmd.Flags(), "html", "proofs")
	return cmd
}

func newPackFreeze() *cobra.Command {
	return &cobra.Command{
		Use:   "freeze PACK",
		Short: "Store the tool lists of a pack's servers in the pack",
		Long: `freeze asks the tool servers of a pack for their tools and writes the lists to tools/NAME.json in the pack. The pack then loads
without its servers, and its tools change only when freeze is run again.`,
		Example: "  toolsandbox pack freeze shop",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return process.UsageErrorf("PACK: %d given, expected one directory", len(args))
			}
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return process.UsageErrorf("PACK: %s is no directory, expected one that can be written to", args[0])
			}
			from := &catalogue.Selection{PackPaths: args, Argument: "PACK", RefreshTools: true}
			packs, err := from.Packs(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			written, err := packs[0].Freeze()
			for _, name := range written {
				if err := printf(cmd.OutOrStdout(), "%s", name); err != nil {
					return err
				}
			}
			if err == nil && len(written) == 0 {
				err = fmt.Errorf("%s has no tool servers: see tools in its pack.yaml", args[0])
			}
			return err
		},
	}
}

func newPackProve() *cobra.Command {
	options := &proveOptions{parallel: defaultProofs}
	cmd := &cobra.Command{
		Use:     "prove PACK [NAME...]",
		Short:   "Prove the scenarios of a pack by playing them",
		Long:    `prove runs scenario prove on all scenarios of a pack, or on those that match NAMEs, with * and ?.`,
		Example: "  toolsandbox pack prove library\n  toolsandbox pack prove library 'return_*' --verbose",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return process.UsageErrorf("PACK: missing, expected a directory or a .zip file")
			}
			options.from.PackPaths, options.from.Argument = args[:1], "PACK"
			options.from.Variants = []string{catalogue.PlainVariant}
			return options.run(cmd.Context(), args[1:], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.register(cmd.Flags())
	return cmd
}

// packsOf selects the packs that the arguments name.
func packsOf(args []string) (*catalogue.Selection, error) {
	if len(args) == 0 {
		return nil, process.UsageErrorf("PACK: missing, expected a directory or a .zip file")
	}
	return &catalogue.Selection{PackPaths: args, Argument: "PACK"}, nil
}

// onePack describes the pack that the arguments name.
func onePack(cmd *cobra.Command, args []string) (*describe.Pack, error) {
	if len(args) > 1 {
		return nil, process.UsageErrorf("PACK: %d given, expected one directory or .zip file", len(args))
	}
	from, err := packsOf(args)
	if err != nil {
		return nil, err
	}
	packs, err := from.Packs(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	tools, confirm := packs[0].Tools()
	return describe.OfPack(packs[0].Pack, tools, confirm), nil
}
