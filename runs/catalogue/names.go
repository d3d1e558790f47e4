package catalogue

import (
	"path/filepath"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/packs"
)

// Names returns the names of the scenarios without variants, for the completion of a shell. It
// starts no tool server, and leaves out packs that cannot be loaded.
func (c *Selection) Names() []string {
	defer process.LimitLoading()()
	sources, err := c.sources()
	if err != nil {
		return nil
	}
	opts, err := c.options()
	if err != nil {
		return nil
	}
	var names []string
	for _, from := range sources {
		loaded, err := c.load(from, opts)
		if err != nil {
			continue
		}
		for _, s := range loaded.Scenarios {
			names = append(names, s.Scenario.GetSetup().GetName())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PackNames returns the built-in packs, and the packs in the folder that a path begins with.
func PackNames(path string) []string {
	names := packs.Names()
	found, err := filepath.Glob(path + "*")
	if err != nil {
		return names
	}
	for _, name := range found {
		if opensAsPack(name) {
			names = append(names, name)
		}
	}
	return names
}
