package manifest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// drainMargin is the time that a process has to end in after its grace.
const drainMargin = 10 * time.Second

// checkPod checks a pod against the restricted Pod Security Standard, as the admission of an API
// server does, and whether the kubelet waits for its drain.
func (d *deployment) checkPod(w workload) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		d.report("%s: %w", w.name, err)
		return
	}
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	spec := w.template.Spec.DeepCopy()
	if result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &w.template.ObjectMeta, spec)); !result.Allowed {
		d.report("%s: the restricted standard forbids it: %s", w.name, result.ForbiddenDetail())
	}
	for _, container := range spec.Containers {
		drain := drainMargin
		if hook := container.Lifecycle; hook != nil && hook.PreStop != nil && hook.PreStop.Sleep != nil {
			drain += time.Duration(hook.PreStop.Sleep.Seconds) * time.Second
		}
		grace, given := variable(container, "TOOLSANDBOX_GRACE")
		if !given {
			continue
		}
		wait, err := time.ParseDuration(grace)
		if err != nil {
			d.report("%s: TOOLSANDBOX_GRACE: %w", w.name, err)
		}
		drain += wait
		if given := spec.TerminationGracePeriodSeconds; given == nil || time.Duration(*given)*time.Second < drain {
			d.report("%s: terminationGracePeriodSeconds: expected at least %.0f for preStop, TOOLSANDBOX_GRACE and %s", w.name, drain.Seconds(), drainMargin)
		}
	}
}

// variable returns a variable of a container's environment.
func variable(container corev1.Container, name string) (string, bool) {
	for _, v := range container.Env {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}
