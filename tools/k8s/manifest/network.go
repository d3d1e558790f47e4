package manifest

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// checkPolicy checks that a policy selects pods, that its peers in this namespace exist and that
// they have its ports.
func (d *deployment) checkPolicy(who string, spec networkingv1.NetworkPolicySpec) {
	pods := d.selected(who, &spec.PodSelector)
	for _, rule := range spec.Ingress {
		for _, peer := range rule.From {
			if peer.PodSelector != nil && peer.NamespaceSelector == nil {
				d.selected(who, peer.PodSelector)
			}
		}
		d.checkPorts(who, pods, rule.Ports)
	}
	for _, rule := range spec.Egress {
		for _, peer := range rule.To {
			if peer.PodSelector != nil && peer.NamespaceSelector == nil {
				d.checkPorts(who, d.selected(who, peer.PodSelector), rule.Ports)
			}
		}
	}
}

func (d *deployment) checkPorts(who string, pods []workload, ports []networkingv1.NetworkPolicyPort) {
	for _, port := range ports {
		if port.Port != nil && !slices.ContainsFunc(pods, func(w workload) bool { return w.hasPort(*port.Port) }) {
			d.report("%s: no selected pod has port %s", who, port.Port.String())
		}
	}
}

// Connections returns the connections that the network policies let pods open: "a -> b:80" between
// pods of this deployment, "a -> 0.0.0.0/0:443" and "a -> kube-system:53" to others. It expects
// objects that Check accepts.
func Connections(objects []runtime.Object) []string {
	d := newDeployment(objects)
	seen := map[string]bool{}
	for _, from := range d.workloads {
		for _, to := range d.workloads {
			for _, container := range to.template.Spec.Containers {
				for _, port := range container.Ports {
					if d.admits(from, to, port, networkingv1.PolicyTypeEgress) && d.admits(to, from, port, networkingv1.PolicyTypeIngress) {
						seen[fmt.Sprintf("%s -> %s:%d", from.name, to.name, port.ContainerPort)] = true
					}
				}
			}
		}
		for _, policy := range d.policies {
			if !selects(&policy.Spec.PodSelector, from) {
				continue
			}
			for _, rule := range policy.Spec.Egress {
				for _, target := range outside(rule) {
					seen[from.name+" -> "+target] = true
				}
			}
		}
	}
	connections := make([]string, 0, len(seen))
	for connection := range seen {
		connections = append(connections, connection)
	}
	slices.Sort(connections)
	return connections
}

// admits reports whether the policies of a pod let it connect to a peer, or the peer to it. port is
// that of the server.
func (d *deployment) admits(pod, peer workload, port corev1.ContainerPort, direction networkingv1.PolicyType) bool {
	isolated := false
	for _, policy := range d.policies {
		if !slices.Contains(policy.Spec.PolicyTypes, direction) || !selects(&policy.Spec.PodSelector, pod) {
			continue
		}
		isolated = true
		if direction == networkingv1.PolicyTypeIngress {
			for _, rule := range policy.Spec.Ingress {
				if opens(rule.From, rule.Ports, peer, port) {
					return true
				}
			}
			continue
		}
		for _, rule := range policy.Spec.Egress {
			if opens(rule.To, rule.Ports, peer, port) {
				return true
			}
		}
	}
	return !isolated
}

// opens reports whether a rule covers a pod of this namespace and a port.
func opens(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, w workload, port corev1.ContainerPort) bool {
	covers := func(p networkingv1.NetworkPolicyPort) bool {
		return p.Port == nil || p.Port.IntVal == port.ContainerPort || p.Port.StrVal != "" && p.Port.StrVal == port.Name
	}
	if len(ports) > 0 && !slices.ContainsFunc(ports, covers) {
		return false
	}
	return len(peers) == 0 || slices.ContainsFunc(peers, func(peer networkingv1.NetworkPolicyPeer) bool {
		local := peer.NamespaceSelector == nil || metav1.FormatLabelSelector(peer.NamespaceSelector) == "<none>"
		return peer.IPBlock == nil && local && (peer.PodSelector == nil || selects(peer.PodSelector, w))
	})
}

// outside describes the peers of a rule that may be outside of this namespace.
func outside(rule networkingv1.NetworkPolicyEgressRule) []string {
	var targets []string
	add := func(name string) {
		if len(rule.Ports) == 0 {
			targets = append(targets, name)
		}
		for _, port := range rule.Ports {
			targets = append(targets, name+":"+port.Port.String())
		}
	}
	if len(rule.To) == 0 {
		add("anything")
	}
	for _, peer := range rule.To {
		switch {
		case peer.IPBlock != nil:
			add(peer.IPBlock.CIDR)
		case peer.NamespaceSelector != nil && peer.NamespaceSelector.MatchLabels[corev1.LabelMetadataName] != "":
			add(peer.NamespaceSelector.MatchLabels[corev1.LabelMetadataName])
		case peer.NamespaceSelector != nil:
			name := "any namespace"
			if peer.PodSelector != nil {
				name += ", " + metav1.FormatLabelSelector(peer.PodSelector)
			}
			add(name)
		}
	}
	return targets
}

// selects reports whether a selector selects the pods of a workload. Check reports invalid ones.
func selects(selector *metav1.LabelSelector, w workload) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(w.template.Labels))
}
