package e2e_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
)

// encoded sends bytes as they are, and reads no answer.
type encoded struct{}

// Marshal implements encoding.CodecV2.
func (encoded) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil //nolint:forcetypeassert // the test sends nothing else
}

// Unmarshal implements encoding.CodecV2.
func (encoded) Unmarshal(mem.BufferSlice, any) error { return nil }

// Name implements encoding.CodecV2.
func (encoded) Name() string { return "proto" }

// TestUploadsAreBounded sends eight requests of 60 MB to an evaluator at once, each of as many
// empty milestones as fit, which take up a hundred times their size when they are decoded.
func TestUploadsAreBounded(t *testing.T) {
	t.Parallel()
	const uploads, size = 8, 60_000_000
	bound := 128<<20 + max(2, runtime.GOMAXPROCS(0))*100<<20 // of which as many are received at once
	services := start(t)
	node, err := proto.Marshal(&evaluationv1.Graph{Nodes: []*evaluationv1.Node{{}}})
	if err != nil {
		t.Fatal(err)
	}
	graph := new(evaluationv1.Graph)
	graph.ProtoReflect().SetUnknown([]byte(strings.Repeat(string(node), size/len(node))))
	request, err := proto.Marshal(&evaluatorv1.PutEvaluationsRequest{Evaluations: []*evaluatorv1.NamedEvaluation{
		{Scenario: "large", Evaluation: &evaluationv1.Evaluation{Milestones: graph}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(services.Address(cluster.Evaluator), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(encoded{}), grpc.MaxCallSendMsgSize(2*size)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	var group sync.WaitGroup
	for range uploads {
		group.Go(func() {
			err := conn.Invoke(t.Context(), evaluatorv1.EvaluatorService_PutEvaluations_FullMethodName, request, new([]byte))
			want := fmt.Sprintf("toolsandbox.evaluator.v1.PutEvaluationsRequest has %d bytes, expected at most 16777216: send it in parts", len(request))
			if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), want) {
				t.Errorf("upload of %d bytes: got %v, want %v: %s", len(request), err, codes.ResourceExhausted, want)
			}
		})
	}
	group.Wait()
	if services.Ended(cluster.Evaluator) {
		t.Fatal("the evaluator has ended")
	}
	if got := peakMemory(t, services.Pid(cluster.Evaluator)); got > bound {
		t.Errorf("peak memory of the evaluator: got %d MiB, want at most %d", got>>20, bound>>20)
	}
}

// peakMemory returns the largest number of bytes that a process had in memory.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes int
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscanf(strings.TrimSpace(rest), "%d kB", &kilobytes); err != nil {
		t.Fatalf("VmHWM of %d: %v", pid, err)
	}
	return kilobytes << 10
}
