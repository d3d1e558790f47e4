package manifest

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// checkAddresses checks the values of a ConfigMap that are addresses, which the names of their keys
// tell: each is a Service of this deployment, or a pod of one, with a port that the Service has. A
// list of pods names all replicas.
func (c contents) checkAddresses(config *corev1.ConfigMap) []error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(config.Data)) {
		if !strings.HasSuffix(key, "_ADDR") && !strings.HasSuffix(key, "_URL") {
			continue
		}
		pods := map[string]int32{}
		for address := range strings.SplitSeq(config.Data[key], ",") {
			service, err := c.checkAddress(address, pods)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", key, address, err))
				continue
			}
			pods[service]++
		}
		for _, w := range c.workloads {
			if n := pods["pods of "+w.name]; n > 0 && n != w.replicas {
				errs = append(errs, fmt.Errorf("%s: %d pods of %s, expected its %d replicas", key, n, w.name, w.replicas))
			}
		}
	}
	return errs
}

// checkAddress returns what an address stands for: a Service, or "pods of" a workload. Pods must
// come in their order, so seen holds how many there were before.
func (c contents) checkAddress(address string, seen map[string]int32) (string, error) {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	port, err := strconv.ParseInt(portText, 10, 32)
	if err != nil {
		return "", fmt.Errorf("port: %w", err)
	}
	pod, name, ofPod := strings.Cut(host, ".")
	if !ofPod {
		name = host
	}
	service := c.services[name]
	if service == nil {
		return "", fmt.Errorf("no Service %q", name)
	}
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == port }) {
		return "", fmt.Errorf("service %s has no port %d", name, port)
	}
	if !ofPod {
		return name, nil
	}
	for _, w := range c.workloads {
		if w.service == name {
			key := "pods of " + w.name
			if want := fmt.Sprintf("%s-%d", w.name, seen[key]); pod != want {
				return "", fmt.Errorf("pod %s, expected %s", pod, want)
			}
			return key, nil
		}
	}
	return "", fmt.Errorf("no StatefulSet has the Service %q", name)
}
