//go:build cluster

package cluster_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// state is what a namespace holds at a moment.
type state struct {
	deployments []appsv1.Deployment
	sets        []appsv1.StatefulSet
	replicaSets []appsv1.ReplicaSet
	jobs        []batchv1.Job
	pods        []corev1.Pod
	services    []corev1.Service
	slices      []discoveryv1.EndpointSlice
	budgets     []policyv1.PodDisruptionBudget
	policies    []networkingv1.NetworkPolicy
	autoscalers []autoscalingv2.HorizontalPodAutoscaler
}

// state reads a namespace.
func (c *cluster) state(namespace string) (*state, error) {
	all := metav1.ListOptions{}
	deployments, err1 := c.AppsV1().Deployments(namespace).List(c.ctx, all)
	sets, err2 := c.AppsV1().StatefulSets(namespace).List(c.ctx, all)
	replicaSets, err3 := c.AppsV1().ReplicaSets(namespace).List(c.ctx, all)
	jobs, err4 := c.BatchV1().Jobs(namespace).List(c.ctx, all)
	pods, err5 := c.CoreV1().Pods(namespace).List(c.ctx, all)
	services, err6 := c.CoreV1().Services(namespace).List(c.ctx, all)
	endpoints, err7 := c.DiscoveryV1().EndpointSlices(namespace).List(c.ctx, all)
	budgets, err8 := c.PolicyV1().PodDisruptionBudgets(namespace).List(c.ctx, all)
	policies, err9 := c.NetworkingV1().NetworkPolicies(namespace).List(c.ctx, all)
	autoscalers, err10 := c.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(c.ctx, all)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10); err != nil {
		return nil, err
	}
	return &state{
		deployments.Items, sets.Items, replicaSets.Items, jobs.Items, pods.Items, services.Items,
		endpoints.Items, budgets.Items, policies.Items, autoscalers.Items,
	}, nil
}

// check reports everything that is not as it has to be when the controllers have finished.
func (s *state) check() error {
	if len(s.pods) == 0 {
		return errors.New("no pods")
	}
	return errors.Join(s.rolledOut(), s.owned(), s.running(), s.reachable(), s.budgeted(), s.isolated(), s.scaled())
}

// rolledOut reports workloads whose current pods are not all there and ready, as kubectl rollout
// status and kubectl wait do, and Jobs that are neither complete nor suspended.
func (s *state) rolledOut() error {
	var errs []error
	for _, d := range s.deployments {
		want, got := *d.Spec.Replicas, d.Status
		if got.ObservedGeneration != d.Generation || got.Replicas != want || got.UpdatedReplicas != want || got.AvailableReplicas != want {
			errs = append(errs, fmt.Errorf("Deployment/%s: %d of %d pods are available, %d up to date: %s",
				d.Name, got.AvailableReplicas, want, got.UpdatedReplicas, messages(d.Status.Conditions)))
		}
	}
	for _, set := range s.sets {
		want, got := *set.Spec.Replicas, set.Status
		if got.ObservedGeneration != set.Generation || got.Replicas != want || got.UpdatedReplicas != want || got.AvailableReplicas != want {
			errs = append(errs, fmt.Errorf("StatefulSet/%s: %d of %d pods are available, %d up to date", set.Name, got.AvailableReplicas, want, got.UpdatedReplicas))
		}
	}
	for _, job := range s.jobs {
		want := batchv1.JobComplete
		if job.Spec.Suspend != nil && *job.Spec.Suspend {
			want = batchv1.JobSuspended
		}
		if !hasCondition(job, want) {
			errs = append(errs, fmt.Errorf("Job/%s is not %s: %v", job.Name, want, job.Status.Conditions))
		}
	}
	return errors.Join(errs...)
}

