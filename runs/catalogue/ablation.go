package catalogue

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// maxPrompt is the largest size of a prompt's file in bytes.
const maxPrompt = 1 << 20

// ablation is the flags that change what players are told and see.
type ablation struct {
	before, after, user, sees string
	// Ablation is what they say. Load sets it.
	Ablation scenario.Ablation
}

func (a *ablation) register(flags *pflag.FlagSet) {
	flags.StringVar(&a.before, "agent-prompt", "", "`file` with a text before the agent's system prompt")
	flags.StringVar(&a.after, "agent-prompt-after", "", "`file` with a text after the agent's system prompt")
	flags.StringVar(&a.user, "user-prompt", string(scenario.UserPromptAll), "what the simulated user is told: goal, knowledge (its goal and knowledge) or all (demonstrations, too)")
	flags.StringVar(&a.sees, "user-sees", string(scenario.UserSeesTexts), "what the simulated user sees of the agent: texts, calls (also its calls of tools) or results (also their results)")
}

// apply changes scenarios in place.
func (a *ablation) apply(scenarios []*scenariov1.Scenario) error {
	change := scenario.Ablation{User: scenario.UserPrompt(a.user), Sees: scenario.UserSees(a.sees)}
	if prompts := scenario.UserPrompts(); a.user != "" && !slices.Contains(prompts, change.User) {
		return process.UsageErrorf("--user-prompt: %q given, expected one of %v", a.user, prompts)
	}
	if all := scenario.AllUserSees(); a.sees != "" && !slices.Contains(all, change.Sees) {
		return process.UsageErrorf("--user-sees: %q given, expected one of %v", a.sees, all)
	}
	var err error
	if change.AgentBefore, err = readPrompt("agent-prompt", a.before); err != nil {
		return err
	}
	if change.AgentAfter, err = readPrompt("agent-prompt-after", a.after); err != nil {
		return err
	}
	if change.User == scenario.UserPromptAll {
		change.User = ""
	}
	if change.Sees == scenario.UserSeesTexts {
		change.Sees = ""
	}
	if a.Ablation = change; change == (scenario.Ablation{}) {
		return nil
	}
	for i, s := range scenarios {
		changed, ok := change.Apply(s)
		if !ok {
			return process.UsageErrorf("--user-prompt: %s has no separate goal, because it lists its messages: leave it out, for example by --exclude %s", s.GetSetup().GetName(), s.GetSetup().GetName())
		}
		scenarios[i] = changed
	}
	return nil
}

// readPrompt returns the text of a prompt's file without white space at its ends, "" without a
// path.
func readPrompt(flag, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", process.UsageErrorf("--%s: %w", flag, err)
	}
	text := strings.TrimSpace(string(data))
	switch {
	case len(data) > maxPrompt:
		err = fmt.Errorf("it has %d bytes, expected at most %d", len(data), maxPrompt)
	case !utf8.Valid(data):
		err = fmt.Errorf("it is no UTF-8")
	case text == "":
		err = fmt.Errorf("it is empty, expected a text")
	}
	if err != nil {
		return "", process.UsageErrorf("--%s: %s: %w", flag, path, err)
	}
	return text, nil
}
