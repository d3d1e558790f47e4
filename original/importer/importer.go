// Package importer reads the scenarios of the original program in the JSON form that tools/exporter
// writes: worlds, starting messages, variants, milestone and minefield graphs.
package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/original/row"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// ErrScenario means that there is no scenario or variant of that name.
var ErrScenario = errors.New("no such scenario")

const (
	augmentationPrefix = "AUGMENTATION_"
	// backend is the only tool backend that is reimplemented here.
	backend = "DEFAULT"
)

// Scenarios are the base scenarios of one file with their variants. It is immutable and safe for
// concurrent use.
type Scenarios struct {
	scenarios []*scenariov1.Scenario // by name
	sources   map[string]*node
	bases     map[string]map[string]int // base → variant → position
	file      string
	data      []byte
}

// Read reads the exported scenarios, a JSON object with now (POSIX seconds), timezone and
// scenarios. file is its name in errors. The error is of type document.Errors and lists all
// mistakes with line, column and path.
func Read(file string, data []byte) (*Scenarios, error) {
	r := &reader{file: file, data: data, strict: true}
	s := &Scenarios{sources: make(map[string]*node), bases: make(map[string]map[string]int), file: file, data: data}
	top := r.object(r.open(), "now", "timezone", "scenarios")
	clock := &setupv1.Clock{Now: r.number(r.required(top, "now")), TimeZone: r.text(r.required(top, "timezone"))}
	bases := r.list(r.required(top, "scenarios"))
	if top != nil && len(bases) == 0 && len(r.mistakes) == 0 {
		r.fail(top.get("scenarios"), "is empty, expected at least one scenario")
	}
	for _, base := range bases {
		s.add(r, base, clock)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	slices.SortFunc(s.scenarios, func(a, b *scenariov1.Scenario) int {
		return cmp.Compare(a.GetSetup().GetName(), b.GetSetup().GetName())
	})
	position := make(map[string]int, len(s.scenarios))
	for i := range s.scenarios {
		position[s.scenarios[i].GetSetup().GetName()] = i
	}
	for base, variants := range s.bases {
		for variant := range variants {
			variants[variant] = position[base+variant]
		}
	}
	return s, nil
}

// add reads a base scenario and its variants.
func (s *Scenarios) add(r *reader, n *node, clock *setupv1.Clock) {
	n = r.object(n, "name", "max_messages", "trace_tool", "preferred_tool_backend", "tables", "messages", "milestones", "minefields", "variants")
	if n == nil {
		return
	}
	name := r.text(r.required(n, "name"))
	common := &setupv1.Setup{
		Clock:       clock,
		MaxMessages: r.integer(r.required(n, "max_messages"), 1),
		Tables:      r.tables(r.required(n, "tables")),
		Messages:    r.messages(r.required(n, "messages"), 0),
	}
	evaluation := &evaluationv1.Evaluation{
		Milestones: r.graph(r.required(n, "milestones")),
		Minefields: r.graph(r.required(n, "minefields")),
		User:       scenario.UserFromMessages(common.GetMessages()),
	}
	if traced := n.get("trace_tool"); r.hasShape(traced, shapeBool) && !traced.flag {
		r.fail(traced, "is false, expected true: calls are always traced here")
	}
	if tools := n.get("preferred_tool_backend"); r.hasShape(tools, shapeText) && tools.text != backend {
		r.fail(tools, "is %q, expected %s: there are no other tools here", tools.text, backend)
	}
	variants := r.required(n, "variants")
	if !r.hasShape(variants, shapeObject) {
		return
	}
	if len(variants.items) == 0 {
		r.fail(variants, "is empty, expected at least one variant")
	}
	if s.bases[name] == nil {
		s.bases[name] = make(map[string]int, len(variants.items))
	}
	for i, suffix := range variants.names {
		setup := proto.CloneOf(common)
		setup.Name = name + suffix
		r.variant(variants.items[i], setup)
		if s.sources[setup.GetName()] != nil {
			r.fail(variants.items[i], "another scenario is called %q too; names must be unique", setup.GetName())
			continue
		}
		s.sources[setup.GetName()], s.bases[name][suffix] = n, 0
		s.scenarios = append(s.scenarios, &scenariov1.Scenario{Setup: setup, Evaluation: evaluation})
	}
}

// variant reads what a variant adds to its base. An empty list of tools allows none in the original
// and all here.
func (r *reader) variant(n *node, setup *setupv1.Setup) {
	r.object(n, "tools", "denied", "augmentations", "categories")
	tools := r.required(n, "tools")
	setup.Tools = &setupv1.ToolSelection{Allow: r.texts(tools), Deny: r.texts(n.get("denied"))}
	if tools != nil && tools.shape == shapeList && len(tools.items) == 0 {
		r.fail(tools, "is empty, expected at least one tool")
	}
	setup.Categories = r.texts(r.required(n, "categories"))
	augmentations := make(map[string]setupv1.Augmentation)
	for number, name := range setupv1.Augmentation_name {
		if number != 0 {
			augmentations[name[len(augmentationPrefix):]] = setupv1.Augmentation(number)
		}
	}
	for _, item := range r.list(n.get("augmentations")) {
		if augmentation := choice(r, item, "augmentation", augmentations); row.HasEffect(augmentation) {
			setup.Tools.Augmentations = append(setup.Tools.Augmentations, augmentation)
		}
	}
}

// Scenario returns one variant of a scenario as a scenario of its own, which belongs to the caller.
// Its name is that of the base with the variant's suffix. It has no scripts and no recordings. The
// error may be ErrScenario.
func (s *Scenarios) Scenario(base, variant string) (*scenariov1.Scenario, error) {
	variants, ok := s.bases[base]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrScenario, base)
	}
	position, ok := variants[variant]
	if !ok {
		return nil, fmt.Errorf("%w: %q has no variant %q", ErrScenario, base, variant)
	}
	return proto.CloneOf(s.scenarios[position]), nil
}

// All returns every variant of every scenario, sorted by name. They belong to the caller.
func (s *Scenarios) All() []*scenariov1.Scenario {
	all := make([]*scenariov1.Scenario, len(s.scenarios))
	for i := range s.scenarios {
		all[i] = proto.CloneOf(s.scenarios[i])
	}
	return all
}

// BaseCount returns how many base scenarios there are.
func (s *Scenarios) BaseCount() int { return len(s.bases) }

// Check returns why scenarios cannot be played and scored here, e.g. a missing tool. The error is
// of type document.Errors, with the positions of the base scenarios.
func (s *Scenarios) Check(opts scenario.Options) error {
	r := &reader{file: s.file, data: s.data}
	for _, found := range s.scenarios {
		source := s.sources[found.GetSetup().GetName()]
		for _, problem := range scenario.Validate(found, opts) {
			r.fail(source, "%s: %s: %s", found.GetSetup().GetName(), problem.Path, problem.Reason)
		}
	}
	return r.err()
}
