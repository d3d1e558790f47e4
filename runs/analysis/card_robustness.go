package analysis

import (
	"math"
	"slices"
	"strings"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// environment are the augmentations that change which tools there are and how a call is written,
// faults those that make calls fail, prompt those that change only what the agent reads about the
// tools.
var (
	environment = []setupv1.Augmentation{
		setupv1.Augmentation_AUGMENTATION_THREE_DISTRACTION_TOOLS, setupv1.Augmentation_AUGMENTATION_TEN_DISTRACTION_TOOLS,
		setupv1.Augmentation_AUGMENTATION_ALL_TOOLS, setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED, setupv1.Augmentation_AUGMENTATION_ARG_NAME_SCRAMBLED,
	}
	faults = []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_FAILING_TOOLS}
	prompt = []setupv1.Augmentation{
		setupv1.Augmentation_AUGMENTATION_TOOL_DESCRIPTION_SCRAMBLED, setupv1.Augmentation_AUGMENTATION_ARG_DESCRIPTION_SCRAMBLED,
		setupv1.Augmentation_AUGMENTATION_ARG_TYPE_SCRAMBLED,
	}
)

// robustness returns the rates of passes in variants, divided by those in their controls, 1 at
// most.
func (r *Run) robustness(passAt float64) []Metric {
	rates := r.passRates(passAt)
	return []Metric{
		robustTo("robustness_fault_injection", "robustness: faults", rates, r.variantPairs(faults), noFault),
		robustTo("robustness_structural", "robustness: environment", rates, r.variantPairs(environment), noEnvironment),
		robustTo("robustness_prompt_variation", "robustness: prompt", rates, append(r.variantPairs(prompt), r.paraphrasePairs()...), noPrompt),
	}
}

// pair is a perturbed scenario and its control, of one base scenario.
type pair struct{ perturbed, control, base string }

// variantPairs returns the variants whose last augmentation is one of these. The control is the
// variant of the same scenario that lacks this augmentation.
func (r *Run) variantPairs(augmentations []setupv1.Augmentation) []pair {
	var all []pair
	for _, plain := range r.plainScenarios() {
		for _, v := range scenario.NamedVariants()[1:] {
			last := len(v.Augmentations) - 1
			if slices.Contains(augmentations, v.Augmentations[last]) {
				all = append(all, pair{plain.name + v.Suffix, plain.name + suffixOf(v.Augmentations[:last]), plain.base})
			}
		}
	}
	return all
}

// paraphrasePairs returns the scenarios that only reword their seed. The control is the seed in the
// same variant.
func (r *Run) paraphrasePairs() []pair {
	var all []pair
	known := make(map[string]bool)
	for _, played := range r.rollouts {
		name := played.scenario
		if r.record == nil || known[name] || r.record.Lineages[name].Kind != scenario.Paraphrased {
			continue
		}
		known[name] = true
		all = append(all, pair{name, played.base + strings.TrimPrefix(name, scenario.BaseName(name)), played.base})
	}
	return all
}

// robustTo returns the robustness by the pairs that were both played.
func robustTo(name, title string, rates map[string]float64, pairs []pair, otherwise string) Metric {
	m := Metric{Name: name, title: title, Unit: unitPairs}
	sums := newClusterSums(2)
	var perturbed []statistics.Observation
	for _, p := range pairs {
		control, ok := rates[p.control]
		if rate, played := rates[p.perturbed]; ok && played {
			sums.add(p.base, rate, control)
			perturbed = append(perturbed, statistics.Observation{Cluster: p.base, Value: rate})
		}
	}
	if m.Count = len(perturbed); m.Count == 0 {
		return Metric{Name: name, title: title, NotMeasurable: otherwise}
	}
	m.resample(len(sums.number), func(drawn []float64) float64 {
		return min(1, sums.of(0, drawn)/sums.of(1, drawn)) // NaN without a control that passes
	}, noControlPassed)
	if m.Value != nil && m.Interval == nil && m.Scenarios > 1 {
		// All resamples are equal: the rate in variants alone limits what may be lost.
		exact := statistics.ExactRate(perturbed)
		controls := sums.of(1, slices.Repeat([]float64{1}, m.Scenarios)) / float64(m.Count)
		m.Interval = &statistics.Interval{Low: math.Min(*m.Value, exact.Low/controls), High: math.Max(*m.Value, math.Min(1, exact.High/controls))}
	}
	return m
}

// suffixOf returns the suffix of the variant with these augmentations.
func suffixOf(augmentations []setupv1.Augmentation) string {
	variants := scenario.NamedVariants()
	at := slices.IndexFunc(variants, func(v scenario.Variant) bool { return slices.Equal(v.Augmentations, augmentations) })
	return variants[max(at, 0)].Suffix
}

// passRates returns the rate of passes of each scenario with a scored trial.
func (r *Run) passRates(passAt float64) map[string]float64 {
	rates := make(map[string]float64)
	for name, s := range byScenario(r) {
		passed := 0
		for _, trial := range s.trials {
			if trial.passed(passAt) {
				passed++
			}
		}
		rates[name] = float64(passed) / float64(len(s.trials))
	}
	return rates
}

// plainScenario is a scenario without its variants, and the base scenario that it belongs to.
type plainScenario struct{ name, base string }

// plainScenarios returns the scenarios without their variants, in the order of the run.
func (r *Run) plainScenarios() []plainScenario {
	var all []plainScenario
	known := make(map[string]bool)
	for _, played := range r.rollouts {
		if name := scenario.BaseName(played.scenario); !known[name] {
			known[name] = true
			all = append(all, plainScenario{name, played.base})
		}
	}
	return all
}
