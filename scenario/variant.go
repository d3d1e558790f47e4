package scenario

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// Variant is a combination of augmentations.
type Variant struct {
	// Suffix is the suffix of the scenario's name, empty for the base scenario.
	Suffix        string
	Augmentations []setupv1.Augmentation
}

// AllVariants returns the eight variants of a base scenario, the plain one first. The caller owns
// the result.
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

// ArgumentNameSuffix is the suffix of the variant with scrambled names of arguments, which the
// original lacks.
const ArgumentNameSuffix = "_3_distraction_tools_arg_name_scrambled"

// FailingToolsSuffix is the suffix of the variant in which calls of the agent fail by chance. Tasks
// whose calls are not executed lack it.
const FailingToolsSuffix = "_failing_tools"

// NamedVariants returns the variants that base scenarios have, as far as they apply: those of
// AllVariants, of ArgumentNameSuffix and of FailingToolsSuffix. The caller owns the result.
func NamedVariants() []Variant {
	const few, names = setupv1.Augmentation_AUGMENTATION_THREE_DISTRACTION_TOOLS, setupv1.Augmentation_AUGMENTATION_ARG_NAME_SCRAMBLED
	return append(AllVariants(), Variant{ArgumentNameSuffix, []setupv1.Augmentation{few, names}},
		Variant{FailingToolsSuffix, []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_FAILING_TOOLS}})
}

// variantsOf returns those of NamedVariants that a base scenario has.
func variantsOf(s *scenariov1.Scenario) []Variant {
	return slices.DeleteFunc(NamedVariants(), func(v Variant) bool {
		return v.Suffix == FailingToolsSuffix && s.GetSetup().GetFunctionCalling() != nil
	})
}

// BaseName returns the name of the base scenario of a variant's name.
func BaseName(name string) string {
	base := name
	for _, v := range append(NamedVariants()[1:], Variant{Suffix: ConfirmationSuffix}) {
		if cut, ok := strings.CutSuffix(name, v.Suffix); ok && len(cut) < len(base) {
			base = cut
		}
	}
	return base
}

// variantSuffix returns the suffix of a variant's name, empty for a base scenario.
func variantSuffix(name string) string { return strings.TrimPrefix(name, BaseName(name)) }

// VariantName returns the name of the variant that a scenario's name ends in, without its first
// underscore, and PlainVariant for a base scenario.
func VariantName(name string) string {
	return cmp.Or(strings.TrimPrefix(variantSuffix(name), "_"), PlainVariant)
}

// PlainVariant is the variant of scenarios without augmentations.
const PlainVariant = "plain"

// IsBase reports whether a scenario has variants: it has no augmentations and no category of an
// augmentation.
func IsBase(s *scenariov1.Scenario) bool {
	return len(s.GetSetup().GetTools().GetAugmentations()) == 0 &&
		!slices.ContainsFunc(s.GetSetup().GetCategories(), func(name string) bool {
			return name != noDistractionTools && slices.Contains(knownCategories(), name) && !slices.Contains(form.Categories(), name)
		})
}

// Variants returns the variants of a base scenario in the order of NamedVariants. For any other
// scenario it returns only the scenario. The variants share all parts except names, augmentations
// and categories, so do not change them.
func Variants(s *scenariov1.Scenario) []*scenariov1.Scenario {
	if !IsBase(s) {
		return []*scenariov1.Scenario{s}
	}
	out := []*scenariov1.Scenario{s}
	for _, v := range variantsOf(s)[1:] {
		out = append(out, v.apply(s))
	}
	return out
}

// apply returns this variant of a base scenario.
func (v Variant) apply(s *scenariov1.Scenario) *scenariov1.Scenario {
	result, setup, tools := &scenariov1.Scenario{}, &setupv1.Setup{}, &setupv1.ToolSelection{}
	shareFields(s, result)
	shareFields(s.GetSetup(), setup)
	shareFields(s.GetSetup().GetTools(), tools)
	tools.Augmentations = v.Augmentations
	written := func(name string) bool { return name == noDistractionTools }
	setup.Name += v.Suffix
	if v.Suffix == FailingToolsSuffix {
		// A call fails once before it passes, so the repetitions at most double the conversation.
		setup.MaxMessages = min(2*setup.GetMaxMessages(), messageLimit)
	}
	setup.Categories = append(slices.DeleteFunc(slices.Clone(setup.GetCategories()), written), AugmentationCategories(v.Augmentations)...)
	result.Setup, setup.Tools = setup, tools
	return result
}

// shareFields copies all fields of a message, which may be nil, to another one without cloning
// them.
func shareFields(message, other proto.Message) {
	message.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		other.ProtoReflect().Set(field, value)
		return true
	})
}

// Expanded is a scenario of an expanded catalogue.
type Expanded struct {
	// Name is the scenario's name: Base + Suffix.
	Name string
	// Base is the name of the base scenario, or Name if the scenario is not a variant.
	Base string
	// Suffix is the suffix of the variant.
	Suffix string
	// HasVariants reports whether the base scenario has variants.
	HasVariants bool

	base          *scenariov1.Scenario
	augmentations []setupv1.Augmentation // nil for the base scenario itself
	confirm       []*setupv1.ConsentTool // for the confirmation variant
}

// Scenario returns the scenario. It creates a variant on demand, because most are never used. See
// Variants for shared parts.
func (e *Expanded) Scenario() *scenariov1.Scenario {
	switch {
	case e.confirm != nil:
		return confirmationVariant(e.base, e.confirm)
	case e.augmentations == nil:
		return e.base
	}
	return Variant{e.Suffix, e.augmentations}.apply(e.base)
}

// Expand returns every variant of every scenario, sorted by name. A base scenario has those of
// NamedVariants, and one more if its agent has some of the confirm tools, in which these need the
// user's consent. A scenario in the catalogue with a variant's name replaces that variant, so a
// catalogue with variants does not change.
func Expand(scenarios []*scenariov1.Scenario, confirm []*setupv1.ConsentTool) []Expanded {
	byName := make(map[string]*scenariov1.Scenario, len(scenarios))
	for _, s := range scenarios {
		byName[s.GetSetup().GetName()] = s
	}
	out := make([]Expanded, 0, len(NamedVariants())*len(scenarios))
	taken := make(map[string]bool, cap(out))
	for _, s := range scenarios {
		if !IsBase(s) {
			continue
		}
		base := s.GetSetup().GetName()
		all := variantsOf(s)
		required := addedConsentTools(s, confirm)
		if len(required) > 0 {
			all = append(all, Variant{Suffix: ConfirmationSuffix})
		}
		for _, v := range all {
			expanded := Expanded{Name: base + v.Suffix, Base: base, Suffix: v.Suffix, HasVariants: true, base: s, augmentations: v.Augmentations}
			if v.Suffix == ConfirmationSuffix {
				expanded.confirm = required
			}
			if written := byName[expanded.Name]; written != nil {
				expanded.base, expanded.augmentations, expanded.confirm = written, nil, nil
			}
			if !taken[expanded.Name] {
				out = append(out, expanded)
			}
			taken[expanded.Name] = true
		}
	}
	for _, s := range scenarios {
		if name := s.GetSetup().GetName(); !taken[name] {
			out = append(out, Expanded{Name: name, Base: name, base: s})
		}
	}
	slices.SortStableFunc(out, func(a, b Expanded) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
