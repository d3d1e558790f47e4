package manifest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/toolsandbox/toolsandbox/tools/k8s/manifest"
)

var update = flag.Bool("update", false, "write the connections of testdata")

const kustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [all.yaml]
`

const good = `apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 5
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  settings.yaml: |
    store-addr: ["store:7000"]
    nats-url: "tcp://store:7000"
    otlp-endpoint: collector.monitoring.svc:4317
---
apiVersion: v1
kind: Service
metadata: {name: store}
spec:
  selector: {app: store}
  ports:
    - {name: grpc, port: 7000, targetPort: grpc}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: store
  replicas: 2
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec:
      terminationGracePeriodSeconds: 40
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      initContainers:
        - name: start
          image: start:1
          terminationMessagePolicy: FallbackToLogsOnError
          resources: {requests: {cpu: 50m}, limits: {memory: 32Mi}}
          securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
          volumeMounts: [{name: key, mountPath: /first}]
      containers:
        - name: store
          image: store:1
          terminationMessagePolicy: FallbackToLogsOnError
          lifecycle: {preStop: {sleep: {seconds: 5}}}
          env:
            - {name: TOOLSANDBOX_GRACE, value: 25s}
            - {name: TOOLSANDBOX_STORE_ANNOUNCE, value: "$(POD_NAME).store:7000"}
          envFrom:
            - configMapRef: {name: settings}
          ports:
            - {name: grpc, containerPort: 7000}
          livenessProbe: {grpc: {port: 7000}}
          startupProbe: {grpc: {port: 7000}}
          readinessProbe: {httpGet: {path: /ready, port: grpc}}
          resources: {requests: {cpu: 100m}, limits: {memory: 64Mi}}
          securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: key, mountPath: /key}
            - {name: results, mountPath: /results}
      volumes:
        - {name: key, secret: {secretName: store-tls}}
        - {name: results, persistentVolumeClaim: {claimName: results}}
      priorityClassName: high
  volumeClaimTemplates:
    - metadata: {name: data}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: store}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: store}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: store}
spec:
  podSelector: {matchLabels: {app: store}}
  policyTypes: [Ingress, Egress]
  ingress:
    - from: [{podSelector: {matchLabels: {app: store}}}]
      ports: [{port: 7000}]
  egress:
    - to: [{podSelector: {matchLabels: {app: "store"}}}]
      ports: [{port: 7000}]
    - to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}]
      ports: [{port: 53, protocol: UDP}]
    - to: [{ipBlock: {cidr: 0.0.0.0/0}}]
      ports: [{port: 443}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: results}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: ours}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: store}
spec:
  secretName: store-tls
  dnsNames: [store]
  issuerRef: {kind: Issuer, name: ours}
