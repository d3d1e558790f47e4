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
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/process"
	pysource "github.com/toolsandbox/toolsandbox/internal/python/source"
	"github.com/toolsandbox/toolsandbox/internal/scenario"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenarios"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// testScenarios is the number of scenarios that --test-mode runs.
const testScenarios = 4

const (
	// PlainVariant is the variant of a scenario that is the scenario itself.
	PlainVariant = "plain"
	// AllVariants names the eight variants of the original. Other names of variants are suffixes of
	// scenarios' names.
	AllVariants = "all"
)

// Selection selects the scenarios of a command.
type Selection struct {
	// PackPaths are directories or .zip files; empty is the built-in catalogue.
	PackPaths []string
	builtin   bool
	patterns  []string
	// Variants are names of variants.
	Variants []string
	testMode bool
	split    string
	backend  string
	flags    *pflag.FlagSet
	// Places is the source position of each loaded scenario, by name.
	Places map[string]string
	// Written holds each loaded scenario in its written form, by name.
	Written map[string]scenario.Loaded
	// Servers are the addresses of tool servers, in place of those that packs name.
	Servers toolhost.ToolServers
	// Thaw asks tool servers for their tools even where the pack holds the list.
	Thaw bool
	// Loaded are the loaded packs.
	Loaded []Pack
}

// Pack is a pack with its path, or the name of a built-in one.
type Pack struct {
	From string
	*scenario.Pack
}

// RegisterSourceFlags registers the flags that name the sources of scenarios.
func (c *Selection) RegisterSourceFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.PackPaths, "pack", nil, "`directory`, .zip or .jsonl file that replaces the built-in scenarios, or euroeval or timer, which are built in; repeatable")
	flags.BoolVar(&c.builtin, "builtin", false, "use the built-in catalogue together with --pack")
}

// RegisterFlags registers all flags.
func (c *Selection) RegisterFlags(flags *pflag.FlagSet) {
	c.flags = flags
	c.RegisterSourceFlags(flags)
	flags.StringSliceVarP(&c.patterns, "scenarios", "s", nil, "`names` of scenarios, with * and ?; arguments add more (default: all)")
	flags.StringSliceVar(&c.Variants, "variants", []string{PlainVariant}, "variants of the tools: plain, all, or `suffixes` of names such as 3_distraction_tools")
	flags.StringVar(&c.split, "split", string(euroeval.SplitAll), "`part` of packs of records to play: all, or EuroEval's train, val or test")
	flags.StringVar(&c.backend, "preferred-tool-backend", scenario.DefaultBackend, "`backend` of tools with several implementations; other tools use their default")
	flags.BoolVarP(&c.testMode, "test-mode", "t", false, "run only a few scenarios")
}

// Load returns the selected scenarios by name. args are further patterns. It says on warnings which
// programs it starts to load packs, and what does not hold with them.
func (c *Selection) Load(ctx context.Context, warnings io.Writer, args []string) ([]*scenariov1.Scenario, error) {
	chosen, err := c.LoadExpanded(ctx, warnings, args)
	if err != nil {
		return nil, err
	}
	out := make([]*scenariov1.Scenario, len(chosen))
	for i := range chosen {
		out[i] = chosen[i].Scenario()
	}
	return out, nil
}

// LoadExpanded returns the selected scenarios by name, with their bases. args are further patterns.
func (c *Selection) LoadExpanded(ctx context.Context, warnings io.Writer, args []string) ([]scenario.Expanded, error) {
	all, err := c.Expanded(ctx, warnings)
	if err != nil {
		return nil, err
	}
	return c.choose(all, slices.Concat(c.patterns, args))
}

