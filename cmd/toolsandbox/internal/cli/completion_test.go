package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestCompletion asks what a shell asks, and checks that the values are offered.
func TestCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, "--agent", "oracle", "--out", "out", "turn_off_wifi")
	if code, _, stderr := command("pack", "new", "mine"); code != 0 {
		t.Fatal(stderr)
	}
	for _, test := range []struct {
		line      string // the last word is completed; - is an empty one
		want, not []string
	}{
		{"run --agent -", []string{"oracle", "openai:", "grpc://", "anthropic:"}, []string{"scripted"}},
		{"run --user -", []string{"scripted", "openai:"}, []string{"oracle"}},
		{"run --variants plain,-", []string{"plain,all", "plain,3_distraction_tools"}, nil},
		{"run --scenarios -", []string{"turn_off_wifi"}, nil},
		{"run --pack mine -", []string{"keep_the_beagle"}, []string{"turn_off_wifi"}},
		{"run --pack -", []string{"timer", "phone", "mine"}, []string{"out"}},
		{"run --replay -", []string{"out"}, []string{"mine"}},
		{"scenario show -", []string{"turn_off_wifi"}, nil},
		{"scenario new -", nil, []string{"turn_off_wifi"}},
		{"pack show -", []string{"timer", "mine"}, nil},
		{"pack prove mine -", []string{"keep_the_beagle"}, nil},
		{"explain -", []string{"out"}, []string{"mine"}},
		{"explain out -", []string{"turn_off_wifi"}, []string{"which_mateo"}},
		{"score out -", []string{"turn_off_wifi"}, []string{"which_mateo"}},
		{"compare out -", []string{"out"}, nil},
		{"session show --out out -", []string{"turn_off_wifi"}, []string{"which_mateo"}},
		{"sweep cancel -", nil, []string{"turn_off_wifi"}},
	} {
		words := strings.Fields(test.line)
		last := strings.TrimSuffix(words[len(words)-1], "-")
		code, stdout, stderr := command(slices.Concat([]string{"__complete"}, words[:len(words)-1], []string{last})...)
		if code != 0 {
			t.Errorf("%s: got code %d\n%s", test.line, code, stderr)
		}
		var offered []string
		for line := range strings.Lines(stdout) {
			value, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			offered = append(offered, value)
		}
		for _, value := range test.want {
			if !slices.Contains(offered, value) {
				t.Errorf("%s: got %q, want %q among them", test.line, offered, value)
			}
		}
		for _, value := range test.not {
			if slices.Contains(offered, value) {
				t.Errorf("%s: got %q, want no %q", test.line, offered, value)
			}
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, stderr := command("completion", shell); code != 0 || !strings.Contains(stdout, "__complete") {
			t.Errorf("%s: got code %d, %s and no call of __complete", shell, code, stderr)
		}
	}
}
