package manifest

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (c contents) checkWorkload(w workload) []error {
	var errs []error
	selector, err := metav1.LabelSelectorAsSelector(w.selector)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("selector: %w", err))
	case selector.Empty() || !selector.Matches(labels.Set(w.template.Labels)):
		errs = append(errs, fmt.Errorf("selector %s does not select its own pods", selector))
	}
	pod := w.template.Spec
	if pod.ServiceAccountName != "" && !c.accounts[pod.ServiceAccountName] {
		errs = append(errs, fmt.Errorf("no ServiceAccount %q", pod.ServiceAccountName))
	}
	volumes := map[string]bool{}
	for _, claim := range w.claims {
		volumes[claim.Name] = true
	}
	for _, volume := range pod.Volumes {
		volumes[volume.Name] = true
		if volume.ConfigMap != nil && !c.configMaps[volume.ConfigMap.Name] {
			errs = append(errs, fmt.Errorf("volume %s: no ConfigMap %q", volume.Name, volume.ConfigMap.Name))
		}
	}
	for _, container := range pod.Containers {
		found := c.checkEnvironment(container)
		for _, mount := range container.VolumeMounts {
			if !volumes[mount.Name] {
				found = append(found, fmt.Errorf("no volume %q", mount.Name))
			}
		}
		found = append(found, checkProbes(w, container)...)
		found = append(found, checkPrivileges(pod, container)...)
		errs = append(errs, prefix("container "+container.Name, found)...)
	}
	return prefix(w.name, errs)
}

func (c contents) checkEnvironment(container corev1.Container) []error {
	var errs []error
	for _, source := range container.EnvFrom {
		if source.ConfigMapRef != nil && !c.configMaps[source.ConfigMapRef.Name] {
			errs = append(errs, fmt.Errorf("no ConfigMap %q", source.ConfigMapRef.Name))
		}
	}
	for _, variable := range container.Env {
		if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil && !c.configMaps[from.ConfigMapKeyRef.Name] {
			errs = append(errs, fmt.Errorf("%s: no ConfigMap %q", variable.Name, from.ConfigMapKeyRef.Name))
		}
	}
	return errs
}

func checkProbes(w workload, container corev1.Container) []error {
	var errs []error
	for _, probe := range []struct {
		name  string
		probe *corev1.Probe
	}{{"livenessProbe", container.LivenessProbe}, {"readinessProbe", container.ReadinessProbe}} {
		port, ok := probePort(probe.probe)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: none given, expected gRPC or HTTP", probe.name))
		case !hasPort(w.template, port):
			errs = append(errs, fmt.Errorf("%s: no port %s", probe.name, port.String()))
		}
	}
	return errs
}

func probePort(probe *corev1.Probe) (port intstr.IntOrString, ok bool) {
	switch {
	case probe != nil && probe.GRPC != nil:
		return intstr.FromInt32(probe.GRPC.Port), true
	case probe != nil && probe.HTTPGet != nil:
		return probe.HTTPGet.Port, true
	default:
		return intstr.IntOrString{}, false
	}
}

func checkPrivileges(pod corev1.PodSpec, container corev1.Container) []error {
	var errs []error
	if pod.SecurityContext == nil || !isTrue(pod.SecurityContext.RunAsNonRoot) {
		errs = append(errs, errors.New("runAsNonRoot of the pod is not true"))
	}
	own := container.SecurityContext
	if own == nil || !isTrue(own.ReadOnlyRootFilesystem) {
		errs = append(errs, errors.New("readOnlyRootFilesystem is not true"))
	}
	if own == nil || own.AllowPrivilegeEscalation == nil || *own.AllowPrivilegeEscalation {
		errs = append(errs, errors.New("allowPrivilegeEscalation is not false"))
	}
	if container.Resources.Requests.Cpu().IsZero() || container.Resources.Limits.Memory().IsZero() {
		errs = append(errs, errors.New("resources: expected a CPU request and a memory limit"))
	}
	return errs
}

func isTrue(b *bool) bool { return b != nil && *b }
