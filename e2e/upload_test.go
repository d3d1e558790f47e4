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
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// encoded sends bytes as they are, and reads no answer.
type encoded struct{}

// Marshal implements encoding.CodecV2.
func (encoded) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil // the test sends nothing else
}

// Unmarshal implements encoding.CodecV2.
func (encoded) Unmarshal(mem.BufferSlice, any) error { return nil }

// Name implements encoding.CodecV2.
func (encoded) Name() string { return "proto" }

// TestLongUploadsAreBounded sends eight requests of 60 MB to a service at once, for each method
// that takes large ones. They have as many empty messages as fit, which take up many times their
// size when they are decoded.
func TestLongUploadsAreBounded(t *testing.T) {
	t.Parallel()
	bound := 128<<20 + max(2, runtime.GOMAXPROCS(0))*200<<20 // as many are read at once, with a copy each
	services := start(t)
	graph, setup := &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{}}}, &setupv1.Setup{Messages: []*worldv1.Message{{}}}
	repeat(t, graph)
	repeat(t, setup)
	calls, turn := &toolhostv1.ExecuteRequest{Calls: []*worldv1.Message{{}}}, &agentgwv1.RespondRequest{View: []*worldv1.Message{{}}}
	repeat(t, calls)
	repeat(t, turn)
	for _, test := range []struct {
		service, method string
		request         proto.Message
	}{
		{cluster.Evaluator, evaluatorv1.EvaluatorService_PutEvaluations_FullMethodName, &evaluatorv1.PutEvaluationsRequest{
			Evaluations: []*evaluatorv1.NamedEvaluation{{Scenario: "large", Evaluation: &evaluationv1.Evaluation{Milestones: graph}}},
		}},
		{cluster.ToolHost, toolhostv1.ToolHostService_CreateSession_FullMethodName, &toolhostv1.CreateSessionRequest{SessionId: "large", Setup: setup}},
		{cluster.ToolHost, toolhostv1.ToolHostService_Execute_FullMethodName, calls},
		{cluster.AgentGateway, agentgwv1.AgentGatewayService_Respond_FullMethodName, turn},
	} {
		request, err := proto.Marshal(test.request)
		if err != nil {
			t.Fatal(err)
		}
		flood(t, services.Address(test.service), test.method, request, string(test.request.ProtoReflect().Descriptor().FullName())+" has ")
		if services.Ended(test.service) {
			t.Fatalf("%s: the process has ended", test.method)
		}
		got := peakMemory(t, services.Pid(test.service))
		t.Logf("%s: peak memory %d MiB", test.method, got>>20)
		if got > bound {
			t.Errorf("%s: peak memory: got %d MiB, want at most %d", test.method, got>>20, bound>>20)
		}
	}
}

// repeat adds a message's content to it until it has 60 MB.
func repeat(t *testing.T, m proto.Message) {
	t.Helper()
	const size = 60_000_000
	content, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	m.ProtoReflect().SetUnknown([]byte(strings.Repeat(string(content), size/len(content)-1)))
}

// flood sends a request eight times at once, each of which is to be refused with a text.
func flood(t *testing.T, address, method string, request []byte, want string) {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(encoded{}), grpc.MaxCallSendMsgSize(2*len(request))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			err := conn.Invoke(t.Context(), method, request, new([]byte))
			if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), want) {
				t.Errorf("request of %d bytes: got %v, want %v: %s", len(request), err, codes.ResourceExhausted, want)
			}
		})
	}
	group.Wait()
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
