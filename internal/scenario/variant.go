package scenario

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// Variant is one way in which a scenario's tools are shown.
type Variant struct {
	// Suffix follows the base scenario's name; empty for the scenario as it is written.
	Suffix string
	// Augmentations are applied to the tools.
	Augmentations []setupv1.Augmentation
}

// AllVariants returns the eight variants of every base scenario, the plain one first. The result is
// the caller's own.
func AllVariants() []Variant {
	const few = setupv1.Augmentation_AUGMENTATION_THREE_DISTRACTION_TOOLS
	variants := []Variant{
		{},
		{"_3_distraction_tools", []setupv1.Augmentation{few}},
		{"_10_distraction_tools", []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_TEN_DISTRACTION_TOOLS}},
		{"_all_tools", []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_ALL_TOOLS}},
	}
	for _, scrambling := range []setupv1.Augmentation{
		setupv1.Augmentation_AUGMENTATION_TOOL_DESCRIPTION_SCRAMBLED, setupv1.Augmentation_AUGMENTATION_ARG_TYPE_SCRAMBLED,
		setupv1.Augmentation_AUGMENTATION_ARG_DESCRIPTION_SCRAMBLED, setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED,
	} {
		variants = append(variants, Variant{
			Suffix:        "_3_distraction_tools_" + strings.ToLower(augmentationText(scrambling)),
			Augmentations: []setupv1.Augmentation{few, scrambling},
		})
	}
	return variants
}

// IsBase says whether a scenario has variants: it has no augmentations of its own, and none of its
// categories comes from one.
func IsBase(s *scenariov1.Scenario) bool {
	return len(s.GetSetup().GetTools().GetAugmentations()) == 0 &&
		!slices.ContainsFunc(s.GetSetup().GetCategories(), func(name string) bool {
			return name != noDistractionTools && slices.Contains(knownCategories(), name) && !slices.Contains(AuthorCategories(), name)
		})
}

// Variants returns the eight variants of a base scenario in the order of AllVariants, the scenario
// itself first; of any other scenario itself alone. The variants share all but their names,
// augmentations and categories: change none of them.
func Variants(s *scenariov1.Scenario) []*scenariov1.Scenario {
	if !IsBase(s) {
		return []*scenariov1.Scenario{s}
	}
	out := []*scenariov1.Scenario{s}
	for _, v := range AllVariants()[1:] {
		out = append(out, v.of(s))
	}
	return out
}

// of returns this variant of a base scenario.
func (v Variant) of(s *scenariov1.Scenario) *scenariov1.Scenario {
	made, setup, tools := &scenariov1.Scenario{}, &setupv1.Setup{}, &setupv1.ToolSelection{}
	share(s, made)
	share(s.GetSetup(), setup)
	share(s.GetSetup().GetTools(), tools)
	tools.Augmentations = v.Augmentations
	written := func(name string) bool { return name == noDistractionTools }
	setup.Name += v.Suffix
	setup.Categories = append(slices.DeleteFunc(slices.Clone(setup.GetCategories()), written), AugmentationCategories(v.Augmentations)...)
	made.Setup, setup.Tools = setup, tools
	return made
}

// share lets another message refer to all that a message, which may be nil, refers to.
func share(message, other proto.Message) {
	message.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		other.ProtoReflect().Set(field, value)
		return true
	})
}

// Expanded is a scenario of an expanded catalogue.
type Expanded struct {
	// Name is the scenario's: Base + Suffix.
	Name string
	// Base is the name of the base scenario, or the scenario's own name if it is none's variant.
	Base string
	// Suffix is that of the variant.
	Suffix string
	// Varied says that the base scenario has variants.
	Varied bool

	from          *scenariov1.Scenario
	augmentations []setupv1.Augmentation   // those that make it of from; nil if it is from
	confirm       []*setupv1.ConfirmedTool // for the variant in which tools need consent
}

// Scenario returns what is played. It is made when it is asked for, since most variants never are;
// see Variants for what it shares.
func (e *Expanded) Scenario() *scenariov1.Scenario {
	switch {
	case e.confirm != nil:
		return confirming(e.from, e.confirm)
	case e.augmentations == nil:
		return e.from
	}
	return Variant{e.Suffix, e.augmentations}.of(e.from)
}

// Expand returns every variant of every scenario, sorted by name: the eight, and one more for a
// base scenario whose agent has some of the given tools, in which these need the user's consent. A
// scenario of the catalogue that
// is called as a variant would be stands for that variant, so that a catalogue which holds variants
// already stays as it is.
func Expand(scenarios []*scenariov1.Scenario, confirm []*setupv1.ConfirmedTool) []Expanded {
	own := make(map[string]*scenariov1.Scenario, len(scenarios))
	for _, s := range scenarios {
		own[s.GetSetup().GetName()] = s
	}
	variants := AllVariants()
	out := make([]Expanded, 0, len(variants)*len(scenarios))
	taken := make(map[string]bool, cap(out))
	for _, s := range scenarios {
		if !IsBase(s) {
			continue
		}
		base := s.GetSetup().GetName()
		all := variants
		need := needConsent(s, confirm)
		if len(need) > 0 {
			all = append(slices.Clip(variants), Variant{Suffix: ConfirmationSuffix})
		}
		for _, v := range all {
			made := Expanded{Name: base + v.Suffix, Base: base, Suffix: v.Suffix, Varied: true, from: s, augmentations: v.Augmentations}
			if v.Suffix == ConfirmationSuffix {
				made.confirm = need
			}
			if written := own[made.Name]; written != nil {
				made.from, made.augmentations, made.confirm = written, nil, nil
			}
			if !taken[made.Name] {
				out = append(out, made)
			}
			taken[made.Name] = true
		}
	}
	for _, s := range scenarios {
		if name := s.GetSetup().GetName(); !taken[name] {
			out = append(out, Expanded{Name: name, Base: name, from: s})
		}
	}
	slices.SortStableFunc(out, func(a, b Expanded) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
