//go:build cluster

package cluster_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/toolsandbox/toolsandbox/tools/k8s/chart"
	"github.com/toolsandbox/toolsandbox/tools/k8s/manifest"
)

// installation is objects that are installed together into a namespace.
type installation struct {
	*cluster
	namespace string
	objects   []*unstructured.Unstructured
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// kustomizations returns the objects that kustomize builds of directories of this repository.
func kustomizations(t *testing.T, dirs ...string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, dir := range dirs {
		documents, err := manifest.Render(filepath.Join(repository, filepath.FromSlash(dir)))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, decode(t, documents)...)
	}
	return objects
}

// install applies objects and removes them with the test, and everything in their namespace.
func (c *cluster) install(t *testing.T, namespace string, objects []*unstructured.Unstructured) *installation {
	t.Helper()
	i := &installation{c, namespace, objects}
	var volumes []*unstructured.Unstructured
	for n := range 10 {
		volumes = append(volumes, c.applyAll(t, decode(t, fmt.Appendf(nil, volume, n)))...)
	}
	t.Cleanup(func() {
		if c.ctx.Err() == nil {
			i.purge(t)
			c.removeAll(t, volumes)
		}
	})
	i.keeps(t, c.applyAll(t, objects))
	return i
}

// keeps reports values that the server has changed.
func (i *installation) keeps(t *testing.T, live []*unstructured.Unstructured) {
	t.Helper()
	for n, object := range i.objects {
		for _, difference := range missing(object.Object, live[n].Object, "") {
			t.Errorf("%s: the API server changes%s", name(object), difference)
		}
	}
}

// missing returns the values of a manifest that the live object has not.
func missing(want, got any, path string) []string {
	var found []string
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			found = append(found, missing(want[key], got[key], path+" "+key)...)
		}
	case []any:
		got, _ := got.([]any)
		if len(got) != len(want) {
			return []string{fmt.Sprintf("%s: %d elements to %d", path, len(want), len(got))}
		}
		for n := range want {
			found = append(found, missing(want[n], got[n], fmt.Sprintf("%s %d", path, n))...)
		}
	default:
		if want != got {
			found = append(found, fmt.Sprintf("%s: %v to %v", path, want, got))
		}
	}
	return found
}

// settle waits until everything is as it has to be.
func (i *installation) settle(t *testing.T, what string) {
	t.Helper()
	begin := time.Now()
	i.await(t, what, func() error {
		s, err := i.state(i.namespace)
		if err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return fmt.Errorf("%w\nwarnings: %s", err, strings.Join(i.warnings(t), "\n"))
		}
		return nil
	})
	t.Logf("%s: %.1f s", what, time.Since(begin).Seconds())
}

