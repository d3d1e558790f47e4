package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// layers names the packages of each layer. The innermost frame that belongs to any layer decides.
func layers() []struct{ prefix, layer string } {
	const modulePath = "github.com/toolsandbox/toolsandbox/"
	return []struct{ prefix, layer string }{
		{"github.com/nats-io/", "nats"},
		{"google.golang.org/grpc", "grpc"},
		{"golang.org/x/net/http2", "grpc"},
		{"google.golang.org/protobuf", "protobuf"},
		{"go.etcd.io/bbolt", "bbolt"},
		{"buf.build/go/protovalidate", "validation"},
		{"cel.dev/cel-go", "validation"},
		{modulePath + "services/evaluator/internal/", "scoring"},
		{modulePath + "services/evaluator", "evaluator"},
		{modulePath + "services/toolhost", "toolhost"},
		{modulePath + "services/agentgw", "agentgw"},
		{modulePath + "services/orchestrator", "orchestrator"},
		{modulePath + "internal/bus", "nats"},
		{modulePath, "other own code"},
	}
}

// shares splits the time of a CPU profile by layer.
func shares(raw []byte) ([]Share, error) {
	parsed, err := profile.Parse(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	total := int64(0)
	sums := make(map[string]int64)
	for _, sample := range parsed.Sample {
		value := sample.Value[len(sample.Value)-1]
		total += value
		sums[layerOf(sample)] += value
	}
	var list []Share
	for layer, sum := range sums {
		list = append(list, Share{Layer: layer, Share: float64(sum) / float64(max(total, 1))})
	}
	slices.SortFunc(list, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Layer, b.Layer))
	})
	return list, nil
}

func layerOf(sample *profile.Sample) string {
	known := layers()
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if line.Function == nil {
				continue
			}
			name := line.Function.Name
			for _, l := range known {
				if strings.HasPrefix(name, l.prefix) {
					return l.layer
				}
			}
			if strings.HasPrefix(name, "runtime.gcBgMarkWorker") || strings.HasPrefix(name, "runtime.bgsweep") {
				return "garbage collection"
			}
		}
	}
	return "scheduling and system calls"
}
