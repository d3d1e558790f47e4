package conformance

import (
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/original/importer"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
)

// scenarioLookup returns a copy of one variant of a scenario. The error may be
// importer.ErrScenario.
type scenarioLookup func(base, variant string) (*scenariov1.Scenario, error)

// scenariosFor returns the scenarios of a file of trajectories.
func (r *Runner) scenariosFor(path string) (scenarioLookup, error) {
	if r.cfg.Catalogue != nil {
		return catalogueLookup(r.cfg.Catalogue), nil
	}
	name := r.cfg.Scenarios
	if name == "" {
		var err error
		if name, err = findUpward(path, scenariosFile, "scenarios"); err != nil {
			return nil, err
		}
	}
	if cached, ok := r.scenarios[name]; ok {
		return cached, nil
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

// catalogueLookup looks up scenarios in a list.
func catalogueLookup(catalogue []*scenariov1.Scenario) scenarioLookup {
	byName := make(map[string]*scenariov1.Scenario, len(catalogue))
	for _, s := range catalogue {
		byName[s.GetSetup().GetName()] = s
	}
	return func(base, variant string) (*scenariov1.Scenario, error) {
		found, ok := byName[base+variant]
		if !ok {
			return nil, fmt.Errorf("%w: %q", importer.ErrScenario, base+variant)
		}
		return proto.CloneOf(found), nil
	}
}
