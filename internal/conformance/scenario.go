package conformance

import (
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/importer"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
)

// lookup returns one variant of a scenario, which belongs to the caller. The error may be
// importer.ErrScenario.
type lookup func(base, variant string) (*scenariov1.Scenario, error)

// scenariosFor returns the scenarios that a file refers to.
func (r *Runner) scenariosFor(path string) (lookup, error) {
	if r.cfg.Catalogue != nil {
		return inCatalogue(r.cfg.Catalogue), nil
	}
	name := r.cfg.Scenarios
	if name == "" {
		var err error
		if name, err = findUpward(path, scenariosFile, "scenarios"); err != nil {
			return nil, err
		}
	}
	if known, ok := r.scenarios[name]; ok {
		return known, nil
	}
	scenarios, err := readScenarios(name)
	if err != nil {
		return nil, err
	}
	r.scenarios[name] = scenarios.Scenario
	return scenarios.Scenario, nil
}

func readScenarios(path string) (*importer.Scenarios, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read scenarios: %w", err)
	}
	return importer.Read(path, data)
}

// inCatalogue looks scenarios up in a list.
func inCatalogue(catalogue []*scenariov1.Scenario) lookup {
	known := make(map[string]*scenariov1.Scenario, len(catalogue))
	for _, s := range catalogue {
		known[s.GetSetup().GetName()] = s
	}
	return func(base, variant string) (*scenariov1.Scenario, error) {
		found, ok := known[base+variant]
		if !ok {
			return nil, fmt.Errorf("%w: %q", importer.ErrScenario, base+variant)
		}
		return proto.CloneOf(found), nil
	}
}
