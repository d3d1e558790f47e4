package catalogue

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// TestChoose selects scenarios by patterns and variants.
func TestChoose(t *testing.T) {
	t.Parallel()
	from := Selection{PackPaths: []string{"../describe/testdata/pack"}}
	for _, c := range []struct {
		name     string
		variants []string
		patterns []string
		want     []string
	}{
		{"plain", []string{"plain"}, nil, []string{"described", "in_other_words"}},
		{"by suffix", []string{"all_tools"}, nil, []string{"in_other_words_all_tools"}},
		{"base and suffix", []string{"_all_tools", "plain"}, []string{"in_*"}, []string{"in_other_words", "in_other_words_all_tools"}},
		{"name of a variant", []string{"plain"}, []string{"in_other_words_10_distraction_tools"}, []string{"in_other_words_10_distraction_tools"}},
		{"pattern of variants", []string{"plain"}, []string{"*_tool_name_scrambled"}, []string{"in_other_words_3_distraction_tools_tool_name_scrambled"}},
		{"own augmentations", []string{"all_tools"}, []string{"described"}, []string{"described"}},
		{"nothing", []string{"all"}, []string{"nothing"}, nil},
		{"bad pattern", []string{"all"}, []string{"["}, nil},
		{"bad variant", []string{"most"}, nil, nil},
	} {
		from.Variants = c.variants
		chosen, err := from.Load(t.Context(), io.Discard, c.patterns)
		var got []string
		for _, s := range chosen {
			got = append(got, s.GetSetup().GetName())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// TestEmptyLists rejects lists without elements, as a shell's unset variable gives: they would
// select more than was meant.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"scenarios", "exclude", "variants", "category", "language"} {
		var selection Selection
		flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
		selection.RegisterFlags(flags)
		if err := flags.Parse([]string{"--" + name, ""}); err != nil {
			t.Fatal(err)
		}
		if _, err := selection.Load(t.Context(), io.Discard, nil); err == nil || !strings.HasPrefix(err.Error(), "--"+name+": empty, expected ") {
			t.Errorf("--%s '': got error %v, want that it is empty", name, err)
		}
	}
}
