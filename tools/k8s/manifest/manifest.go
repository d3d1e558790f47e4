// Package manifest checks Kubernetes manifests without a cluster. It builds kustomizations and
// reports what an API server would reject or silently leave unconnected.
package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Build builds the kustomizations in directories and decodes their objects.
func Build(dirs ...string) ([]runtime.Object, error) {
	var objects []runtime.Object
	for _, dir := range dirs {
		documents, err := Render(dir)
		if err != nil {
			return nil, err
		}
		decoded, err := Decode(documents)
		if err != nil {
			return nil, err
		}
		objects = append(objects, decoded...)
	}
	return objects, nil
}

// Render returns the YAML documents of the kustomization in a directory.
func Render(dir string) ([]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("build kustomization %s: %w", dir, err)
	}
	return built.AsYaml()
}

// Decode decodes every YAML document into its Go type. Unknown kinds, unknown fields, duplicate
// fields and wrong types are errors that name the object. It joins all errors.
func Decode(documents []byte) ([]runtime.Object, error) {
	known, err := newScheme()
	if err != nil {
		return nil, err
	}
	// An API server in strict mode uses the same decoder: names are case-sensitive.
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, known, known, json.SerializerOptions{Yaml: true, Strict: true})
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(documents)))
	var objects []runtime.Object
	var errs []error
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, errors.Join(errs...)
		}
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", nameOf(document), err))
			continue
		}
		objects = append(objects, object)
	}
}

// nameOf returns kind and name of a document that may not be decoded.
func nameOf(document []byte) string {
	var object struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(document, &object); err != nil {
		return "document"
	}
	return object.Kind + " " + object.Metadata.Name
}

// newScheme returns a scheme with the kinds that a deployment may use.
func newScheme() (*runtime.Scheme, error) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
		schedulingv1.AddToScheme, autoscalingv2.AddToScheme, addKEDA, certmanagerv1.AddToScheme, kueuev1beta2.AddToScheme,
	} {
		if err := add(known); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return known, nil
}