// warnings returns the warnings among the events of the namespace.
func (i *installation) warnings(t *testing.T) []string {
	t.Helper()
	events, err := i.CoreV1().Events(i.namespace).List(i.ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, event := range events.Items {
		texts = append(texts, fmt.Sprintf("%s/%s: %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// refused reports pods that the API server refused, though their controllers got them in later.
func (i *installation) refused(t *testing.T) {
	t.Helper()
	for _, warning := range i.warnings(t) {
		// In a new namespace a pod may be made before the account that every pod has.
		if strings.Contains(warning, ": FailedCreate: ") && !strings.Contains(warning, "service account") {
			t.Errorf("refused at first: %s", warning)
		}
	}
}

// applyAgain applies all objects again and compares.
func (i *installation) applyAgain(t *testing.T) {
	t.Helper()
	specified := func(object *unstructured.Unstructured) map[string]any {
		object = object.DeepCopy()
		delete(object.Object, "status")
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		return object.Object
	}
	for _, object := range i.objects {
		before, err := i.get(object)
		if err != nil {
			t.Fatalf("%s: %v", name(object), err)
		}
		after, err := i.apply(object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(specified(before), specified(after)); diff != "" {
			t.Errorf("%s: a second apply changes it (-before +after):\n%s", name(object), diff)
		}
	}
	i.settle(t, "apply again")
}

// services names the workloads that docs/kubernetes.md lets people scale.
var services = map[string]string{"orchestrator": "Deployment", "toolhost": "StatefulSet", "agentgw": "Deployment", "evaluator": "Deployment"}

// scale scales all services.
func (i *installation) scale(t *testing.T, replicas int32) {
	t.Helper()
	for name, kind := range services {
		scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: i.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		var err error
		if kind == "StatefulSet" {
			_, err = i.AppsV1().StatefulSets(i.namespace).UpdateScale(i.ctx, name, scale, metav1.UpdateOptions{})
		} else {
			_, err = i.AppsV1().Deployments(i.namespace).UpdateScale(i.ctx, name, scale, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatalf("scale %s/%s to %d: %v", kind, name, replicas, err)
		}
	}
	i.settle(t, fmt.Sprintf("scale to %d", replicas))
	s, err := i.state(i.namespace)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.spread(); err != nil {
		t.Errorf("scale to %d: %v", replicas, err)
	}
}

// restart restarts the pods of all services, as kubectl rollout restart does.
func (i *installation) restart(t *testing.T) {
	t.Helper()
	patch := []byte(`{"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}`)
	for name, kind := range services {
		resource := i.dynamic.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: strings.ToLower(kind) + "s"})
		if _, err := resource.Namespace(i.namespace).Patch(i.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatalf("restart %s/%s: %v", kind, name, err)
		}
	}
	i.settle(t, "restart")
}

// cordon closes nodes for new pods, or opens them.
func (i *installation) cordon(t *testing.T, closed bool, nodes ...string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"unschedulable": %t}}`, closed)
	for _, node := range nodes {
		if _, err := i.CoreV1().Nodes().Patch(i.ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// running returns the pods with labels, or on a node.
func (i *installation) running(options metav1.ListOptions) ([]corev1.Pod, error) {
	fields := []string{"status.phase=Running"}
	if options.FieldSelector != "" {
		fields = append(fields, options.FieldSelector)
	}
	options.FieldSelector = strings.Join(fields, ",")
	pods, err := i.CoreV1().Pods(i.namespace).List(i.ctx, options)
	if err != nil {
		return nil, err
	}
	return pods.Items, nil
}

func (i *installation) evict(pod corev1.Pod) error {
	return i.PolicyV1().Evictions(i.namespace).Evict(i.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: i.namespace}})
}

// disrupt evicts two pods of each service, whose replacements find no node: the budget lets one go.
func (i *installation) disrupt(t *testing.T) {
	t.Helper()
	i.cordon(t, true, nodes...)
	defer i.settle(t, "disrupt")
	defer i.cordon(t, false, nodes...)
	for service := range services {
		pods, err := i.running(metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + service})
		if err != nil || len(pods) < 2 {
			t.Fatalf("%s: %d pods, %v", service, len(pods), err)
		}
		if err := i.evict(pods[0]); err != nil {
			t.Errorf("eviction of Pod/%s: %v", pods[0].Name, err)
		}
		if err := i.evict(pods[1]); !apierrors.IsTooManyRequests(err) {
			t.Errorf("eviction of Pod/%s, a second one: got %v, want that PodDisruptionBudget/%s refuses it", pods[1].Name, err, service)
		}
	}
}

// drain evicts all pods from a node, as kubectl drain does.
func (i *installation) drain(t *testing.T, node string) {
	t.Helper()
	i.cordon(t, true, node)
	defer i.settle(t, "drain")
	defer i.cordon(t, false, node)
	i.await(t, "drain "+node, func() error {
		pods, err := i.running(metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		errs := []error{err}
		for _, pod := range pods {
			if err := i.evict(pod); err != nil {
				errs = append(errs, fmt.Errorf("Pod/%s: eviction: %w", pod.Name, err))
			} else {
				errs = append(errs, fmt.Errorf("Pod/%s leaves", pod.Name))
			}
		}
		return errors.Join(errs...)
	})
}

// remove removes what was installed, but what Helm keeps, and reports what is left behind in the
// namespace.
func (i *installation) remove(t *testing.T) {
	t.Helper()
	i.refused(t)
	begin := time.Now()
	keep := func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "Namespace" || i.namespace == "team" && object.GetAnnotations()["helm.sh/resource-policy"] == "keep"
	}
	i.removeAll(t, slices.DeleteFunc(slices.Clone(i.objects), keep))
	// A cluster makes the first two, and a StatefulSet leaves its volumes.
	expected := []string{"ConfigMap/kube-root-ca.crt", "ServiceAccount/default", "PersistentVolumeClaim/data-"}
	for _, object := range slices.DeleteFunc(slices.Clone(i.objects), func(o *unstructured.Unstructured) bool { return !keep(o) }) {
		expected = append(expected, object.GetKind()+"/"+object.GetName())
	}
	i.await(t, "removed", func() error {
		left, err := i.contents()
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(object string) bool {
			return slices.ContainsFunc(expected, func(prefix string) bool { return strings.HasPrefix(object, prefix) })
		})
		if len(left) > 0 {
			return fmt.Errorf("left in the namespace: %v", left)
		}
		return nil
	})
	i.purge(t)
	t.Logf("remove: %.1f s", time.Since(begin).Seconds())
}

// contents returns every object in the namespace but events.
func (i *installation) contents() ([]string, error) {
	lists, err := i.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	defer i.applied.take() // Endpoints are deprecated
	var found []string
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if resource.Kind == "Event" || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			objects, err := i.dynamic.Resource(version.WithResource(resource.Name)).Namespace(i.namespace).List(i.ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", resource.Name, err)
			}
			for _, object := range objects.Items {
				found = append(found, object.GetKind()+"/"+object.GetName())
			}
		}
	}
	return found, nil
}

// purge removes the namespace, and the objects of no namespace, if they exist.
func (i *installation) purge(t *testing.T) {
	t.Helper()
	var outside []*unstructured.Unstructured
	for _, object := range i.objects {
		if _, err := i.get(object); object.GetNamespace() == "" && err == nil {
			outside = append(outside, object)
		}
	}
	if _, err := i.CoreV1().Namespaces().Get(i.ctx, i.namespace, metav1.GetOptions{}); err == nil && i.namespace == "team" {
		outside = append(outside, decode(t, []byte(restricted))...)
	}
	i.removeAll(t, outside)
}

// TestLongCluster installs each combination of the manifests, and the chart, and operates it.
func TestLongCluster(t *testing.T) {
	begin := time.Now()
	c := start(t)
	t.Logf("start: %.1f s", time.Since(begin).Seconds())

	t.Run("dev", func(t *testing.T) {
		i := c.install(t, "toolsandbox", kustomizations(t, "deploy/k8s/overlays/dev"))
		i.settle(t, "install")
		i.refuses(t)
		i.applyAgain(t)
		i.startAgain(t)
		i.exits(t)
		i.operate(t)
		i.remove(t)
	})
	t.Run("prod", func(t *testing.T) {
		i := c.install(t, "toolsandbox", kustomizations(t, "deploy/k8s/overlays/prod"))
		i.settle(t, "install")
		i.applyAgain(t)
		i.remove(t)
	})
	t.Run("prod with NATS and a sweep", func(t *testing.T) {
		i := c.install(t, "toolsandbox", kustomizations(t, "examples/kubernetes", "examples/kubernetes/sweep"))
		i.settle(t, "install")
		i.applyAgain(t)
		i.startAgain(t)
		i.operate(t)
		i.remove(t)
	})
	t.Run("HPA and Kueue", func(t *testing.T) {
		i := c.install(t, "toolsandbox", kustomizations(t, "examples/kubernetes/hpa", "examples/kubernetes/kueue"))
		i.admit(t)
		i.settle(t, "install")
		i.remove(t)
	})
	t.Run("KEDA", func(t *testing.T) {
		i := c.install(t, "toolsandbox", kustomizations(t, "examples/kubernetes/keda", "examples/kubernetes/sweep"))
		i.settle(t, "install")
		i.applyAgain(t)
		i.remove(t)
	})
	for _, overlay := range []string{"dev", "prod"} {
		t.Run("chart "+overlay, func(t *testing.T) {
			documents, err := chart.Render(filepath.Join(repository, "deploy", "chart"), "team", "overlay: "+overlay)
			if err != nil {
				t.Fatal(err)
			}
			c.applyAll(t, decode(t, []byte(restricted)))
			i := c.install(t, "team", decode(t, documents))
			i.settle(t, "install")
			i.applyAgain(t)
			i.operate(t)
			i.remove(t)
		})
	}
}

// operate does to an installation what an operator does.
func (i *installation) operate(t *testing.T) {
	t.Helper()
	for _, replicas := range []int32{2, 3} {
		i.scale(t, replicas)
	}
	i.restart(t)
	i.disrupt(t)
	i.drain(t, nodes[0])
	i.scale(t, 1)
}

// refuses shows that the namespace enforces the restricted standard.
func (i *installation) refuses(t *testing.T) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "privileged"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "root", Image: "root"}}},
	}
	_, err := i.CoreV1().Pods(i.namespace).Create(i.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `violates PodSecurity "restricted:latest"`) {
		t.Errorf("a pod of root: got %v, want that it violates the restricted standard", err)
	}
}
