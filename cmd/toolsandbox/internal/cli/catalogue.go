package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/scenario"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/scenarios"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// testScenarios is how many scenarios --test-mode runs.
const testScenarios = 4

// catalogue says which scenarios a command works on.
type catalogue struct {
	dir      string
	patterns []string
	testMode bool
}

func (c *catalogue) register(flags *pflag.FlagSet) {
	flags.StringVar(&c.dir, "scenario-dir", "", "directory of scenarios to use instead of the built-in catalogue")
	flags.StringSliceVarP(&c.patterns, "scenarios", "s", nil, "names of scenarios, with * and ?; more may follow as arguments; default all")
	flags.BoolVarP(&c.testMode, "test-mode", "t", false, "run a few scenarios only")
}

// load returns the chosen scenarios by name. args are further patterns.
func (c *catalogue) load(args []string) ([]*scenariov1.Scenario, error) {
	var fsys fs.FS = scenarios.FS
	prefix := "scenarios/"
	if c.dir != "" {
		info, err := os.Stat(c.dir)
		if err != nil {
			return nil, launch.Usage("--scenario-dir: %w", err)
		}
		if !info.IsDir() {
			return nil, launch.Usage("--scenario-dir: %s is no directory", c.dir)
		}
		fsys, prefix = os.DirFS(c.dir), strings.TrimSuffix(c.dir, "/")+"/"
	}
	known := make(map[string]bool)
	names := toolhost.ToolNames()
	for _, name := range names {
		known[name] = true
	}
	loaded, err := scenario.Load(fsys, scenario.Options{Known: func(tool string) bool { return known[tool] }, Tools: names})
	var mistakes scenario.Errors
	if errors.As(err, &mistakes) {
		for _, mistake := range mistakes {
			mistake.File = prefix + mistake.File
		}
		return nil, mistakes
	}
	if err != nil {
		return nil, fmt.Errorf("load scenarios: %w", err)
	}
	all := make([]*scenariov1.Scenario, len(loaded))
	for i := range loaded {
		all[i] = loaded[i].Scenario
	}
	if len(all) == 0 {
		return nil, launch.Usage("no scenario in %s", strings.TrimSuffix(prefix, "/"))
	}
	return c.choose(all, slices.Concat(c.patterns, args))
}

// choose returns the scenarios that match any pattern; every pattern must match something.
func (c *catalogue) choose(all []*scenariov1.Scenario, patterns []string) ([]*scenariov1.Scenario, error) {
	if len(patterns) == 0 {
		if c.testMode {
			return all[:min(testScenarios, len(all))], nil
		}
		return all, nil
	}
	chosen := make(map[string]bool)
	for _, pattern := range patterns {
		before := len(chosen)
		found := false
		for _, s := range all {
			matched, err := path.Match(pattern, s.GetSetup().GetName())
			if err != nil {
				return nil, launch.Usage("--scenarios: pattern %q: %w", pattern, err)
			}
			if matched {
				chosen[s.GetSetup().GetName()], found = true, true
			}
		}
		if len(chosen) == before && !found {
			return nil, launch.Usage("--scenarios: no scenario is called %q: see toolsandbox scenario list", pattern)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *scenariov1.Scenario) bool { return !chosen[s.GetSetup().GetName()] }), nil
}
