package manifest

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// workload is the common part of a Deployment and a StatefulSet.
type workload struct {
	name     string
	replicas *int32 // nil for 1
	service  string // of a StatefulSet
	selector *metav1.LabelSelector
	template corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim
}

// deployment holds the objects to check and the errors found.
type deployment struct {
	workloads []workload
	services  map[string]*corev1.Service
	configs   map[string]*corev1.ConfigMap
	errs      []error
}

// Check reports inconsistencies between the objects: a selector that selects no pod, a reference to
// a missing object, a port that no container has, or a container that may become root or write to
// its root file system.
func Check(objects []runtime.Object) error {
	d := deployment{services: map[string]*corev1.Service{}, configs: map[string]*corev1.ConfigMap{}}
	for _, object := range objects {
		switch o := object.(type) {
		case *appsv1.Deployment:
			d.workloads = append(d.workloads, workload{o.Name, o.Spec.Replicas, "", o.Spec.Selector, o.Spec.Template, nil})
		case *appsv1.StatefulSet:
			d.workloads = append(d.workloads,
				workload{o.Name, o.Spec.Replicas, o.Spec.ServiceName, o.Spec.Selector, o.Spec.Template, o.Spec.VolumeClaimTemplates})
		case *corev1.Service:
			d.services[o.Name] = o
		case *corev1.ConfigMap:
			d.configs[o.Name] = o
		}
	}
	for _, object := range objects {
		d.checkObject(object)
	}
	for _, w := range d.workloads {
		d.checkWorkload(w)
	}
	return errors.Join(d.errs...)
}

func (d *deployment) report(format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf(format, args...))
}

func (d *deployment) checkObject(object runtime.Object) {
	switch o := object.(type) {
	case *corev1.Service:
		for _, w := range d.selected("Service "+o.Name, &metav1.LabelSelector{MatchLabels: o.Spec.Selector}) {
			for _, port := range o.Spec.Ports {
				target := port.TargetPort
				if target == (intstr.IntOrString{}) {
					target = intstr.FromInt32(port.Port)
				}
				if !w.hasPort(target) {
					d.report("Service %s: %s has no port %s", o.Name, w.name, target.String())
				}
			}
		}
	case *corev1.ConfigMap:
		for _, key := range slices.Sorted(maps.Keys(o.Data)) {
			if strings.HasSuffix(key, "_ADDR") || strings.HasSuffix(key, "_URL") {
				d.checkAddresses("ConfigMap "+o.Name+": "+key, strings.Split(o.Data[key], ","))
			}
		}
	case *policyv1.PodDisruptionBudget:
		d.selected("PodDisruptionBudget "+o.Name, o.Spec.Selector)
	case *networkingv1.NetworkPolicy:
		d.checkPolicy("NetworkPolicy "+o.Name, o.Spec)
	}
}

// checkAddresses checks that each address has the port of a Service of this deployment. Addresses
// of pods must list all replicas in order.
func (d *deployment) checkAddresses(who string, addresses []string) {
	for i, address := range addresses {
		_, rest, ok := strings.Cut(address, "://")
		if !ok {
			rest = address
		}
		host, port, err := net.SplitHostPort(rest)
		if err != nil {
			d.report("%s: %w", who, err)
			continue
		}
		name := host[strings.LastIndex(host, ".")+1:]
		service := d.services[name]
		if service == nil || !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == port }) {
			d.report("%s: %s: no Service %q with port %s", who, address, name, port)
			continue
		}
		if host == name {
			continue
		}
		at := slices.IndexFunc(d.workloads, func(w workload) bool { return w.service == name })
		if at < 0 {
			d.report("%s: %s: no StatefulSet has the Service %q", who, address, name)
			continue
		}
		replicas := 1
		if n := d.workloads[at].replicas; n != nil {
			replicas = int(*n)
		}
		if want := fmt.Sprintf("%s-%d.%s", d.workloads[at].name, i, name); host != want || len(addresses) != replicas {
			d.report("%s: %s is address %d of %d, expected %s of %d replicas", who, host, i+1, len(addresses), want, replicas)
		}
	}
}

