//go:build cluster

package cluster_test

// nodes are those of infrastructure.
var nodes = []string{"node-a", "node-b", "node-c"}

// infrastructure is what a cluster has before anything is installed: nodes in three zones, and a
// default storage class, for whose volumes nobody looks.
const infrastructure = `
apiVersion: v1
kind: Node
metadata:
  name: node-a
  labels: {topology.kubernetes.io/zone: a, kubernetes.io/hostname: node-a}
---
apiVersion: v1
kind: Node
metadata:
  name: node-b
  labels: {topology.kubernetes.io/zone: b, kubernetes.io/hostname: node-b}
---
apiVersion: v1
kind: Node
metadata:
  name: node-c
  labels: {topology.kubernetes.io/zone: c, kubernetes.io/hostname: node-c}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: kubernetes.io/no-provisioner
`

// volume is a volume of the storage class. No kubelet mounts it.
const volume = `
apiVersion: v1
kind: PersistentVolume
metadata:
  name: volume-%d
spec:
  storageClassName: standard
  capacity: {storage: 20Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /unused}
`

// restricted is a namespace for the chart, to which Helm gives no label.
const restricted = `
apiVersion: v1
kind: Namespace
metadata:
  name: team
  labels:
    pod-security.kubernetes.io/enforce: restricted
    pod-security.kubernetes.io/warn: restricted
`
