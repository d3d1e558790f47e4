package agent_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// A whole agent: it looks once whether wifi is on and reports the answer. A real one calls
// agent.Serve(ctx, "localhost:7500", wifi) and is named with --agent grpc://localhost:7500.
func Example() {
	wifi := agent.Func(func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
		if last := c.Last(); last.Speaker == agent.ToolResult {
			return agent.Say("Wifi is on: " + last.Text), nil
		}
		return agent.Call("get_wifi_status", nil), nil
	})

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- agent.ServeListener(ctx, listener, wifi) }()
	for _, message := range []*agentv1.Message{
		{Speaker: agentv1.Speaker_SPEAKER_USER, Text: "Is wifi on?"},
		{Speaker: agentv1.Speaker_SPEAKER_TOOL, Text: "True"},
	} {
		answer, err := askOnce(ctx, listener.Addr().String(), message)
		fmt.Printf("calls=%d text=%q error=%v\n", len(answer.GetCalls()), answer.GetText(), err)
	}
	cancel()
	fmt.Println("stopped:", <-served)
	// Output:
	// calls=1 text="" error=<nil>
	// calls=0 text="Wifi is on: True" error=<nil>
	// stopped: <nil>
}

// askOnce does what the gateway does.
func askOnce(ctx context.Context, address string, message *agentv1.Message) (*agentv1.ActResponse, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return agentv1.NewAgentServiceClient(conn).Act(ctx, &agentv1.ActRequest{ConversationId: "1", Messages: []*agentv1.Message{message}})
}
