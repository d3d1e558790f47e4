package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// ErrScenario says that there is no scenario or variant of that name.
var ErrScenario = errors.New("no such scenario")

// Scenarios are the base scenarios of one file with their variants. It is immutable and safe for concurrent use.
type Scenarios struct {
	clock  *setupv1.Clock
	names  []string
	byName map[string]*recordedScenario
}

type recordedScenario struct {
	Name                   string
	MaxMessages            int32 `json:"max_messages"`
	Tables                 recordedTables
	Messages               []recordedMessage
	Milestones, Minefields recordedGraph
	Variants               map[string]*recordedVariant
}

type recordedVariant struct {
	Tools, Denied, Augmentations, Categories []string
}

// ReadScenarios reads the original's scenarios in their exported form, a JSON object with now (POSIX seconds), timezone and
// scenarios.
func ReadScenarios(r io.Reader) (*Scenarios, error) {
	var file struct {
		Now       float64
		Timezone  string
		Scenarios []*recordedScenario
	}
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return nil, fmt.Errorf("read scenarios: %w", err)
	}
	s := &Scenarios{
		clock:  &setupv1.Clock{Now: file.Now, TimeZone: file.Timezone},
		byName: make(map[string]*recordedScenario, len(file.Scenarios)),
	}
	for _, scenario := range file.Scenarios {
		if _, known := s.byName[scenario.Name]; known {
			return nil, fmt.Errorf("read scenarios: two are called %q", scenario.Name)
		}
		s.names = append(s.names, scenario.Name)
		s.byName[scenario.Name] = scenario
	}
	return s, nil
}

func readScenariosFile(path string) (s *Scenarios, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read scenarios: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return ReadScenarios(file)
}

// Scenario returns one variant of a scenario as a scenario of its own, which belongs to the caller. Its name is that of the
// base with the variant's suffix. It has no scripts and no recordings. The error may be ErrScenario.
func (s *Scenarios) Scenario(base, variant string) (*scenariov1.Scenario, error) {
	recorded, ok := s.byName[base]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrScenario, base)
	}
	chosen, ok := recorded.Variants[variant]
	if !ok {
		return nil, fmt.Errorf("%w: %q has no variant %q", ErrScenario, base, variant)
	}
	scenario, err := recorded.scenario(chosen)
	if err != nil {
		return nil, fmt.Errorf("scenario %s%s: %w", base, variant, err)
	}
	scenario.Setup.Name = base + variant
	scenario.Setup.Clock = &setupv1.Clock{Now: s.clock.GetNow(), TimeZone: s.clock.GetTimeZone()}
	return scenario, nil
}

// All returns every variant of every scenario, sorted by name.
func (s *Scenarios) All() ([]*scenariov1.Scenario, error) {
	var all []*scenariov1.Scenario
	for _, base := range s.names {
		for _, variant := range slices.Sorted(maps.Keys(s.byName[base].Variants)) {
			scenario, err := s.Scenario(base, variant)
			if err != nil {
				return nil, err
			}
			all = append(all, scenario)
		}
	}
	slices.SortFunc(all, func(a, b *scenariov1.Scenario) int {
		return cmp.Compare(a.GetSetup().GetName(), b.GetSetup().GetName())
	})
	return all, nil
}

func (r *recordedScenario) scenario(v *recordedVariant) (*scenariov1.Scenario, error) {
	setup := &setupv1.Setup{
		Categories:  slices.Clone(v.Categories),
		MaxMessages: r.MaxMessages,
		Tools:       &setupv1.ToolSelection{Allow: slices.Clone(v.Tools), Deny: slices.Clone(v.Denied)},
	}
	var err error
	if setup.Tables, err = r.Tables.tables(); err != nil {
		return nil, err
	}
	if setup.Messages, err = decodeMessages(r.Messages, 0); err != nil {
		return nil, err
	}
	for _, text := range v.Augmentations {
		augmentation, ok := setupv1.Augmentation_value["AUGMENTATION_"+text]
		if !ok {
			return nil, fmt.Errorf("unknown augmentation %q", text)
		}
		setup.Tools.Augmentations = append(setup.Tools.Augmentations, setupv1.Augmentation(augmentation))
	}
	evaluation, err := decodeEvaluation(&r.Milestones, &r.Minefields)
	if err != nil {
		return nil, err
	}
	return &scenariov1.Scenario{Setup: setup, Evaluation: evaluation}, nil
}