// unknown returns the error for a pattern without a match, with advice.
func (c *Selection) unknown(pattern string, all []scenario.Expanded) error {
	if isOriginal(pattern) {
		return process.Usage("--scenarios: %q is a scenario of the original, not of %s: import it with toolsandbox scenario import FILE --out DIR, then give --pack DIR (see README.md)",
			pattern, c.From())
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if near := spelling.Nearest(pattern, names, 2); near != "" {
		return process.Usage("--scenarios: no scenario is called %q; did you mean %q?", pattern, near)
	}
	return process.Usage("--scenarios: no scenario is called %q: see toolsandbox scenario list", pattern)
}

// Everything returns all variants of all scenarios, by name.
func (c *Selection) Everything(ctx context.Context, warnings io.Writer) (map[string]*scenariov1.Scenario, error) {
	all, err := c.Expanded(ctx, warnings)
	if err != nil {
		return nil, err
	}
	index := make(map[string]*scenariov1.Scenario, len(all))
	for i := range all {
		index[all[i].Name] = all[i].Scenario()
	}
	return index, nil
}

// Expanded returns all variants of all scenarios.
func (c *Selection) Expanded(ctx context.Context, warnings io.Writer) ([]scenario.Expanded, error) {
	defer sparingly()()
	bases, err := c.bases(ctx, warnings)
	if err != nil {
		return nil, err
	}
	return scenario.Expand(bases, toolhost.ConfirmedTools()), nil
}

// bases returns the written scenarios, without variants.
func (c *Selection) bases(ctx context.Context, warnings io.Writer) ([]*scenariov1.Scenario, error) {
	packs, err := c.Packs(ctx, warnings)
	if err != nil {
		return nil, err
	}
	var all []*scenariov1.Scenario
	for _, pack := range packs {
		for _, loaded := range pack.Scenarios {
			all = append(all, loaded.Scenario)
		}
	}
	if len(all) == 0 && c.split != "" && c.split != string(euroeval.SplitAll) {
		return nil, process.Usage("--split: no record of %s is in %s: docs/euroeval.md explains the splits", c.From(), c.split)
	}
	if len(all) == 0 {
		return nil, process.Usage("no scenario in %s", c.From())
	}
	return all, nil
}

// source is a source of scenarios.
type source struct {
	files fs.FS
	// path is the prefix of positions in its files.
	path string
	// records is set if the source holds records of EuroEval's task, and no files of scenarios.
	records bool
	// only is the one file of records to read; empty reads all.
	only string
}

// sources returns the packs that the flags name, or the built-in catalogue.
func (c *Selection) sources() ([]source, error) {
	var out []source
	if c.builtin || len(c.PackPaths) == 0 {
		out = append(out, source{files: scenarios.FS, path: "scenarios"})
	}
	for _, name := range c.PackPaths {
		from, err := open(name)
		if err != nil {
			return nil, process.Usage("--pack: %w", err)
		}
		out = append(out, from)
	}
	return out, nil
}

// loadMemory is the memory limit for loading packs, in bytes. Reading makes much more garbage than
// it keeps; the limit only makes the collector run more often.
const loadMemory = 224 << 20

// sparingly sets that limit until done is called.
func sparingly() (done func()) {
	limit := debug.SetMemoryLimit(-1) // asks for it
	debug.SetMemoryLimit(min(limit, loadMemory))
	return func() { debug.SetMemoryLimit(limit) }
}

// Packs loads all sources; the names of their scenarios are unique. It says on warnings which
// programs it starts, and what does not hold with them.
func (c *Selection) Packs(ctx context.Context, warnings io.Writer) ([]Pack, error) {
	defer sparingly()()
	sources, err := c.sources()
	if err != nil {
		return nil, err
	}
	if err := c.checkSplit(sources); err != nil {
		return nil, err
	}
	opts, err := scenario.OptionsFor(toolhost.Tools())
	if err != nil {
		return nil, err
	}
	opts.Compile, opts.Confirm, opts.Measures = compile, toolhost.ConfirmedTools(), measures
	if opts.Backend, err = c.preferred(); err != nil {
		return nil, err
	}
	var packs []Pack
	var mistakes scenario.Errors
	c.Places, c.Written = make(map[string]string), make(map[string]scenario.Loaded)
	for _, from := range sources {
		opts.ListTools, opts.RefreshTools = c.listTools(ctx, warnings, from.path), c.Thaw
		pack, err := c.load(from, opts)
		var wrong scenario.Errors
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("load %s: %w", from.path, context.Cause(ctx))
		case errors.As(err, &wrong):
			mistakes = append(mistakes, wrong.WithPrefix(from.path)...)
			continue
		case err != nil:
			return nil, fmt.Errorf("load %s: %w", from.path, err)
		}
		for _, loaded := range pack.Scenarios {
			name, at := loaded.Scenario.GetSetup().GetName(), loaded.Position
			file := path.Join(from.path, at.File)
			if other, taken := c.Places[name]; taken {
				mistakes = append(mistakes, &scenario.Error{File: file, Line: at.Line, Column: at.Column, Field: name,
					Reason: fmt.Sprintf("another scenario at %[2]s has the name %[1]q; names must be unique", name, other)})
			}
			c.Written[name] = loaded
			c.Places[name] = fmt.Sprintf("%s:%d:%d", file, at.Line, at.Column)
		}
		packs = append(packs, Pack{from.path, pack})
		for _, server := range pack.Servers {
			if err := warnOfState(warnings, from.path, server); err != nil {
				return nil, err
			}
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	if opts.Backend != scenario.DefaultBackend && !slices.ContainsFunc(packs, func(p Pack) bool { return slices.Contains(p.Backends, opts.Backend) }) {
		return nil, process.Usage("--preferred-tool-backend: %s given, but no tool in %s has that @backend; expected DEFAULT or a tool's @backend", opts.Backend, c.From())
	}
	c.Loaded = packs
	return packs, nil
}

// preferred returns the preferred backend; it also accepts the original's spelling.
func (c *Selection) preferred() (string, error) {
	name := strings.ToUpper(strings.TrimPrefix(cmp.Or(c.backend, scenario.DefaultBackend), "ToolBackend."))
	if strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') }) {
		return "", process.Usage("--preferred-tool-backend: %q given, expected letters, digits and underscores", c.backend)
	}
	return name, nil
}

// compile compiles a pack's own tools.
func compile(setup *setupv1.Setup) ([]*toolhostv1.ToolInfo, []*setupv1.ConfirmedTool, scenario.Errors) {
	tools, confirm, wrong := toolhost.PackTools(setup)
	return tools, confirm, errorsOf(wrong)
}

// errorsOf returns mistakes in a pack's functions as those of its other files.
func errorsOf(mistakes pysource.Mistakes) scenario.Errors {
	list := make(scenario.Errors, len(mistakes))
	for i, m := range mistakes {
		list[i] = &scenario.Error{File: m.File, Line: m.Line, Column: m.Column, Field: m.Function, Reason: m.Reason}
	}
	return list
}

// Schema returns the tables of all sources, and the categories that they declare.
func (c *Selection) Schema() (*world.Schema, []string, error) {
	sources, err := c.sources()
	if err != nil {
		return nil, nil, err
	}
	var categories []string
	var declared []*worldv1.TableSchema
	alone := true // all packs are standalone
	for _, from := range sources {
		if from.records {
			alone = false
			continue
		}
		tables, own, err := scenario.LoadSchema(from.files)
		if err != nil {
			return nil, nil, fmt.Errorf("load %s: %w", from.path, err)
		}
		categories = append(categories, own...)
		if len(tables) > 0 && tables[0].GetName() == world.Sandbox {
			tables = tables[1:]
		} else {
			alone = false
		}
		declared = append(declared, tables...)
	}
	if alone {
		declared = slices.Insert(declared, 0, world.Standalone())
	}
	schema, err := world.NewSchema(declared)
	return schema, categories, err
}

// From describes the sources of scenarios.
func (c *Selection) From() string {
	names := slices.Clone(c.PackPaths)
	if c.builtin || len(names) == 0 {
		names = append(names, "the built-in catalogue")
	}
	return strings.Join(names, ", ")
}

// wanted returns the selected suffixes of variants.
func (c *Selection) wanted() (func(suffix string) bool, error) {
	chosen := make(map[string]bool)
	known := []string{PlainVariant, AllVariants}
	suffixes := map[string]string{PlainVariant: ""}
	for _, v := range append(scenario.AllVariants()[1:], scenario.Variant{Suffix: scenario.ConfirmationSuffix}) {
		name := strings.TrimPrefix(v.Suffix, "_")
		known = append(known, name)
		suffixes[name] = v.Suffix
	}
	for _, name := range c.Variants {
		suffix, ok := suffixes[strings.TrimPrefix(name, "_")]
		switch {
		case name == AllVariants:
			for _, v := range scenario.AllVariants() {
				chosen[v.Suffix] = true
			}
			continue
		case !ok:
			return nil, process.Usage("--variants: unknown variant %q; expected one of %s", name, strings.Join(known, ", "))
		}
		chosen[suffix] = true
	}
	return func(suffix string) bool { return chosen[suffix] }, nil
}

// choose returns the selected variants of the scenarios that match any pattern. Every pattern must
// match something. A pattern without a match may name other variants.
func (c *Selection) choose(all []scenario.Expanded, patterns []string) ([]scenario.Expanded, error) {
	wanted, err := c.wanted()
	if err != nil {
		return nil, err
	}
	if len(patterns) == 0 && c.flags != nil && c.flags.Changed("scenarios") {
		return nil, process.Usage("--scenarios: empty, expected names of scenarios, with * and ?")
	}
	if c.testMode && len(patterns) > 0 {
		return nil, process.Usage("--test-mode: given with --scenarios %s: give one of them", patterns[0])
	}
	taken := make([]bool, len(all))
	take := func(wants func(*scenario.Expanded) bool) (found bool) {
		for i := range all {
			if wants(&all[i]) {
				taken[i], found = true, true
			}
		}
		return found
	}
	if len(patterns) == 0 {
		take(func(e *scenario.Expanded) bool { return wanted(e.Suffix) })
	}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, process.Usage("--scenarios: pattern %q: %w", pattern, err)
		}
		matches := func(name string) bool { matched, err := path.Match(pattern, name); return err == nil && matched }
		found := take(func(e *scenario.Expanded) bool {
			return wanted(e.Suffix) && (matches(e.Base) || matches(e.Name))
		}) || take(func(e *scenario.Expanded) bool { return matches(e.Name) && !(e.HasVariants && e.Suffix == "") })
		switch {
		case found:
		case slices.ContainsFunc(all, func(e scenario.Expanded) bool { return matches(e.Name) }):
			return nil, process.Usage("--variants: %q has no variant %s: see docs/confirmation.md", pattern, strings.Join(c.Variants, ", "))
		default:
			return nil, c.unknown(pattern, all)
		}
	}
	var chosen []scenario.Expanded
	for i := range all {
		if taken[i] {
			chosen = append(chosen, all[i])
		}
	}
	if c.testMode {
		chosen = chosen[:min(testScenarios, len(chosen))]
	}
	return chosen, nil
}
