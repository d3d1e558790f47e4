//go:build cluster

package cluster_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	_ "github.com/kedacore/keda/v2/version" // its module has the definitions of KEDA's kinds

	"github.com/toolsandbox/toolsandbox/tools/k8s/chart"
)

// manager owns the fields that the test applies.
const manager = "test"

// cluster is an API server with its controllers, and clients of an administrator.
type cluster struct {
	*machine
	kubernetes.Interface
	dynamic dynamic.Interface
	mapper  meta.ResettableRESTMapper
	// applied collects the warnings of the API server about what dynamic sends.
	applied *warnings
}

// warnings collects the warnings of an API server.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// start starts a cluster with three nodes in three zones. It ends with the test.
func start(t *testing.T) *cluster {
	t.Helper()
	m := newMachine(t)
	host, token, authority := m.startAPI(t)
	config := &rest.Config{
		Host: host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: authority},
		QPS: -1, WarningHandler: rest.NoWarnings{},
	}
	// The API server writes its authority.
	m.await(t, "certificate of the API server", func() error { _, err := rest.TLSConfigFor(config); return err })
	c := &cluster{machine: m, applied: &warnings{}}
	var err error
	if c.Interface, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Discovery()))
	warned := rest.CopyConfig(config)
	warned.WarningHandler = c.applied
	if c.dynamic, err = dynamic.NewForConfig(warned); err != nil {
		t.Fatal(err)
	}
	m.await(t, "API server", func() error {
		_, err := c.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(m.ctx)
		return err
	})
	m.startControllers(t, host, token, authority)
	c.applyAll(t, decode(t, []byte(infrastructure)))
	c.define(t)
	return c
}

// define makes the kinds of cert-manager, KEDA and Kueue known, as their modules define them.
func (c *cluster) define(t *testing.T) {
	t.Helper()
	tools := filepath.Join(repository, "tools", "k8s")
	for _, kinds := range []struct{ module, dir string }{
		{"github.com/cert-manager/cert-manager", "deploy/crds"},
		{"github.com/kedacore/keda/v2", "config/crd/bases"},
		{"sigs.k8s.io/kueue", "config/components/crd/bases"},
	} {
		files, err := filepath.Glob(filepath.Join(module(t, tools, kinds.module), filepath.FromSlash(kinds.dir), "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d definitions, %v", kinds.module, len(files), err)
		}
		for _, file := range files {
			if !slices.ContainsFunc(used, func(name string) bool { return strings.HasSuffix(file, "_"+name+".yaml") }) {
				continue
			}
			for _, definition := range c.applyAll(t, decode(t, read(t, file))) {
				c.await(t, name(definition), func() error { return c.condition(definition, "Established") })
			}
		}
	}
	c.mapper.Reset()
}

// used names the custom resources that manifests use.
var used = []string{"certificates", "issuers", "scaledobjects", "clusterqueues", "localqueues", "resourceflavors"}

// condition returns nil if an object's condition is true.
func (c *cluster) condition(object *unstructured.Unstructured, condition string) error {
	live, err := c.get(object)
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(live.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, each := range conditions {
		if each, ok := each.(map[string]any); ok && each["type"] == condition && each["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("%s is not %s: %v", name(object), condition, conditions)
}

// name returns kind, namespace and name of an object.
func name(object *unstructured.Unstructured) string {
	return strings.ReplaceAll(object.GetKind()+"/"+object.GetNamespace()+"/"+object.GetName(), "//", "/")
}

// decode returns the objects of YAML documents, in their order.
func decode(t *testing.T, documents []byte) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+string(documents), chart.Separator) {
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(data)) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(data); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		objects = append(objects, object)
	}
	return objects
}

// resource returns the client of an object's kind and namespace.
func (c *cluster) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name(object), err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.dynamic.Resource(mapping.Resource), nil
	}
	if object.GetNamespace() == "" {
		return nil, fmt.Errorf("%s: no namespace", name(object))
	}
	return c.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
}

func (c *cluster) get(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := c.resource(object)
	if err != nil {
		return nil, err
	}
	return resource.Get(c.ctx, object.GetName(), metav1.GetOptions{})
}

// apply applies an object and returns it with all defaults. The server's warnings are errors.
func (c *cluster) apply(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := c.resource(object)
	if err != nil {
		return nil, err
	}
	data, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict}
	live, err := resource.Patch(c.ctx, object.GetName(), types.ApplyPatchType, data, options)
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", name(object), err)
	}
	if texts := c.applied.take(); len(texts) > 0 {
		return live, fmt.Errorf("apply %s: the API server warns: %s", name(object), strings.Join(texts, "; "))
	}
	return live, nil
}

// applyAll applies objects in their order and returns them as they are then.
func (c *cluster) applyAll(t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	var live []*unstructured.Unstructured
	var errs []error
	for _, object := range objects {
		one, err := c.apply(object)
		errs, live = append(errs, err), append(live, one)
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return live
}

// removeAll deletes objects, the last one first, and waits until they are gone.
func (c *cluster) removeAll(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	for _, object := range slices.Backward(objects) {
		resource, err := c.resource(object)
		if err != nil {
			t.Fatal(err)
		}
		if err := resource.Delete(c.ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Errorf("delete %s: %v", name(object), err)
		}
	}
	for _, object := range objects {
		c.await(t, "delete "+name(object), func() error {
			live, err := c.get(object)
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err == nil {
				err = fmt.Errorf("it exists, with finalizers %v", live.GetFinalizers())
			}
			return err
		})
	}
}
