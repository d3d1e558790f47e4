package chart_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/toolsandbox/toolsandbox/tools/k8s/chart"
	"github.com/toolsandbox/toolsandbox/tools/k8s/manifest"
)

var update = flag.Bool("update", false, "write the objects of the chart")

var (
	deploy    = filepath.Join("..", "..", "..", "deploy")
	chartPath = filepath.Join(deploy, "chart")
)

// built returns the documents of an overlay that a chart has: Helm makes the namespace.
func built(t *testing.T, overlay string) []byte {
	t.Helper()
	documents, err := manifest.Render(filepath.Join(deploy, "k8s", "overlays", overlay))
	if err != nil {
		t.Fatal(err)
	}
	namespace := func(document string) bool { return strings.Contains("\n"+document, "\nkind: Namespace\n") }
	return []byte(strings.Join(slices.DeleteFunc(strings.Split(string(documents), chart.Separator), namespace), chart.Separator))
}

// objects returns documents by kind, namespace and name.
func objects(t *testing.T, documents string) map[string]map[string]any {
	t.Helper()
	objects := make(map[string]map[string]any)
	for document := range strings.SplitSeq("\n"+documents, chart.Separator) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(object) == 0 {
			continue
		}
		metadata, _ := object["metadata"].(map[string]any)
		key := strings.Trim(strings.Join([]string{text(object["kind"]), text(metadata["namespace"]), text(metadata["name"])}, "/"), "/")
		if objects[key] != nil {
			t.Errorf("%s: twice", key)
		}
		objects[key] = object
	}
	return objects
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// render renders the chart with values in YAML.
func render(t *testing.T, values string) (map[string]map[string]any, error) {
	t.Helper()
	documents, err := chart.Render(chartPath, "toolsandbox", values)
	if err != nil {
		return nil, err
	}
	return objects(t, string(documents)), nil
}

// TestFiles compares the objects in the chart with what kustomize builds. -update writes them.
func TestFiles(t *testing.T) {
	for _, overlay := range []string{"dev", "prod"} {
		path, want := filepath.Join(chartPath, "files", overlay+".yaml"), built(t, overlay)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the overlay builds (%v), run `make chart`:\n%s", path, err, cmp.Diff(string(want), string(got)))
		}
	}
}

// TestEqual renders the chart of each overlay and compares it with kustomize, object by object.
func TestEqual(t *testing.T) {
	for _, overlay := range []string{"dev", "prod"} {
		got, err := render(t, "overlay: "+overlay)
		if err != nil {
			t.Fatal(err)
		}
		want := objects(t, string(built(t, overlay)))
		if len(want) == 0 {
			t.Fatalf("%s has no objects", overlay)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-kustomize +helm):\n%s", overlay, diff)
		}
	}
}

// leaves adds the values at the ends of a tree to lines, as "path=value". Elements of lists go by
// their names.
func leaves(lines map[string]bool, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			leaves(lines, path+"/"+key, below)
		}
	case []any:
		for i, below := range v {
			name := strconv.Itoa(i)
			if object, ok := below.(map[string]any); ok && object["name"] != nil {
				name = fmt.Sprint(object["name"])
			}
			leaves(lines, path+"/"+name, below)
		}
	default:
		lines[fmt.Sprintf("%s=%v", path, v)] = true
	}
}

// changes returns the lines that leaves finds only in the first objects, with a minus, or only in
// the second, with a plus.
func changes(from, to map[string]map[string]any) []string {
	lines := [2]map[string]bool{{}, {}}
	for i, objects := range []map[string]map[string]any{from, to} {
		for key, object := range objects {
			leaves(lines[i], key, object)
		}
	}
	var changes []string
	for i, sign := range []string{"-", "+"} {
		for line := range lines[i] {
			if !lines[1-i][line] {
				changes = append(changes, sign+line)
			}
		}
	}
	slices.Sort(changes)
	return changes
}

