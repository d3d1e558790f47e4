package manifest

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// workload is what a Deployment and a StatefulSet have in common.
type workload struct {
	name     string
	replicas int32
	service  string // of a StatefulSet
	selector *metav1.LabelSelector
	template corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim
}

// contents sorts the objects of a deployment by what is checked about them.
type contents struct {
	workloads  []workload
	services   map[string]*corev1.Service
	configMaps map[string]bool
	accounts   map[string]bool
}

// Check reports everything by which the objects do not fit together: a selector that selects no
// pod, a reference to an object that is not there, a port that no container has, a container that
// may become root or write to its own file system.
func Check(objects []runtime.Object) error {
	c := contents{services: map[string]*corev1.Service{}, configMaps: map[string]bool{}, accounts: map[string]bool{"default": true}}
	var errs []error
	for _, object := range objects {
		switch o := object.(type) {
		case *appsv1.Deployment:
			c.workloads = append(c.workloads, workload{
				name: o.Name, replicas: replicas(o.Spec.Replicas), selector: o.Spec.Selector, template: o.Spec.Template,
			})
		case *appsv1.StatefulSet:
			c.workloads = append(c.workloads, workload{
				name: o.Name, replicas: replicas(o.Spec.Replicas), service: o.Spec.ServiceName, selector: o.Spec.Selector,
				template: o.Spec.Template, claims: o.Spec.VolumeClaimTemplates,
			})
		case *corev1.Service:
			c.services[o.Name] = o
		case *corev1.ConfigMap:
			c.configMaps[o.Name] = true
		case *corev1.ServiceAccount:
			c.accounts[o.Name] = true
		}
	}
	for _, object := range objects {
		errs = append(errs, c.checkObject(object)...)
	}
	for _, w := range c.workloads {
		errs = append(errs, c.checkWorkload(w)...)
	}
	return errors.Join(errs...)
}

func (c contents) checkObject(object runtime.Object) []error {
	switch o := object.(type) {
	case *corev1.Service:
		return c.checkService(o)
	case *corev1.ConfigMap:
		return prefix("ConfigMap "+o.Name, c.checkAddresses(o))
	case *policyv1.PodDisruptionBudget:
		return prefix("PodDisruptionBudget "+o.Name, c.checkSelector(o.Spec.Selector))
	case *networkingv1.NetworkPolicy:
		return prefix("NetworkPolicy "+o.Name, c.checkPolicy(o.Spec))
	case *appsv1.StatefulSet:
		if c.services[o.Spec.ServiceName] == nil {
			return []error{fmt.Errorf("StatefulSet %s: no Service %q", o.Name, o.Spec.ServiceName)}
		}
	}
	return nil
}

func (c contents) checkService(service *corev1.Service) []error {
	pods := c.selected(labels.SelectorFromSet(service.Spec.Selector))
	if len(pods) == 0 {
		return []error{fmt.Errorf("service %s: its selector selects no pod", service.Name)}
	}
	var errs []error
	for _, port := range service.Spec.Ports {
		target := port.TargetPort
		if target == (intstr.IntOrString{}) {
			target = intstr.FromInt32(port.Port)
		}
		for _, pod := range pods {
			if !hasPort(pod.template, target) {
				errs = append(errs, fmt.Errorf("service %s: %s has no port %s", service.Name, pod.name, target.String()))
			}
		}
	}
	return errs
}

func (c contents) checkPolicy(spec networkingv1.NetworkPolicySpec) []error {
	errs := c.checkSelector(&spec.PodSelector)
	for _, rule := range spec.Ingress {
		for _, peer := range rule.From {
			if peer.PodSelector != nil && peer.NamespaceSelector == nil {
				errs = append(errs, c.checkSelector(peer.PodSelector)...)
			}
		}
		for _, port := range rule.Ports {
			if port.Port != nil && !c.targetHasPort(spec.PodSelector, *port.Port) {
				errs = append(errs, fmt.Errorf("no selected pod has port %s", port.Port.String()))
			}
		}
	}
	return errs
}

func (c contents) targetHasPort(selector metav1.LabelSelector, port intstr.IntOrString) bool {
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return false
	}
	for _, pod := range c.selected(parsed) {
		if hasPort(pod.template, port) {
			return true
		}
	}
	return false
}

func (c contents) checkSelector(selector *metav1.LabelSelector) []error {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return []error{fmt.Errorf("selector: %w", err)}
	}
	if len(c.selected(parsed)) == 0 {
		return []error{fmt.Errorf("selector %s selects no pod", parsed)}
	}
	return nil
}

// selected returns the workloads whose pods have the labels.
func (c contents) selected(selector labels.Selector) []workload {
	var found []workload
	for _, w := range c.workloads {
		if selector.Matches(labels.Set(w.template.Labels)) {
			found = append(found, w)
		}
	}
	return found
}

// replicas returns the number that a workload asks for; 1 is the default.
func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func hasPort(pod corev1.PodTemplateSpec, port intstr.IntOrString) bool {
	for _, container := range pod.Spec.Containers {
		for _, p := range container.Ports {
			if port.Type == intstr.String && p.Name == port.StrVal || port.Type == intstr.Int && p.ContainerPort == port.IntVal {
				return true
			}
		}
	}
	return false
}

func prefix(name string, errs []error) []error {
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s: %w", name, err)
	}
	return errs
}
