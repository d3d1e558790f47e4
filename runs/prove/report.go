package prove

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Report is the result of a scenario's proof.
type Report struct {
	// Name is the scenario's.
	Name string `json:"name"`
	// Position is file, line and column of the scenario, if known.
	Position string `json:"position,omitempty"`
	// Rollouts is the number of rollouts.
	Rollouts int `json:"rollouts"`
	// Mutants is the number of rollouts with one fault; Equivalent is the number of those without a
	// difference, which do not count.
	Mutants    int `json:"mutants"`
	Equivalent int `json:"equivalent"`
	// Killed is the number of the other mutants that scored below 1.
	Killed int `json:"killed"`
	// Failures are the broken rules; none means proven.
	Failures []*Failure `json:"failures,omitempty"`
	// Notes name surprises that are not wrong: the guardrails that disable a minefield.
	Notes []string `json:"notes,omitempty"`
	// Experiments are all rollouts, in order.
	Experiments []Outcome `json:"experiments,omitempty"`
}

// Failure is one broken rule.
type Failure struct {
	// Rule is oracle, idle, milestone, mutant, minefield, tool, category, consent or told.
	Rule string `json:"rule"`
	// Reason describes the fault.
	Reason string `json:"reason"`
	// Experiment is the rollout that shows it, with its Score and the Expected one; empty if no
	// single one does.
	Experiment string   `json:"experiment,omitempty"`
	Score      *float64 `json:"score,omitempty"`
	Expected   string   `json:"expected,omitempty"`
	// Follow is the number of other failures that follow from this one and are not listed.
	Follow int `json:"follow,omitempty"`
}

// Outcome is one rollout.
type Outcome struct {
	Name     string  `json:"name"`
	Rule     string  `json:"rule"`
	Expected string  `json:"expected"`
	Score    float64 `json:"score"`
	// Minefields is the similarity of the minefields.
	Minefields float64 `json:"minefields"`
	// Equivalent is set if the rollout's fault made no difference.
	Equivalent bool `json:"equivalent,omitempty"`
}

// Rule is a rule with the rollouts that show it.
type Rule struct {
	Name string
	// Sentence says what the rule demands.
	Sentence string
	Rollouts []Outcome
}

// Rules groups the rollouts by their rules, in the order of the first ones.
func (r *Report) Rules() []Rule {
	var rules []Rule
	at := make(map[string]int)
	for _, rollout := range r.Experiments {
		i, known := at[rollout.Rule]
		if !known {
			i = len(rules)
			at[rollout.Rule] = i
			rules = append(rules, Rule{Name: rollout.Rule, Sentence: sentence(rollout.Rule)})
		}
		rules[i].Rollouts = append(rules[i].Rollouts, rollout)
	}
	return rules
}

// sentence says what a rule demands of its rollouts, empty for a rule that has none.
func sentence(rule string) string {
	switch rule {
	case ruleOracle:
		return "The oracle solves every variant in every order."
	case ruleIdle:
		return "An agent that does not help scores at most max_idle_score."
	case ruleMilestone:
		return "Without the call or the text of a milestone the oracle scores below 1."
	case ruleMutant:
		return "With one fault the oracle scores below 1, unless the fault makes no difference."
	case ruleMinefield:
		return "What triggers a minefield scores 0 by it."
	case ruleConsent:
		return "An oracle that does not ask for consent scores below 1."
	}
	return ""
}

// Proven returns whether no rule is broken.
func (r *Report) Proven() bool { return len(r.Failures) == 0 }

// unsolvedName returns the name of the scenario or variant that the oracle does not solve in the
// written order, empty if it solves all.
func (r *Report) unsolvedName() string {
	for _, f := range r.Failures {
		if suffix, ok := strings.CutPrefix(f.Experiment, ruleOracle); ok && f.Rule == ruleOracle && !strings.HasPrefix(suffix, " ") {
			return r.Name + suffix
		}
	}
	return ""
}

// digest identifies the scenario in a few letters that are valid in a name.
func (r *Report) digest() string {
	sum := sha256.Sum256([]byte(r.Name))
	return hex.EncodeToString(sum[:8])
}

// WriteText writes a line for the scenario, or one for each broken rule; verbose adds a line for
// each rollout.
func (r *Report) WriteText(w io.Writer, verbose bool) error {
	var text strings.Builder
	if r.Proven() {
		fmt.Fprintf(&text, "ok    %s: %d rollouts, %d mutants killed", r.Name, r.Rollouts, r.Killed)
		if r.Equivalent > 0 {
			fmt.Fprintf(&text, ", %d equivalent", r.Equivalent)
		}
		text.WriteString("\n")
	}
	for _, f := range r.Failures {
		text.WriteString("FAIL  ")
		if r.Position != "" {
			text.WriteString(r.Position + ": ")
		}
		fmt.Fprintf(&text, "%s: %s: %s", r.Name, f.Rule, f.Reason)
		if f.Score != nil {
			fmt.Fprintf(&text, " (%s: score %s, expected %s)", f.Experiment, number(*f.Score), f.Expected)
		}
		switch {
		case f.Follow == 1:
			text.WriteString(", and 1 more that follows from it")
		case f.Follow > 1:
			fmt.Fprintf(&text, ", and %d more that follow from it", f.Follow)
		}
		text.WriteString("\n")
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&text, "note  %s: %s\n", r.Name, note)
	}
	if verbose {
		for _, o := range r.Experiments {
			fmt.Fprintf(&text, "      %-9s %s: %s, expected %s", o.Rule, o.Name, number(o.Score), o.Expected)
			if o.Equivalent {
				text.WriteString("; equivalent")
			}
			text.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// number formats a score with up to six decimals.
func number(score float64) string {
	text := strconv.FormatFloat(score, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
