package manifest

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/yaml"
)

// workload is the common part of a Deployment, a StatefulSet and a Job.
type workload struct {
	name     string
	replicas *int32                // nil for 1
	service  string                // of a StatefulSet
	selector *metav1.LabelSelector // nil for a Job
	template corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim
}

// deployment holds the objects to check and the errors found.
type deployment struct {
	workloads []workload
	services  map[string]*corev1.Service
	policies  []*networkingv1.NetworkPolicy
	// named holds the objects that pods refer to, as "ConfigMap settings-5f2c".
	named map[string]bool
	errs  []error
}

// newDeployment sorts objects.
func newDeployment(objects []runtime.Object) *deployment {
	d := &deployment{services: map[string]*corev1.Service{}, named: map[string]bool{}}
	for _, object := range objects {
		switch o := object.(type) {
		case *appsv1.Deployment:
			d.named["Deployment "+o.Name] = true
			d.workloads = append(d.workloads, workload{o.Name, o.Spec.Replicas, "", o.Spec.Selector, o.Spec.Template, nil})
		case *appsv1.StatefulSet:
			d.named["StatefulSet "+o.Name] = true
			d.workloads = append(d.workloads,
				workload{o.Name, o.Spec.Replicas, o.Spec.ServiceName, o.Spec.Selector, o.Spec.Template, o.Spec.VolumeClaimTemplates})
		case *batchv1.Job:
			d.workloads = append(d.workloads, workload{o.Name, nil, "", nil, o.Spec.Template, nil})
		case *corev1.Service:
			d.services[o.Name] = o
		case *networkingv1.NetworkPolicy:
			d.policies = append(d.policies, o)
		case *corev1.ConfigMap:
			d.named["ConfigMap "+o.Name] = true
		case *corev1.Secret:
			d.named["Secret "+o.Name] = true
		case *certmanagerv1.Certificate:
			d.named["Secret "+o.Spec.SecretName] = true
		case *certmanagerv1.Issuer:
			d.named["Issuer "+o.Name] = true
		case *corev1.PersistentVolumeClaim:
			d.named["PersistentVolumeClaim "+o.Name] = true
		case *schedulingv1.PriorityClass:
			for _, w := range d.workloads {
				if w.template.Spec.PriorityClassName == o.Name {
					d.report("PriorityClass %s: expected before %s, whose pods would be refused", o.Name, w.name)
				}
			}
			d.named["PriorityClass "+o.Name] = true
		}
	}
	return d
}

// Check reports inconsistencies between the objects: a selector that selects no pod, a reference to
// a missing object, a port that no container has, a pod that the restricted standard forbids or
// that is killed before it has drained.
func Check(objects []runtime.Object) error {
	d := newDeployment(objects)
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

// refer reports a reference to a missing object.
func (d *deployment) refer(who, kind, name string) {
	if !d.named[kind+" "+name] {
		d.report("%s: no %s %q", who, kind, name)
	}
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
		d.checkSettings("ConfigMap "+o.Name, o.Data["settings.yaml"])
		d.checkSettings("ConfigMap "+o.Name, o.Data["sweep.yaml"])
	case *schedulingv1.PriorityClass, *kueuev1beta2.ClusterQueue, *kueuev1beta2.ResourceFlavor:
		if o, ok := o.(metav1.Object); ok && o.GetNamespace() != "" {
			d.report("%s: it belongs to no namespace, not to %s", o.GetName(), o.GetNamespace())
		}
	case *policyv1.PodDisruptionBudget:
		d.selected("PodDisruptionBudget "+o.Name, o.Spec.Selector)
	case *networkingv1.NetworkPolicy:
		d.checkPolicy("NetworkPolicy "+o.Name, o.Spec)
	case *autoscalingv2.HorizontalPodAutoscaler:
		d.checkScaled("HorizontalPodAutoscaler "+o.Name, o.Spec.ScaleTargetRef.Kind, o.Spec.ScaleTargetRef.Name)
	case *ScaledObject:
		d.checkScaled("ScaledObject "+o.Name, "Deployment", o.Spec.ScaleTargetRef.Name)
	case *certmanagerv1.Certificate:
		d.refer("Certificate "+o.Name, o.Spec.IssuerRef.Kind, o.Spec.IssuerRef.Name)
	case *certmanagerv1.Issuer:
		if o.Spec.CA != nil {
			d.refer("Issuer "+o.Name, "Secret", o.Spec.CA.SecretName)
		}
	}
}

// checkScaled checks that an autoscaler's workload exists and does not set the number of its
// replicas itself: each apply would undo the autoscaler's.
func (d *deployment) checkScaled(who, kind, name string) {
	d.refer(who, kind, name)
	for _, w := range d.workloads {
		if w.name == name && w.replicas != nil {
			d.report("%s: %s %s sets its replicas itself", who, kind, name)
		}
	}
}

// checkSettings checks the addresses in a file of settings.
func (d *deployment) checkSettings(who, text string) {
	settings := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &settings); err != nil {
		d.report("%s: %w", who, err)
	}
	for key, value := range settings {
		if !strings.HasSuffix(key, "-addr") && key != "nats-url" && key != "otlp-endpoint" {
			continue
		}
		addresses, ok := value.([]any)
		if !ok {
			addresses = []any{value}
		}
		d.checkAddresses(who+": "+key, addresses)
	}
}

