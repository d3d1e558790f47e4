package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/tools/internal/manifest"
)

const kustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [all.yaml]
`

const good = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  STORE_ADDR: "store-0.store:7000,store-1.store:7000"
  STORE_URL: "tcp://store:7000"
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
      securityContext: {runAsNonRoot: true}
      containers:
        - name: store
          image: store
          envFrom:
            - configMapRef: {name: settings}
          ports:
            - {name: grpc, containerPort: 7000}
          livenessProbe: {grpc: {port: 7000}}
          startupProbe: {grpc: {port: 7000}}
          readinessProbe: {httpGet: {path: /ready, port: grpc}}
          resources: {requests: {cpu: 100m}, limits: {memory: 64Mi}}
          securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false}
          volumeMounts:
            - {name: data, mountPath: /data}
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
  ingress:
    - from: [{podSelector: {matchLabels: {app: store}}}]
      ports: [{port: 7000}]
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

// TestDeploy checks the manifests of this repository and the example of an overlay.
func TestDeploy(t *testing.T) {
	for _, dir := range []string{"deploy/k8s", "examples/kubernetes"} {
		t.Run(dir, func(t *testing.T) {
			objects, err := manifest.Build(filepath.Join("..", "..", "..", filepath.FromSlash(dir)))
			if err != nil {
				t.Fatal(err)
			}
			if err := manifest.Check(objects); err != nil || len(objects) == 0 {
				t.Errorf("%d objects do not fit together:\n%v", len(objects), err)
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
		{"root", "runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"},
		{"writable", "readOnlyRootFilesystem: true, ", "", "readOnlyRootFilesystem"},
		{"escalation", "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "allowPrivilegeEscalation"},
		{"resources", "limits: {memory: 64Mi}", "limits: {cpu: 1}", "memory limit"},
		{"address of no service", "tcp://store:7000", "tcp://shop:7000", `no Service "shop" with port 7000`},
		{"address port", "tcp://store:7000", "tcp://store:7001", `no Service "store" with port 7001`},
		{"address of no port", "tcp://store:7000", "tcp://store", "missing port"},
		{"shards in disorder", "store-0.store:7000,store-1", "store-1.store:7000,store-0", "store-1.store is address 1 of 2, expected store-0.store of 2 replicas"},
		{"too few shards", ",store-1.store:7000", "", "address 1 of 1, expected store-0.store of 2 replicas"},
	} {
		t.Run(test.name, func(t *testing.T) {
			broken := strings.Replace(good, test.old, test.new, 1)
			if broken == good {
				t.Fatalf("%q is not in the deployment", test.old)
			}
			err := check(t, broken)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("check: got error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestNoKustomization(t *testing.T) {
	if _, err := manifest.Build(t.TempDir()); err == nil {
		t.Error("Build of an empty directory: got no error, want one")
	}
}
