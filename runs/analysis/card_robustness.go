package analysis

import (
	"math"
	"slices"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// environment are the augmentations that change which tools there are and how a call is written,
// prompt those that change only what the agent reads about the tools.
var (
	environment = []setupv1.Augmentation{
		setupv1.Augmentation_AUGMENTATION_THREE_DISTRACTION_TOOLS, setupv1.Augmentation_AUGMENTATION_TEN_DISTRACTION_TOOLS,
		setupv1.Augmentation_AUGMENTATION_ALL_TOOLS, setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED, setupv1.Augmentation_AUGMENTATION_ARG_NAME_SCRAMBLED,
	}
	prompt = []setupv1.Augmentation{
		setupv1.Augmentation_AUGMENTATION_TOOL_DESCRIPTION_SCRAMBLED, setupv1.Augmentation_AUGMENTATION_ARG_DESCRIPTION_SCRAMBLED,
		setupv1.Augmentation_AUGMENTATION_ARG_TYPE_SCRAMBLED,
	}
)

// robustness returns the rates of passes in variants, divided by those in their controls, 1 at
// most.
func (r *Run) robustness(passAt float64) []Metric {
	return []Metric{
		{Name: "robustness_fault_injection", title: "robustness: faults", NotMeasurable: noFault},
		r.robustTo("robustness_structural", "robustness: environment", environment, passAt, noEnvironment),
		r.robustTo("robustness_prompt_variation", "robustness: prompt", prompt, passAt, noPrompt),
	}
}

// robustTo returns the robustness to variants whose last augmentation is one of these. Each is
// compared with the variant of the same scenario that lacks this augmentation, its control.
func (r *Run) robustTo(name, title string, augmentations []setupv1.Augmentation, passAt float64, otherwise string) Metric {
	m := Metric{Name: name, title: title, Unit: unitPairs}
	rates := r.passRates(passAt)
	sums := newClusterSums(2)
	var perturbed []statistics.Observation
	for _, plain := range r.plainScenarios() {
		for _, v := range scenario.NamedVariants()[1:] {
			last := len(v.Augmentations) - 1
			control, ok := rates[plain.name+suffixOf(v.Augmentations[:last])]
			if rate, played := rates[plain.name+v.Suffix]; ok && played && slices.Contains(augmentations, v.Augmentations[last]) {
				sums.add(plain.base, rate, control)
				perturbed = append(perturbed, statistics.Observation{Cluster: plain.base, Value: rate})
			}
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
		exact, _ := statistics.ExactRate(perturbed)
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
