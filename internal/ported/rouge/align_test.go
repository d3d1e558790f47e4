package rouge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAlign(t *testing.T) {
	for _, test := range []struct {
		name, target, prediction string
		precision, recall        float64
		common                   string // wanted word, or wanted/found where they differ
	}{
		{"equal", "Wifi is off.", "wifi is off", 1, 1, "Wifi/wifi is off"},
		{"words between", "Wifi is off", "Your wifi is now turned off!", 0.5, 1, "Wifi/wifi is off"},
		{"stems", "reminding people", "he reminds a people", 0.5, 1, "reminding/reminds people"},
		{"order counts", "a b c", "c a b", 2.0 / 3, 2.0 / 3, "a b"},
		{"nothing", "a b", "c", 0, 0, ""},
		{"no word", "…", "c", 0, 0, ""},
		{"letters outside ASCII", "caf\u00e9 \u0130x \u212Aim", "caf ix kim", 2.0 / 3, 0.5, "caf \u212Aim/kim"},
	} {
		got := Align(test.target, test.prediction)
		var common []string
		for _, w := range got.Common {
			text, found := test.target[w.TargetStart:w.TargetEnd], test.prediction[w.PredictionStart:w.PredictionEnd]
			if text != found {
				text += "/" + found
			}
			common = append(common, text)
		}
		if got.Precision != test.precision || got.Recall != test.recall || strings.Join(common, " ") != test.common {
			t.Errorf("%s: Align: got %v, %v, %q, want %v, %v, %q", test.name, got.Precision, got.Recall, common, test.precision, test.recall, test.common)
		}
	}
}

func TestAlignLongTexts(t *testing.T) {
	got := Align(strings.Repeat("a ", 3000), strings.Repeat("a ", 3000))
	if got.Precision != 1 || got.Recall != 1 || got.Common != nil {
		t.Errorf("Align of 3000 words: got %v, %v and %d words, want 1, 1 and none", got.Precision, got.Recall, len(got.Common))
	}
}

// FuzzAlign compares the detailed comparison with the fast one.
func FuzzAlign(f *testing.F) {
	f.Add("Reminders: \u0130\u0130x, \u212A\u00fc 12a", "reminder \u00ff\xffi x k 12A")
	f.Fuzz(func(t *testing.T, target, prediction string) {
		var stems Tokens
		for _, w := range words(target) {
			stems = append(stems, w.stem)
		}
		if diff := cmp.Diff(Tokenize(target), stems); diff != "" {
			t.Errorf("words of %q (-tokens +words):\n%s", target, diff)
		}
		if len(target)*len(prediction) > maxCells {
			return
		}
		fast, got := NewTarget(target), Align(target, prediction)
		tokens := Tokenize(prediction)
		common := 0
		if fast.length > 0 && len(tokens) > 0 {
			common = fast.commonLength(tokens)
		}
		if len(got.Common) != common {
			t.Errorf("common words of %q and %q: got %d, want %d", target, prediction, len(got.Common), common)
		}
	})
}