// TestValues renders values and shows what they change.
func TestValues(t *testing.T) {
	base, err := render(t, "")
	if err != nil {
		t.Fatal(err)
	}
	const agentgw = "Deployment/toolsandbox/agentgw/spec/"
	const container = agentgw + "template/spec/containers/toolsandbox/"
	for name, test := range map[string]struct {
		values string
		want   []string
	}{
		"image": {"images: {opentelemetry-collector: 'ours/collector@sha256:abc'}", []string{
			"+Deployment/toolsandbox/collector/spec/template/spec/containers/collector/image=ours/collector@sha256:abc",
			"-Deployment/toolsandbox/collector/spec/template/spec/containers/collector/image=otel/opentelemetry-collector:0.128.0",
		}},
		"patch of a map and of named lists": {
			"patches: {Deployment/agentgw: {spec: {replicas: 7, template: {spec: {containers: [{name: toolsandbox, env: [{name: TOOLSANDBOX_GRACE, value: 5m}, {name: NEW, value: x}]}, {name: other, image: o}]}}}}}",
			[]string{
				"+" + agentgw + "replicas=7", "+" + agentgw + "template/spec/containers/other/image=o", "+" + agentgw + "template/spec/containers/other/name=other",
				"+" + container + "env/NEW/name=NEW", "+" + container + "env/NEW/value=x",
				"+" + container + "env/TOOLSANDBOX_GRACE/value=5m", "-" + agentgw + "replicas=2", "-" + container + "env/TOOLSANDBOX_GRACE/value=2m",
			},
		},
		"deleted map and element": {
			"patches: {Deployment/agentgw: {spec: {template: {spec: {containers: [{name: toolsandbox, envFrom: {$patch: delete}, env: [{name: TOOLSANDBOX_LISTEN, $patch: delete}]}]}}}}}",
			[]string{
				"-" + container + "env/TOOLSANDBOX_LISTEN/name=TOOLSANDBOX_LISTEN", "-" + container + "env/TOOLSANDBOX_LISTEN/value=:7403",
				"-" + container + "envFrom/0/secretRef/name=agentgw-keys", "-" + container + "envFrom/0/secretRef/optional=true",
			},
		},
		"deleted number": {"patches: {Deployment/agentgw: {spec: {replicas: null}}}", []string{"-" + agentgw + "replicas=2"}},
		"deleted object": {"patches: {PodDisruptionBudget/evaluator: {$patch: delete}}", []string{
			"-PodDisruptionBudget/toolsandbox/evaluator/apiVersion=policy/v1",
			"-PodDisruptionBudget/toolsandbox/evaluator/kind=PodDisruptionBudget",
			"-PodDisruptionBudget/toolsandbox/evaluator/metadata/labels/app.kubernetes.io/component=evaluator",
			"-PodDisruptionBudget/toolsandbox/evaluator/metadata/labels/app.kubernetes.io/part-of=toolsandbox",
			"-PodDisruptionBudget/toolsandbox/evaluator/metadata/name=evaluator",
			"-PodDisruptionBudget/toolsandbox/evaluator/metadata/namespace=toolsandbox",
			"-PodDisruptionBudget/toolsandbox/evaluator/spec/maxUnavailable=1",
			"-PodDisruptionBudget/toolsandbox/evaluator/spec/selector/matchLabels/app.kubernetes.io/component=evaluator",
			"-PodDisruptionBudget/toolsandbox/evaluator/spec/unhealthyPodEvictionPolicy=AlwaysAllow",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render(t, test.values)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, changes(base, got)); diff != "" {
				t.Errorf("%s changes (-want +got):\n%s", test.values, diff)
			}
		})
	}
}

// TestSettings renders settings. They replace those of the settings file.
func TestSettings(t *testing.T) {
	base, err := render(t, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := render(t, "settings: {nats-url: 'nats://ours:4222', bus-replicas: 1}")
	if err != nil {
		t.Fatal(err)
	}
	var files [2]map[string]any
	for i, objects := range []map[string]map[string]any{base, got} {
		for key, object := range objects {
			if data, ok := object["data"].(map[string]any); ok && strings.HasPrefix(key, "ConfigMap/toolsandbox/toolsandbox-") {
				if err := yaml.Unmarshal([]byte(text(data["settings.yaml"])), &files[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	files[0]["nats-url"], files[0]["bus-replicas"] = "nats://ours:4222", float64(1)
	if diff := cmp.Diff(files[0], files[1]); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// TestRestarts changes what pods read, in each of the ways, and checks that they restart.
func TestRestarts(t *testing.T) {
	last, err := render(t, "")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{
		"Deployment/toolsandbox/agentgw", "Deployment/toolsandbox/collector", "Deployment/toolsandbox/evaluator",
		"Deployment/toolsandbox/orchestrator", "Deployment/toolsandbox/view", "StatefulSet/toolsandbox/toolhost",
	}
	for _, values := range []string{
		"settings: {bus-replicas: 1}",
		"settings: {bus-replicas: 3}",
		"patches: {ConfigMap/toolsandbox: {data: {access.yaml: 'teams: {red: {}}'}}}",
		"patches: {ConfigMap/toolsandbox: {data: {access.yaml: 'teams: {blue: {}}'}}}",
	} {
		next, err := render(t, values)
		if err != nil {
			t.Fatal(err)
		}
		var restarted []string
		for _, line := range changes(last, next) {
			if object, _, ok := strings.Cut(line, "/spec/template/metadata/annotations/"); ok && line[0] == '+' {
				restarted = append(restarted, object[1:])
			}
		}
		if diff := cmp.Diff(all, restarted); diff != "" {
			t.Errorf("%s restarts (-want +got):\n%s", values, diff)
		}
		last = next
	}
}

// TestInvalidValues renders values that change nothing or do not exist.
func TestInvalidValues(t *testing.T) {
	for _, test := range []struct{ values, want string }{
		{"replicas: 3", "additional properties 'replicas' not allowed"},
		{"nats: {enabled: true}", "additional properties 'nats' not allowed"},
		{"overlay: test", "overlay"},
		{"patches: {Deployment/agent: {spec: {replicas: 2}}}", "patches: the overlay prod has no Deployment/agent"},
		{"patches: {Deployment/agentgw: {spec: {template: {$patch: replace}}}}", "patches: $patch: replace given, expected delete"},
		{"images: {jaeger: 'ours/jaeger:1'}", "images: the overlay prod has no jaeger"},
		{"settings: {grace: 5m}", "settings.grace: StatefulSet/toolhost has it in its environment, as TOOLSANDBOX_GRACE: change it in patches"},
		{"settings: {nats-url: {host: x}}", "nats-url"},
		{"settings: {bus-replicas: 1}\npatches: {ConfigMap/toolsandbox: {data: {settings.yaml: 'nats-url: x'}}}", "give one of both"},
	} {
		if got, err := render(t, test.values); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %d objects and error %v, want an error with %q", test.values, len(got), err, test.want)
		}
	}
}
