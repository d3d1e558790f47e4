// Package manifest checks Kubernetes manifests without a cluster. It builds a kustomization and
// reports what an API server would reject or silently leave unconnected.
package manifest

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Build builds the kustomization in a directory and decodes every object into its Go type. Unknown
// kinds, unknown fields, duplicate fields and wrong types are errors that name the object. It joins
// all errors.
func Build(dir string) ([]runtime.Object, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("build kustomization %s: %w", dir, err)
	}
	known, err := newScheme()
	if err != nil {
		return nil, err
	}
	// An API server in strict mode uses the same decoder: names are case-sensitive.
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, known, known, json.SerializerOptions{Yaml: true, Strict: true})
	var objects []runtime.Object
	var errs []error
	for _, resource := range built.Resources() {
		document, err := resource.AsYAML()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", resource.CurId(), err))
			continue
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", resource.GetKind(), resource.GetName(), err))
			continue
		}
		objects = append(objects, object)
	}
	return objects, errors.Join(errs...)
}

// newScheme returns a scheme with the kinds that a deployment may use.
func newScheme() (*runtime.Scheme, error) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(known); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return known, nil
}