func (d *deployment) checkPolicy(who string, spec networkingv1.NetworkPolicySpec) {
	pods := d.selected(who, &spec.PodSelector)
	for _, rule := range spec.Ingress {
		for _, peer := range rule.From {
			if peer.PodSelector != nil && peer.NamespaceSelector == nil {
				d.selected(who, peer.PodSelector)
			}
		}
		for _, port := range rule.Ports {
			if port.Port != nil && !slices.ContainsFunc(pods, func(w workload) bool { return w.hasPort(*port.Port) }) {
				d.report("%s: no selected pod has port %s", who, port.Port.String())
			}
		}
	}
}

func (d *deployment) checkWorkload(w workload) {
	if own := d.selected(w.name, w.selector); len(own) != 1 || own[0].name != w.name {
		d.report("%s: its selector selects other pods than its own", w.name)
	}
	if w.service != "" && d.services[w.service] == nil {
		d.report("%s: no Service %q", w.name, w.service)
	}
	volumes := map[string]bool{}
	for _, claim := range w.claims {
		volumes[claim.Name] = true
	}
	for _, volume := range w.template.Spec.Volumes {
		volumes[volume.Name] = true
		if from := volume.ConfigMap; from != nil && d.configs[from.Name] == nil {
			d.report("%s: volume %s: no ConfigMap %q", w.name, volume.Name, from.Name)
		}
	}
	if context := w.template.Spec.SecurityContext; context == nil || !isTrue(context.RunAsNonRoot) {
		d.report("%s: runAsNonRoot of the pod is not true", w.name)
	}
	for _, container := range w.template.Spec.Containers {
		d.checkContainer(w.name+": container "+container.Name, w, container, volumes)
	}
}

func (d *deployment) checkContainer(who string, w workload, container corev1.Container, volumes map[string]bool) {
	for _, source := range container.EnvFrom {
		if from := source.ConfigMapRef; from != nil && d.configs[from.Name] == nil {
			d.report("%s: no ConfigMap %q", who, from.Name)
		}
	}
	for _, mount := range container.VolumeMounts {
		if !volumes[mount.Name] {
			d.report("%s: no volume %q", who, mount.Name)
		}
	}
	for i, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		switch {
		case probe != nil && probe.GRPC != nil && w.hasPort(intstr.FromInt32(probe.GRPC.Port)):
		case probe != nil && probe.HTTPGet != nil && w.hasPort(probe.HTTPGet.Port):
		default:
			d.report("%s: no %s probe by gRPC or HTTP at a port that it has", who, []string{"startup", "liveness", "readiness"}[i])
		}
	}
	own := container.SecurityContext
	if own == nil || !isTrue(own.ReadOnlyRootFilesystem) || own.AllowPrivilegeEscalation == nil || *own.AllowPrivilegeEscalation {
		d.report("%s: expected readOnlyRootFilesystem and no allowPrivilegeEscalation", who)
	}
	if container.Resources.Requests.Cpu().IsZero() || container.Resources.Limits.Memory().IsZero() {
		d.report("%s: resources: expected a CPU request and a memory limit", who)
	}
}

// selected returns the workloads whose pods a selector selects. It reports an empty selection.
func (d *deployment) selected(who string, selector *metav1.LabelSelector) []workload {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		d.report("%s: selector: %w", who, err)
		return nil
	}
	var found []workload
	for _, w := range d.workloads {
		if parsed.Matches(labels.Set(w.template.Labels)) {
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		d.report("%s: selector %s selects no pod", who, parsed)
	}
	return found
}

func (w workload) hasPort(port intstr.IntOrString) bool {
	return slices.ContainsFunc(w.template.Spec.Containers, func(container corev1.Container) bool {
		return slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool {
			return port.Type == intstr.String && p.Name == port.StrVal || port.Type == intstr.Int && p.ContainerPort == port.IntVal
		})
	})
}

func isTrue(b *bool) bool { return b != nil && *b }
