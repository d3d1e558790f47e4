// Package catalogue loads the scenarios of a command, from packs or the built-in catalogue.
package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/packs"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	pysource "github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// testScenarios is the number of scenarios that --test-mode runs of a pack without the original's.
const testScenarios = 4

const (
	// PlainVariant selects the scenario without a variant.
	PlainVariant = scenario.PlainVariant
	// AllVariants selects the eight variants of the original. Other names of variants are suffixes of
	// scenarios' names.
	AllVariants = "all"
)

// Selection selects the scenarios of a command.
type Selection struct {
	// PackPaths are directories, .zip, .json and .jsonl files, or names of built-in packs. Empty means
	// the built-in catalogue.
	PackPaths []string
	// Argument names PackPaths in messages; empty means --pack.
	Argument string
	builtin  bool
	patterns []string
	// Variants are names of variants.
	Variants []string
	narrowing
	ablation
	testMode bool
	// exact is set if patterns match only whole names, and no names of bases.
	exact bool
	split string
	// languages are those of the records to play, empty for all. found are those of the sources.
	languages, found []string
	backend          string
	flags            *pflag.FlagSet
	// skip is Skip of pack.Options.
	skip func(name string) bool
	// Positions is the source position of each loaded scenario, by name.
	Positions map[string]string
	// Bases holds each loaded scenario without variants, by name.
	Bases map[string]pack.Loaded
	// Servers are the targets of tool servers that replace those of packs, by name.
	Servers toolhost.ToolServers
	// Whole reads all scenarios of a pack, also those that are not selected.
	Whole bool
	// RefreshTools lists the tools of tool servers even if the pack contains the list.
	RefreshTools bool
	// LoadedPacks are the loaded packs.
	LoadedPacks []Pack
}

// Pack is a pack with its path, or the name of a built-in one.
type Pack struct {
	Path string
	*pack.Pack
}

// RegisterSourceFlags registers the flags of the sources of scenarios.
func (c *Selection) RegisterSourceFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.PackPaths, "pack", nil, "`directory`, .zip or .jsonl file that replaces the built-in scenarios, or euroeval or timer, which are built in; repeatable")
	flags.BoolVar(&c.builtin, "builtin", false, "use the built-in catalogue together with --pack")
	flagrule.Needs(flags, "pack", "builtin")
}

// RegisterAblationFlags registers the flags that change what players are told and see, for a
// command whose players heed that.
func (c *Selection) RegisterAblationFlags(flags *pflag.FlagSet) { c.ablation.register(flags) }

// RegisterFlags registers the flags that select scenarios.
func (c *Selection) RegisterFlags(flags *pflag.FlagSet) {
	c.flags = flags
	c.RegisterSourceFlags(flags)
	flags.StringSliceVarP(&c.patterns, "scenarios", "s", nil, "`names` of scenarios, with * and ?; arguments add more (default: all)")
	flags.StringSliceVar(&c.Variants, "variants", []string{PlainVariant}, "variants of the tools: plain, all, or `suffixes` of names such as 3_distraction_tools")
	c.narrowing.register(flags)
	flags.StringVar(&c.split, "split", string(euroeval.SplitAll), "`part` of packs of records to play: all, or EuroEval's train, val or test")
	flags.StringSliceVar(&c.languages, "language", nil, "`codes` of the languages of records to play, e.g. de,fr (default: all)")
	flags.StringVar(&c.backend, "preferred-tool-backend", pack.DefaultBackend, "`backend` of tools with several implementations; other tools use their default")
	flags.BoolVarP(&c.testMode, "test-mode", "t", false, fmt.Sprintf("run only the original's %d test scenarios, in other packs the first %d", len(originalTests()), testScenarios))
}

// Load returns the selected scenarios, sorted by name. args are further patterns. It writes
// warnings about started programs and about restrictions of tool servers with state.
func (c *Selection) Load(ctx context.Context, warnings io.Writer, args []string) ([]*scenariov1.Scenario, error) {
	selected, err := c.LoadExpanded(ctx, warnings, args)
	if err != nil {
		return nil, err
	}
	out := make([]*scenariov1.Scenario, len(selected))
	for i := range selected {
		out[i] = selected[i].Scenario()
	}
	return out, c.ablation.apply(out)
}