`

// check builds and checks a kustomization of one file.
func check(t *testing.T, resources string) error {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"kustomization.yaml": kustomization, "all.yaml": resources} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	objects, err := manifest.Build(dir)
	if err != nil {
		return err
	}
	return manifest.Check(objects)
}

// repository is the root of this repository.
var repository = filepath.Join("..", "..", "..")

// build builds kustomizations of this repository.
func build(t *testing.T, dirs ...string) []runtime.Object {
	t.Helper()
	var paths []string
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(repository, filepath.FromSlash(dir)))
	}
	objects, err := manifest.Build(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestDeploy checks the manifests of this repository and the examples.
func TestDeploy(t *testing.T) {
	for _, dirs := range [][]string{
		{"deploy/k8s/overlays/dev"},
		{"deploy/k8s/overlays/prod", "examples/kubernetes/sweep"},
		{"examples/kubernetes", "examples/kubernetes/sweep"},
		{"examples/kubernetes", "examples/kubernetes/bucket"},
		{"examples/kubernetes", "examples/kubernetes/kueue"},
		{"examples/kubernetes/hpa", "examples/kubernetes/sweep"},
		{"examples/kubernetes/keda", "examples/kubernetes/sweep"},
	} {
		t.Run(strings.Join(dirs, " "), func(t *testing.T) {
			objects := build(t, dirs...)
			if err := manifest.Check(objects); err != nil || len(objects) == 0 {
				t.Errorf("%d objects do not fit together:\n%v", len(objects), err)
			}
		})
	}
}

// TestConnections compares every connection that a pod may open with testdata.
func TestConnections(t *testing.T) {
	for name, dirs := range map[string][]string{
		"dev":     {"deploy/k8s/overlays/dev"},
		"example": {"examples/kubernetes", "examples/kubernetes/sweep"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+"_connections.txt")
			got := strings.Join(manifest.Connections(build(t, dirs...)), "\n") + "\n"
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); err != nil || diff != "" {
				t.Errorf("%s: %v, -want +got:\n%s", path, err, diff)
			}
		})
	}
}

func TestConsistentManifests(t *testing.T) {
	if err := check(t, good); err != nil {
		t.Errorf("check of a deployment that fits together: got %v, want no error", err)
	}
}

func TestInconsistentManifests(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"unknown field", "targetPort: grpc", "targetPorts: grpc", "unknown field"},
		{"unknown field of a container", "livenessProbe:", "livenessprobes:", "unknown field"},
		{"field in another case", "livenessProbe:", "livenessprobe:", "unknown field"},
		{"field twice", "serviceName: store", "serviceName: store\n  serviceName: store", "serviceName"},
		{"wrong type", "maxUnavailable: 1", "maxUnavailable: [1]", "PodDisruptionBudget store"},
		{"wrong type of a number", "containerPort: 7000", "containerPort: many", "StatefulSet store"},
		{"unknown kind", "kind: PodDisruptionBudget", "kind: PodDisruption", "no kind"},
		{"old version", "policy/v1", "policy/v9", "no kind"},
		{"service selects nothing", "selector: {app: store}", "selector: {app: stores}", "selects no pod"},
		{"service port", "targetPort: grpc", "targetPort: http", "no port http"},
		{"own pods", "selector: {matchLabels: {app: store}}\n  template", "selector: {matchLabels: {app: shop}}\n  template", "selector app=shop selects no pod"},
		{"headless service", "serviceName: store", "serviceName: stores", `no Service "stores"`},
		{"budget selects nothing", "maxUnavailable: 1, selector: {matchLabels: {app: store", "maxUnavailable: 1, selector: {matchLabels: {app: shop", "selects no pod"},
		{"policy peer", "from: [{podSelector: {matchLabels: {app: store", "from: [{podSelector: {matchLabels: {app: shop", "selects no pod"},
		{"policy port", "ports: [{port: 7000}]", "ports: [{port: 7001}]", "port 7001"},
		{"config map", "configMapRef: {name: settings}", "configMapRef: {name: setting}", `no ConfigMap "setting"`},
		{"volume", "{name: data, mountPath", "{name: dat, mountPath", `no volume "dat"`},
		{"probe port", "livenessProbe: {grpc: {port: 7000}}", "livenessProbe: {grpc: {port: 7001}}", "no liveness probe"},
		{"probe missing", "livenessProbe: {grpc: {port: 7000}}\n", "\n", "no liveness probe"},
		{"image without a tag", "image: store:1", "image: store", "image store: expected a digest or a tag that stays"},
		{"volume of an init container", "{name: key, mountPath: /first}", "{name: keys, mountPath: /first}", `container start: no volume "keys"`},
		{"image of an init container", "image: start:1", "image: start", "image start: expected a digest or a tag that stays"},
		{"silent end", "store:1\n          terminationMessagePolicy: FallbackToLogsOnError", "store:1", "container store: expected terminationMessagePolicy"},
		{"latest image", "image: store:1", "image: store:latest", "expected a digest or a tag that stays"},
		{"capabilities", "drop: [ALL]", "drop: [KILL]", "unrestricted capabilities"},
		{"seccomp", ", seccompProfile: {type: RuntimeDefault}", "", "seccompProfile"},
		{"killed before it has drained", "value: 25s", "value: 26s", "expected at least 41 for preStop, TOOLSANDBOX_GRACE and 10s"},
		{"no number", "value: 25s", "value: soon", "TOOLSANDBOX_GRACE: time: invalid duration"},
		{"secret", "secretName: store-tls}", "secretName: store}", `no Secret "store"`},
		{"claim", "claimName: results", "claimName: result", `no PersistentVolumeClaim "result"`},
		{"priority", "priorityClassName: high", "priorityClassName: low", `no PriorityClass "low"`},
		{"namespace", "metadata: {name: high}", "metadata: {name: high, namespace: shop}", "high: it belongs to no namespace, not to shop"},
		{"issuer", "kind: Issuer, name: ours", "kind: Issuer, name: yours", `no Issuer "yours"`},
		{"field of a certificate", "dnsNames: [store]", "dnsName: [store]", "unknown field"},
		{"policy egress", `matchLabels: {app: "store"}`, "matchLabels: {app: shop}", "selects no pod"},
		{"policy egress port", "ports: [{port: 7000}]\n    - to: [{n", "ports: [{port: 7001}]\n    - to: [{n", "port 7001"},
		{"root", "runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"},
		{"writable", "readOnlyRootFilesystem: true, ", "", "readOnlyRootFilesystem"},
		{"escalation", "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "allowPrivilegeEscalation"},
		{"resources", "limits: {memory: 64Mi}", "limits: {cpu: 1}", "memory limit"},
		{"address of no service", "tcp://store:7000", "tcp://shop:7000", `no Service "shop" with port 7000`},
		{"address port", "tcp://store:7000", "tcp://store:7001", `no Service "store" with port 7001`},
		{"address of no port", "tcp://store:7000", "tcp://store", "missing port"},
		{"address of a pod", `"store:7000"`, `"store-0.store:7000"`, `names a pod, expected the Service "store"`},
		{"announced address of no service", "$(POD_NAME).store:7000", "$(POD_NAME).shop:7000", "expected $(POD_NAME).store and its port"},
		{"announced address of no pod", "$(POD_NAME).store:7000", "store:7000", "expected $(POD_NAME).store and its port"},
		{"announced port", "$(POD_NAME).store:7000", "$(POD_NAME).store:7001", `no Service "store" with port 7001`},
	} {
		t.Run(test.name, func(t *testing.T) {
			broken := strings.Replace(good, test.old, test.new, 1)
			if broken == good {
				t.Fatalf("%q is not in the deployment", test.old)
			}
			if err := check(t, broken); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("check: got error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	class, rest, _ := strings.Cut(good, "---\n")
	const want = "PriorityClass high: expected before store"
	if err := check(t, rest+"---\n"+class); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("check of a PriorityClass behind its pods: got error %v, want one with %q", err, want)
	}
}

func TestInconsistentAutoscalers(t *testing.T) {
	const hpa = `---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: store}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: store}
  maxReplicas: 3
`
	const scaled = `---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: store}
spec:
  scaleTargetRef: {name: store}
  maxReplicaCount: 3
`
	for _, test := range []struct{ name, resources, want string }{
		{"replicas", good + hpa, "StatefulSet store sets its replicas itself"},
		{"target", good + strings.Replace(hpa, "StatefulSet, name: store", "StatefulSet, name: shop", 1), `no StatefulSet "shop"`},
		{"field", good + strings.Replace(hpa, "maxReplicas", "maxReplicaCount", 1), "unknown field"},
		{"target of KEDA", good + scaled, `no Deployment "store"`},
		{"field of KEDA", good + strings.Replace(scaled, "maxReplicaCount", "maxReplicas", 1), "unknown field"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := check(t, test.resources); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("check: got error %v, want one with %q", err, test.want)
			}
		})
	}
	if err := check(t, strings.Replace(good, "  replicas: 2\n", "", 1)+hpa); err != nil {
		t.Errorf("check without replicas: got error %v, want nil", err)
	}
}

func TestNoKustomization(t *testing.T) {
	if _, err := manifest.Build(t.TempDir()); err == nil {
		t.Error("Build of an empty directory: got no error, want one")
	}
}