// hasCondition reports whether a condition of a Job is true.
func hasCondition(job batchv1.Job, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

// messages returns what conditions of a Deployment say.
func messages(conditions []appsv1.DeploymentCondition) string {
	var texts []string
	for _, c := range conditions {
		texts = append(texts, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(texts, ", ")
}

// workload returns the Deployment, StatefulSet or Job that an object belongs to, by its owners.
func (s *state) workload(object metav1.Object) (string, error) {
	owners := make(map[types.UID]metav1.Object)
	kinds := make(map[types.UID]string)
	add := func(kind string, owner metav1.Object) { owners[owner.GetUID()], kinds[owner.GetUID()] = owner, kind }
	for i := range s.deployments {
		add("Deployment", &s.deployments[i])
	}
	for i := range s.sets {
		add("StatefulSet", &s.sets[i])
	}
	for i := range s.jobs {
		add("Job", &s.jobs[i])
	}
	for i := range s.replicaSets {
		add("ReplicaSet", &s.replicaSets[i])
	}
	path, kind := object.GetName(), ""
	for {
		owner := metav1.GetControllerOf(object)
		if owner == nil {
			break
		}
		if owners[owner.UID] == nil || kinds[owner.UID] != owner.Kind || owners[owner.UID].GetName() != owner.Name {
			return "", fmt.Errorf("%s: its owner %s/%s does not exist", path, owner.Kind, owner.Name)
		}
		object, kind = owners[owner.UID], owner.Kind
		path += " of " + kind + "/" + owner.Name
	}
	if kind == "" || kind == "ReplicaSet" {
		return "", fmt.Errorf("%s: no workload owns it", path)
	}
	return kind + "/" + object.GetName(), nil
}

// owned reports pods that belong to no workload, and workloads with another number of pods than of
// replicas.
func (s *state) owned() error {
	var errs []error
	count := make(map[string]int32)
	for i := range s.pods {
		workload, err := s.workload(&s.pods[i])
		errs = append(errs, err)
		count[workload]++
	}
	want := make(map[string]int32)
	for _, d := range s.deployments {
		want["Deployment/"+d.Name] = *d.Spec.Replicas
	}
	for _, set := range s.sets {
		want["StatefulSet/"+set.Name] = *set.Spec.Replicas
	}
	for workload, replicas := range want {
		if count[workload] != replicas {
			errs = append(errs, fmt.Errorf("%s has %d pods, want %d", workload, count[workload], replicas))
		}
	}
	return errors.Join(errs...)
}

// done reports whether a pod has ended.
func done(pod corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// running reports pods that are not ready, that leave, or that admission gave a token of the API.
func (s *state) running() error {
	var errs []error
	for _, pod := range s.pods {
		if pod.DeletionTimestamp != nil {
			errs = append(errs, fmt.Errorf("Pod/%s leaves", pod.Name))
		}
		if !done(pod) && !podReady(pod) {
			errs = append(errs, fmt.Errorf("Pod/%s is %s: %v", pod.Name, pod.Status.Phase, pod.Status.Conditions))
		}
		for _, volume := range pod.Spec.Volumes {
			if volume.Projected != nil {
				errs = append(errs, fmt.Errorf("Pod/%s: the volume %s holds a token of the API", pod.Name, volume.Name))
			}
		}
	}
	return errors.Join(errs...)
}

func podReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// spread reports workloads all of whose pods are on one node. The scheduler spreads new pods when
// all nodes are open; those of a closed node go where there is room.
func (s *state) spread() error {
	nodes := make(map[string][]string)
	for i := range s.pods {
		if workload, err := s.workload(&s.pods[i]); err == nil {
			nodes[workload] = append(nodes[workload], s.pods[i].Spec.NodeName)
		}
	}
	var errs []error
	for workload, names := range nodes {
		if slices.Sort(names); len(names) > 1 && len(slices.Compact(slices.Clone(names))) == 1 {
			errs = append(errs, fmt.Errorf("%s: its %d pods are all on %s", workload, len(names), names[0]))
		}
	}
	return errors.Join(errs...)
}

// selected returns the pods, by name, that a selector selects and keep keeps. None is an error.
func (s *state) selected(who string, selector *metav1.LabelSelector, keep func(corev1.Pod) bool) (map[string]corev1.Pod, error) {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	pods := make(map[string]corev1.Pod)
	for _, pod := range s.pods {
		if parsed.Matches(labels.Set(pod.Labels)) && keep(pod) {
			pods[pod.Name] = pod
		}
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("%s: %s selects no pod", who, metav1.FormatLabelSelector(selector))
	}
	return pods, nil
}

func alive(pod corev1.Pod) bool { return !done(pod) }
func every(corev1.Pod) bool     { return true }

// reachable reports Services whose EndpointSlices are not the addresses and ports of their pods.
func (s *state) reachable() error {
	var errs []error
	for _, service := range s.services {
		who := "Service/" + service.Name
		pods, err := s.selected(who, &metav1.LabelSelector{MatchLabels: service.Spec.Selector}, alive)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		want := make(map[string]bool)
		for _, pod := range pods {
			for _, port := range service.Spec.Ports {
				number, err := containerPort(pod, port)
				errs = append(errs, err)
				want[fmt.Sprintf("%s %s:%d ready", pod.Name, pod.Status.PodIP, number)] = true
			}
		}
		got := make(map[string]bool)
		for _, slice := range s.slices {
			if slice.Labels[discoveryv1.LabelServiceName] == service.Name {
				maps.Copy(got, endpoints(slice))
			}
		}
		if !maps.Equal(want, got) {
			errs = append(errs, fmt.Errorf("%s: its endpoints are %v, want %v", who, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))))
		}
	}
	return errors.Join(errs...)
}

// containerPort returns the port of a pod to which a Service's port leads.
func containerPort(pod corev1.Pod, port corev1.ServicePort) (int32, error) {
	for _, container := range pod.Spec.Containers {
		for _, p := range container.Ports {
			if p.Name == port.TargetPort.StrVal || p.ContainerPort == port.TargetPort.IntVal {
				return p.ContainerPort, nil
			}
		}
	}
	return 0, fmt.Errorf("Pod/%s has no port %s", pod.Name, port.TargetPort.String())
}

// endpoints returns pod, address, port and readiness of each endpoint.
func endpoints(slice discoveryv1.EndpointSlice) map[string]bool {
	found := make(map[string]bool)
	for _, endpoint := range slice.Endpoints {
		pod, ready := "no pod", "not ready"
		if endpoint.TargetRef != nil && endpoint.TargetRef.Kind == "Pod" {
			pod = endpoint.TargetRef.Name
		}
		if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
			ready = "ready"
		}
		for _, port := range slice.Ports {
			for _, address := range endpoint.Addresses {
				found[fmt.Sprintf("%s %s:%d %s", pod, address, *port.Port, ready)] = true
			}
		}
	}
	return found
}

// budgeted reports PodDisruptionBudgets whose counts are not those of their pods, or that let no
// pod be evicted.
func (s *state) budgeted() error {
	var errs []error
	for _, budget := range s.budgets {
		who, got := "PodDisruptionBudget/"+budget.Name, budget.Status
		pods, err := s.selected(who, budget.Spec.Selector, alive)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		number := int32(len(pods))
		allowed := meta.IsStatusConditionTrue(got.Conditions, policyv1.DisruptionAllowedCondition)
		if got.ObservedGeneration != budget.Generation || got.ExpectedPods != number || got.CurrentHealthy != number || got.DisruptionsAllowed != 1 || !allowed {
			errs = append(errs, fmt.Errorf("%s: %d pods expected, %d healthy, %d disruptions allowed, want %d, %d and 1: %v",
				who, got.ExpectedPods, got.CurrentHealthy, got.DisruptionsAllowed, number, number, got.Conditions))
		}
	}
	return errors.Join(errs...)
}

// isolated reports NetworkPolicies that select no pod, and pods that none isolates in a direction.
func (s *state) isolated() error {
	var errs []error
	isolated := make(map[string]bool)
	for _, policy := range s.policies {
		pods, err := s.selected("NetworkPolicy/"+policy.Name, &policy.Spec.PodSelector, every)
		errs = append(errs, err)
		for pod := range pods {
			for _, direction := range policy.Spec.PolicyTypes {
				isolated[pod+" "+string(direction)] = true
			}
		}
	}
	for _, pod := range s.pods {
		for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
			if !isolated[pod.Name+" "+string(direction)] {
				errs = append(errs, fmt.Errorf("Pod/%s: no NetworkPolicy is about its %s", pod.Name, direction))
			}
		}
	}
	return errors.Join(errs...)
}

// scaled reports HorizontalPodAutoscalers that cannot scale their target, or have not raised it to
// their minimum. There are no metrics.
func (s *state) scaled() error {
	var errs []error
	for _, autoscaler := range s.autoscalers {
		able := slices.ContainsFunc(autoscaler.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
			return c.Type == autoscalingv2.AbleToScale && c.Status == corev1.ConditionTrue
		})
		if got, want := autoscaler.Status.CurrentReplicas, *autoscaler.Spec.MinReplicas; !able || got < want {
			errs = append(errs, fmt.Errorf("HorizontalPodAutoscaler/%s: %d replicas, want at least %d: %v", autoscaler.Name, got, want, autoscaler.Status.Conditions))
		}
	}
	return errors.Join(errs...)
}