// LoadExpanded is Load with the scenarios' bases.
func (c *Selection) LoadExpanded(ctx context.Context, warnings io.Writer, args []string) (selected []scenario.Expanded, err error) {
	patterns := slices.Concat(c.patterns, args)
	err = c.skipOthers(patterns, func() error {
		all, err := c.Expanded(ctx, warnings)
		if err == nil {
			all, err = c.filter(all, patterns)
		}
		if err == nil {
			selected, err = c.narrowing.apply(all)
		}
		return err
	})
	return selected, err
}

// unknownError returns the error for a pattern without a match.
func (c *Selection) unknownError(pattern string, all []scenario.Expanded) error {
	if isOriginal(pattern) {
		return process.UsageErrorf("--scenarios: %q is a scenario of the original, not of %s: import it with toolsandbox scenario import FILE --out DIR, then give --pack DIR (see docs/moving.md)",
			pattern, c.SourceNames())
	}
	if opensAsPack(pattern) {
		return process.UsageErrorf("--scenarios: no scenario is called %q; did you mean --pack %s?", pattern, report.ShellWord(pattern))
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if nearest := spelling.Nearest(pattern, names, 2); nearest != "" {
		return process.UsageErrorf("--scenarios: no scenario is called %q; did you mean %q?", pattern, nearest)
	}
	return process.UsageErrorf("--scenarios: no scenario is called %q: see toolsandbox scenario list", pattern)
}

// ExpandedByName returns all variants of all scenarios, by name. With names it may leave out
// others.
func (c *Selection) ExpandedByName(ctx context.Context, warnings io.Writer, names ...string) (map[string]*scenariov1.Scenario, error) {
	index := make(map[string]*scenariov1.Scenario)
	return index, c.skipOthers(names, func() error {
		all, err := c.Expanded(ctx, warnings)
		for i := range all {
			index[all[i].Name] = all[i].Scenario()
		}
		return err
	})
}

// Expanded returns all variants of all scenarios.
func (c *Selection) Expanded(ctx context.Context, warnings io.Writer) ([]scenario.Expanded, error) {
	defer process.LimitLoading()()
	bases, err := c.bases(ctx, warnings)
	if err != nil {
		return nil, err
	}
	return scenario.Expand(bases, toolhost.ConsentTools()), nil
}

// bases returns the scenarios without variants.
func (c *Selection) bases(ctx context.Context, warnings io.Writer) ([]*scenariov1.Scenario, error) {
	packs, err := c.Packs(ctx, warnings)
	if err != nil {
		return nil, err
	}
	var all []*scenariov1.Scenario
	for _, p := range packs {
		for _, loaded := range p.Scenarios {
			all = append(all, loaded.Scenario)
		}
	}
	if len(all) == 0 && c.split != "" && c.split != string(euroeval.SplitAll) {
		return nil, process.UsageErrorf("--split: no record of %s is in %s: docs/euroeval.md explains the splits", c.SourceNames(), c.split)
	}
	if len(all) == 0 {
		return nil, c.NoScenario()
	}
	return all, nil
}

// source is a source of scenarios.
type source struct {
	files fs.FS
	// path is the prefix of positions in its files.
	path string
	// records is set if the source holds records of EuroEval's task instead of scenarios.
	records bool
	// file is the only file of records to read. Empty means all.
	file string
}

// sources returns the packs of the flags, or the built-in catalogue.
func (c *Selection) sources() ([]source, error) {
	var out []source
	if c.builtin || len(c.PackPaths) == 0 {
		from, err := openSource(packs.Phone)
		if err != nil {
			return nil, err
		}
		out = append(out, from)
	}
	for _, name := range c.PackPaths {
		from, err := openSource(name)
		if err != nil {
			return nil, process.UsageErrorf("%s: %w", cmp.Or(c.Argument, "--pack"), err)
		}
		out = append(out, from)
	}
	return out, nil
}

// Packs loads all sources. The names of their scenarios are unique. It writes warnings as Load
// does.
func (c *Selection) Packs(ctx context.Context, warnings io.Writer) ([]Pack, error) {
	defer process.LimitLoading()()
	sources, err := c.sources()
	if err != nil {
		return nil, err
	}
	if err := c.checkSplit(sources); err != nil {
		return nil, err
	}
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	var packs []Pack
	var mistakes document.Errors
	c.Positions, c.Bases, c.found = make(map[string]string), make(map[string]pack.Loaded), nil
	for _, from := range sources {
		opts.ListTools = c.listTools(ctx, warnings, from.path)
		p, err := c.load(from, opts)
		var wrong document.Errors
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("load %s: %w", from.path, context.Cause(ctx))
		case errors.As(err, &wrong):
			mistakes = append(mistakes, wrong.WithPrefix(from.path)...)
			continue
		case err != nil:
			return nil, fmt.Errorf("load %s: %w", from.path, err)
		}
		for _, loaded := range p.Scenarios {
			name, position := loaded.Scenario.GetSetup().GetName(), loaded.Position
			file := path.Join(from.path, position.File)
			if other, taken := c.Positions[name]; taken {
				mistakes = append(mistakes, &document.Error{File: file, Line: position.Line, Column: position.Column, Field: name,
					Reason: fmt.Sprintf("another scenario at %[2]s has the name %[1]q; names must be unique", name, other)})
			}
			c.Bases[name] = loaded
			c.Positions[name] = fmt.Sprintf("%s:%d:%d", file, position.Line, position.Column)
		}
		packs = append(packs, Pack{from.path, p})
		for _, server := range p.Servers {
			if err := warnState(warnings, from.path, server); err != nil {
				return nil, err
			}
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	if err := CheckLanguages(c.languages, c.found); err != nil {
		return nil, err
	}
	if opts.Backend != pack.DefaultBackend && !slices.ContainsFunc(packs, func(p Pack) bool { return slices.Contains(p.Backends, opts.Backend) }) {
		return nil, process.UsageErrorf("--preferred-tool-backend: %s given, but no tool in %s has that @backend; expected DEFAULT or a tool's @backend", opts.Backend, c.SourceNames())
	}
	c.LoadedPacks = packs
	return packs, nil
}

// options returns the options of loading, without a way to list tools.
func (c *Selection) options() (opts pack.Options, err error) {
	opts.RefreshTools, opts.Skip = c.RefreshTools, c.skip
	if opts.Options, err = scenario.OptionsFor(toolhost.Tools()); err != nil {
		return opts, err
	}
	opts.Compile, opts.ConsentTools = compileTools, toolhost.ConsentTools()
	opts.Backend, err = c.preferredBackend()
	return opts, err
}

// preferredBackend returns the preferred backend. It also accepts the original's spelling.
func (c *Selection) preferredBackend() (string, error) {
	name := strings.ToUpper(strings.TrimPrefix(cmp.Or(c.backend, pack.DefaultBackend), "ToolBackend."))
	if strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') }) {
		return "", process.UsageErrorf("--preferred-tool-backend: %q given, expected letters, digits and underscores", c.backend)
	}
	return name, nil
}

// compileTools compiles a pack's tools.
func compileTools(setup *setupv1.Setup) ([]*toolhostv1.ToolInfo, []*setupv1.ConsentTool, document.Errors) {
	tools, confirm, wrong := toolhost.PackTools(setup)
	return tools, confirm, convertMistakes(wrong)
}

// convertMistakes converts mistakes in a pack's functions.
func convertMistakes(mistakes pysource.Mistakes) document.Errors {
	list := make(document.Errors, len(mistakes))
	for i, m := range mistakes {
		list[i] = &document.Error{File: m.File, Line: m.Line, Column: m.Column, Field: m.Function, Reason: m.Reason}
	}
	return list
}

// Schema returns the tables and the categories of all sources.
func (c *Selection) Schema() (*world.Schema, []string, error) {
	sources, err := c.sources()
	if err != nil {
		return nil, nil, err
	}
	var categories []string
	var declared []*worldv1.TableSchema
	standalone := true // all packs are standalone
	for _, from := range sources {
		if from.records {
			standalone = false
			continue
		}
		tables, packCategories, err := pack.LoadSchema(from.files)
		if err != nil {
			return nil, nil, fmt.Errorf("load %s: %w", from.path, err)
		}
		categories = append(categories, packCategories...)
		if len(tables) > 0 && tables[0].GetName() == world.Sandbox {
			tables = tables[1:]
		} else {
			standalone = false
		}
		declared = append(declared, tables...)
	}
	if standalone {
		declared = slices.Insert(declared, 0, world.StandaloneMarker())
	}
	schema, err := world.NewSchema(declared)
	return schema, categories, err
}

// SourceNames describes the sources of scenarios for messages.
func (c *Selection) SourceNames() string {
	names := slices.Clone(c.PackPaths)
	if c.builtin || len(names) == 0 {
		names = append(names, "the built-in catalogue")
	}
	return strings.Join(names, ", ")
}

// NoScenario returns the error of sources without a scenario.
func (c *Selection) NoScenario() error {
	return process.UsageErrorf("no scenario in %s", c.SourceNames())
}

// VariantNames returns the names that select variants.
func VariantNames() []string {
	names := []string{PlainVariant, AllVariants}
	for _, v := range suffixedVariants() {
		names = append(names, strings.TrimPrefix(v.Suffix, "_"))
	}
	return names
}

// suffixedVariants returns the variants besides the plain one.
func suffixedVariants() []scenario.Variant {
	return append(scenario.NamedVariants()[1:], scenario.Variant{Suffix: scenario.ConfirmationSuffix})
}

// suffixFilter returns a predicate for the suffixes of the selected variants.
func (c *Selection) suffixFilter() (func(suffix string) bool, error) {
	selected := make(map[string]bool)
	suffixes := map[string]string{PlainVariant: ""}
	for _, v := range suffixedVariants() {
		suffixes[strings.TrimPrefix(v.Suffix, "_")] = v.Suffix
	}
	for _, name := range c.Variants {
		suffix, ok := suffixes[strings.TrimPrefix(name, "_")]
		switch {
		case name == AllVariants:
			for _, v := range scenario.AllVariants() {
				selected[v.Suffix] = true
			}
			continue
		case !ok:
			return nil, process.UsageErrorf("--variants: unknown variant %q; expected one of %s", name, strings.Join(VariantNames(), ", "))
		}
		selected[suffix] = true
	}
	return func(suffix string) bool { return selected[suffix] }, nil
}

// rejectEmpty rejects an empty list of the command line, such as that of a shell's unset variable:
// it would select more than was meant.
func (c *Selection) rejectEmpty(patterns []string) error {
	for _, list := range []struct {
		name, expected string
		values         []string
	}{
		{"scenarios", "names of scenarios, with * and ?", patterns}, {"exclude", "names of scenarios, with * and ?", c.excluded},
		{"variants", "names of variants", c.Variants}, {"category", "names of categories", c.categories}, {"language", "codes of languages", c.languages},
	} {
		if len(list.values) == 0 && c.flags != nil && c.flags.Changed(list.name) {
			return process.UsageErrorf("--%s: empty, expected %s", list.name, list.expected)
		}
	}
	return nil
}

// filter returns the selected variants of the scenarios that match any pattern. Every pattern must
// match a scenario. A pattern that matches no selected variant may name another one.
func (c *Selection) filter(all []scenario.Expanded, patterns []string) ([]scenario.Expanded, error) {
	if err := c.rejectEmpty(patterns); err != nil {
		return nil, err
	}
	hasSuffix, err := c.suffixFilter()
	if err != nil {
		return nil, err
	}
	if c.testMode && len(patterns) > 0 {
		return nil, process.UsageErrorf("--test-mode: given with --scenarios %s: give one of them", patterns[0])
	}
	selected := make([]bool, len(all))
	selectIf := func(wants func(*scenario.Expanded) bool) (found bool) {
		for i := range all {
			if wants(&all[i]) {
				selected[i], found = true, true
			}
		}
		return found
	}
	isTest := func(e *scenario.Expanded) bool { return slices.Contains(originalTests(), e.Name) }
	if len(patterns) == 0 && !(c.testMode && selectIf(isTest)) {
		selectIf(func(e *scenario.Expanded) bool { return hasSuffix(e.Suffix) })
	}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, process.UsageErrorf("--scenarios: pattern %q: %w", pattern, err)
		}
		matches := func(name string) bool { matched, err := path.Match(pattern, name); return err == nil && matched }
		found := selectIf(func(e *scenario.Expanded) bool {
			return hasSuffix(e.Suffix) && (!c.exact && matches(e.Base) || matches(e.Name))
		}) || selectIf(func(e *scenario.Expanded) bool { return matches(e.Name) && !(e.HasVariants && e.Suffix == "") })
		switch {
		case found:
		case slices.ContainsFunc(all, func(e scenario.Expanded) bool { return matches(e.Name) }):
			return nil, process.UsageErrorf("--variants: %q has no variant %s: see docs/scenarios.md", pattern, strings.Join(c.Variants, ", "))
		default:
			return nil, c.unknownError(pattern, all)
		}
	}
	var matching []scenario.Expanded
	for i := range all {
		if selected[i] {
			matching = append(matching, all[i])
		}
	}
	if len(matching) == 0 {
		return nil, process.UsageErrorf("--variants: no scenario in %s has the variant %s: see docs/scenarios.md", c.SourceNames(), strings.Join(c.Variants, ", "))
	}
	if c.testMode {
		matching = matching[:min(testScenarios, len(matching))]
	}
	return matching, nil
}