// checkAddresses checks that each address has the port of a Service of this deployment, unless it
// names another namespace.
func (d *deployment) checkAddresses(who string, addresses []any) {
	for _, address := range addresses {
		text := fmt.Sprint(address)
		_, rest, ok := strings.Cut(text, "://")
		if !ok {
			rest = text
		}
		host, port, err := net.SplitHostPort(rest)
		if err != nil {
			d.report("%s: %w", who, err)
			continue
		}
		if strings.HasSuffix(host, ".svc") {
			continue
		}
		name := host[strings.LastIndex(host, ".")+1:]
		service := d.services[name]
		if service == nil || !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == port }) {
			d.report("%s: %s: no Service %q with port %s", who, text, name, port)
			continue
		}
		if host != name {
			d.report("%s: %s names a pod, expected the Service %q", who, text, name)
		}
	}
}

func (d *deployment) checkWorkload(w workload) {
	if w.selector != nil {
		if own := d.selected(w.name, w.selector); len(own) != 1 || own[0].name != w.name {
			d.report("%s: its selector selects other pods than its own", w.name)
		}
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
		who := w.name + ": volume " + volume.Name
		if from := volume.ConfigMap; from != nil {
			d.refer(who, "ConfigMap", from.Name)
		}
		if from := volume.Secret; from != nil && !isTrue(from.Optional) {
			d.refer(who, "Secret", from.SecretName)
		}
		if from := volume.PersistentVolumeClaim; from != nil {
			d.refer(who, "PersistentVolumeClaim", from.ClaimName)
		}
	}
	if class := w.template.Spec.PriorityClassName; class != "" {
		d.refer(w.name, "PriorityClass", class)
	}
	d.checkPod(w)
	for _, container := range w.template.Spec.InitContainers {
		d.checkContainer(w.name+": container "+container.Name, w.service, container, volumes)
	}
	for _, container := range w.template.Spec.Containers {
		d.checkContainer(w.name+": container "+container.Name, w.service, container, volumes)
		d.checkProbes(w.name+": container "+container.Name, w, container)
	}
}

func (d *deployment) checkContainer(who, governing string, container corev1.Container, volumes map[string]bool) {
	for _, source := range container.EnvFrom {
		if from := source.ConfigMapRef; from != nil {
			d.refer(who, "ConfigMap", from.Name)
		}
	}
	for _, mount := range container.VolumeMounts {
		if !volumes[mount.Name] {
			d.report("%s: no volume %q", who, mount.Name)
		}
	}
	for _, variable := range container.Env {
		if strings.HasSuffix(variable.Name, "_ADDR") || variable.Name == "TOOLSANDBOX_NATS_URL" {
			d.checkAddresses(who+": "+variable.Name, []any{variable.Value})
		}
		if strings.HasSuffix(variable.Name, "_ANNOUNCE") { // kubelet fills in the name of the pod
			service, isPod := strings.CutPrefix(variable.Value, "$(POD_NAME).")
			if !isPod || !strings.HasPrefix(service, governing+":") {
				d.report("%s: %s: %s, expected $(POD_NAME).%s and its port", who, variable.Name, variable.Value, governing)
			}
			d.checkAddresses(who+": "+variable.Name, []any{service})
		}
	}
	if !strings.Contains(container.Image, "@sha256:") && (!strings.Contains(container.Image, ":") || strings.HasSuffix(container.Image, ":latest")) {
		d.report("%s: image %s: expected a digest or a tag that stays", who, container.Image)
	}
	if container.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		d.report("%s: expected terminationMessagePolicy FallbackToLogsOnError: the pod says why it ended", who)
	}
	if context := container.SecurityContext; context == nil || !isTrue(context.ReadOnlyRootFilesystem) {
		d.report("%s: expected readOnlyRootFilesystem", who)
	}
	if container.Resources.Requests.Cpu().IsZero() || container.Resources.Limits.Memory().IsZero() {
		d.report("%s: resources: expected a CPU request and a memory limit", who)
	}
}

func (d *deployment) checkProbes(who string, w workload, container corev1.Container) {
	for i, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		switch {
		case w.selector == nil: // a Job
		case probe != nil && probe.GRPC != nil && w.hasPort(intstr.FromInt32(probe.GRPC.Port)):
		case probe != nil && probe.HTTPGet != nil && w.hasPort(probe.HTTPGet.Port):
		case probe != nil && probe.TCPSocket != nil && w.hasPort(probe.TCPSocket.Port):
		default:
			d.report("%s: no %s probe at a port that it has", who, []string{"startup", "liveness", "readiness"}[i])
		}
	}
}

// selected returns the workloads whose pods a selector selects. It reports an empty selection.
func (d *deployment) selected(who string, selector *metav1.LabelSelector) []workload {
	found, err := d.matching(selector)
	if err != nil {
		d.report("%s: selector: %w", who, err)
	} else if len(found) == 0 {
		d.report("%s: selector %s selects no pod", who, metav1.FormatLabelSelector(selector))
	}
	return found
}

func (d *deployment) matching(selector *metav1.LabelSelector) ([]workload, error) {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}
	var found []workload
	for _, w := range d.workloads {
		if parsed.Matches(labels.Set(w.template.Labels)) {
			found = append(found, w)
		}
	}
	return found, nil
}

func (w workload) hasPort(port intstr.IntOrString) bool {
	return slices.ContainsFunc(w.template.Spec.Containers, func(container corev1.Container) bool {
		return slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool {
			return port.Type == intstr.String && p.Name == port.StrVal || port.Type == intstr.Int && p.ContainerPort == port.IntVal
		})
	})
}

func isTrue(b *bool) bool { return b != nil && *b }
