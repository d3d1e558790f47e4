package catalogue

import (
	"io"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/packs"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// TestSkipped checks that scenarios of a built-in pack are the same when the others are not read,
// which are those of the pack phone.
func TestSkipped(t *testing.T) {
	t.Parallel()
	for _, name := range []string{packs.Phone, packs.Ride, packs.Timer} {
		whole := Selection{PackPaths: []string{name}, Variants: []string{AllVariants, "confirmation"}}
		all, err := whole.LoadExpanded(t.Context(), io.Discard, nil)
		if err != nil {
			t.Fatal(err)
		}
		count := len(whole.LoadedPacks[0].Scenarios)
		patterns := [][]string{{"*"}, {"*_confirmation"}, {"[m-z]*"}, {"*_3_distraction_tools*"}}
		for i := 0; i < len(all); i += 97 {
			patterns = append(patterns, []string{all[i].Name}, []string{all[i].Base, all[len(all)-1].Name})
		}
		for _, chosen := range patterns {
			part := Selection{PackPaths: whole.PackPaths, Variants: whole.Variants}
			got, err := part.LoadExpanded(t.Context(), io.Discard, chosen)
			if err != nil {
				t.Errorf("%s: load %v: %v", name, chosen, err)
				continue
			}
			want, err := whole.filter(all, chosen)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, func(a, b scenario.Expanded) bool {
				return a.Name == b.Name && a.Base == b.Base && a.HasVariants == b.HasVariants && proto.Equal(a.Scenario(), b.Scenario()) && part.Positions[a.Base] == whole.Positions[b.Base]
			}) {
				t.Errorf("%s: %v selects %d scenarios, want the %d of all", name, chosen, len(got), len(want))
			}
			loaded := part.LoadedPacks[0]
			if loaded.Digest != whole.LoadedPacks[0].Digest || len(loaded.Scenarios)+loaded.Skipped != count {
				t.Errorf("%s: %v: got the pack %s with %d and %d scenarios, want %s with %d", name, chosen, loaded.Digest, len(loaded.Scenarios), loaded.Skipped, whole.LoadedPacks[0].Digest, count)
			}
			read := count
			if name == packs.Phone && len(got) == 1 && len(chosen) == 1 && chosen[0] == got[0].Name {
				read = 1
			}
			if (name != packs.Phone || read == 1) && len(loaded.Scenarios) != read {
				t.Errorf("%s: %v reads %d scenarios, want %d", name, chosen, len(loaded.Scenarios), read)
			}
		}
	}
	whole := Selection{Whole: true, Variants: []string{PlainVariant}}
	if _, err := whole.Load(t.Context(), io.Discard, []string{"which_mateo"}); err != nil {
		t.Fatal(err)
	}
	if skipped := whole.LoadedPacks[0].Skipped; skipped > 0 {
		t.Errorf("whole: skips %d scenarios, want none", skipped)
	}
}
