package pack

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

func loadOne(t *testing.T, text string) *scenariov1.Scenario {
	t.Helper()
	loaded, err := readPack(files(text, testWorld), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	return loaded[0].Scenario
}

// TestVariants compares names, categories and augmentations with the original's.
func TestVariants(t *testing.T) {
	base := loadOne(t, testScenario)
	before := proto.CloneOf(base)
	type shown struct {
		Name          string
		Categories    string
		Augmentations string
	}
	var got []shown
	for _, v := range scenario.Variants(base) {
		var augmentations []string
		for _, a := range v.GetSetup().GetTools().GetAugmentations() {
			augmentations = append(augmentations, strings.TrimPrefix(a.String(), form.AugmentationPrefix))
		}
		got = append(got, shown{v.GetSetup().GetName(), strings.Join(v.GetSetup().GetCategories(), " "), strings.Join(augmentations, " ")})
		if problems := scenario.Validate(v, testOptions()); problems != nil {
			t.Errorf("%s: got %v, want no problem", v.GetSetup().GetName(), problems)
		}
	}
	want := []shown{
		{"one", "SINGLE_TOOL_CALL SINGLE_USER_TURN NO_DISTRACTION_TOOLS", ""},
		{"one_3_distraction_tools", "SINGLE_TOOL_CALL SINGLE_USER_TURN THREE_DISTRACTION_TOOLS", "THREE_DISTRACTION_TOOLS"},
		{"one_10_distraction_tools", "SINGLE_TOOL_CALL SINGLE_USER_TURN TEN_DISTRACTION_TOOLS", "TEN_DISTRACTION_TOOLS"},
		{"one_all_tools", "SINGLE_TOOL_CALL SINGLE_USER_TURN ALL_TOOLS_AVAILABLE", "ALL_TOOLS"},
	}
	for _, part := range []string{"TOOL_DESCRIPTION", "ARG_TYPE", "ARG_DESCRIPTION", "TOOL_NAME", "ARG_NAME"} {
		want = append(want, shown{
			"one_3_distraction_tools_" + strings.ToLower(part) + "_scrambled",
			"SINGLE_TOOL_CALL SINGLE_USER_TURN THREE_DISTRACTION_TOOLS " + part + "_SCRAMBLED", "THREE_DISTRACTION_TOOLS " + part + "_SCRAMBLED",
		})
	}
	want = append(want, shown{"one_failing_tools", "SINGLE_TOOL_CALL SINGLE_USER_TURN NO_DISTRACTION_TOOLS FAILING_TOOLS", "FAILING_TOOLS"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !proto.Equal(before, base) {
		t.Errorf("the base scenario was changed: got %v, want %v", base, before)
	}
	own := loadOne(t, "augmentations: [ALL_TOOLS]\n"+testScenario)
	if got := scenario.Variants(own); len(got) != 1 || got[0] != own {
		t.Errorf("with augmentations: got %d variants, want the scenario itself", len(got))
	}
}

// TestVariantVector compares suffixes and added categories with the original's list, if the vectors
// are available.
func TestVariantVector(t *testing.T) {
	data, err := os.ReadFile(vectortest.Dir(t, "scenarios.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Scenarios []struct {
			Variants map[string]struct{ Categories []string }
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, s := range file.Scenarios {
		plain := s.Variants[""].Categories
		if len(s.Variants) != len(scenario.AllVariants()) {
			t.Fatalf("got %d variants, want the original's %d", len(scenario.AllVariants()), len(s.Variants))
		}
		for _, v := range scenario.AllVariants() {
			want := s.Variants[v.Suffix].Categories
			got := slices.DeleteFunc(slices.Clone(plain), func(name string) bool { return name == "NO_DISTRACTION_TOOLS" })
			got = append(got, scenario.AugmentationCategories(v.Augmentations)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", v.Suffix, diff)
			}
		}
	}
}

// TestVariantsWithoutExecution checks that a task whose calls are not executed has no variant in
// which they fail.
func TestVariantsWithoutExecution(t *testing.T) {
	base := loadOne(t, testScenario)
	base.Setup.FunctionCalling = &setupv1.FunctionCalling{Prompt: "Name the calls."}
	for _, v := range scenario.Variants(base) {
		if name := v.GetSetup().GetName(); strings.HasSuffix(name, scenario.FailingToolsSuffix) {
			t.Errorf("Variants: got %s", name)
		}
	}
	for _, e := range scenario.Expand([]*scenariov1.Scenario{base}, nil) {
		if e.Suffix == scenario.FailingToolsSuffix {
			t.Errorf("Expand: got %s", e.Name)
		}
	}
}

func TestExpand(t *testing.T) {
	base := loadOne(t, testScenario)
	own := loadOne(t, "seed: 5\naugmentations: [ALL_TOOLS]\n"+testScenario)
	own.Setup.Name = "one_all_tools"
	alone := loadOne(t, "augmentations: [TOOL_NAME_SCRAMBLED]\n"+testScenario)
	alone.Setup.Name = "two"
	recorded := proto.CloneOf(base) // as in an exported catalogue: with listed tools and a category of the augmentation
	recorded.Setup.Name = "one_3_distraction_tools"
	recorded.Setup.Categories = []string{"SINGLE_TOOL_CALL", "THREE_DISTRACTION_TOOLS"}
	expanded := scenario.Expand([]*scenariov1.Scenario{alone, base, own, recorded}, nil)
	var names []string
	for _, e := range expanded {
		name := e.Scenario().GetSetup().GetName()
		names = append(names, name)
		if name != e.Base+e.Suffix {
			t.Errorf("%s: got base %q and suffix %q", name, e.Base, e.Suffix)
		}
		switch name {
		case "one_all_tools":
			if e.Scenario() != own {
				t.Errorf("%s: got a made variant, want the catalogue's own", name)
			}
		case "one_3_distraction_tools":
			if e.Scenario() != recorded {
				t.Errorf("%s: got a made variant, want the catalogue's own", name)
			}
		case "one_10_distraction_tools":
			if got := e.Scenario().GetSetup().GetTools().GetAugmentations(); len(got) != 1 || got[0] != setupv1.Augmentation_AUGMENTATION_TEN_DISTRACTION_TOOLS {
				t.Errorf("%s: got %v", name, got)
			}
		case "one_failing_tools":
			if got, want := e.Scenario().GetSetup().GetMaxMessages(), 2*base.GetSetup().GetMaxMessages(); got != want {
				t.Errorf("%s: got %d messages at most, want %d, with room to repeat each call", name, got, want)
			}
		}
	}
	if len(names) != 11 || !slices.IsSorted(names) || names[0] != "one" || names[10] != "two" {
		t.Errorf("got %v, want one with its variants and two", names)
	}
}
