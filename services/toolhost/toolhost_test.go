package toolhost

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/executor"
)

// TestRun starts the service as a process does, stops it, and finds its sessions after a restart.
func TestRun(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Dir = filepath.Join(t.TempDir(), "toolhost")
	for round := range 2 {
		m, err := rpc.Open(t.Context(), rpc.DefaultConfig(), t.TempDir(), rpc.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatalf("open node: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Run(ctx, cfg, m, m.Bus().ToolHost()) }()
		client := toolhostv1.NewToolHostServiceClient(m.ToolHost("s"))
		create(t, client, "s", smallSetup("small"))
		run(t, client, "s", 3, addContact(2, "Bob"))
		if _, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "s", Index: 3}); err == nil {
			t.Error("execute nothing: got no error, want one from validation")
		}
		if got := names(t, client, "s", 3); len(got) != 2 {
			t.Errorf("round %d: got contacts %q, want two", round, got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("round %d: Run: %v", round, err)
		}
		if err := m.Close(); err != nil {
			t.Errorf("close node: %v", err)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	tests := []struct {
		flag  string
		wants string
	}{
		{"--toolhost-dir=", "--toolhost-dir"},
		{"--toolhost-cached-sessions=0", "--toolhost-cached-sessions"},
		{"--toolhost-max-rows=0", "--toolhost-max-rows"},
		{"--toolhost-max-calls=65", "--toolhost-max-calls"},
		{"--toolhost-max-bytes=1", "--toolhost-max-bytes"},
		{"--toolhost-service-timeout=0s", "--toolhost-service-timeout"},
		{"--toolhost-service-url=host:80", "--toolhost-service-url"},
		{"--toolhost-service-url=https://proxy.example/rapid", ""},
		{"--toolhost-cached-sessions=7", ""},
	}
	for _, test := range tests {
		cfg := DefaultConfig()
		flags := pflag.NewFlagSet("toolhost", pflag.ContinueOnError)
		cfg.RegisterFlags(flags)
		if err := flags.Parse([]string{test.flag}); err != nil {
			t.Fatalf("parse %s: %v", test.flag, err)
		}
		err := cfg.Validate()
		if (err == nil) != (test.wants == "") || (err != nil && !strings.Contains(err.Error(), test.wants)) {
			t.Errorf("Validate after %s: got %v, want an error about %q", test.flag, err, test.wants)
		}
	}
}

func TestSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	previous := otel.GetTracerProvider()
	otel.SetTracerProvider(provider)
	t.Cleanup(func() {
		otel.SetTracerProvider(previous)
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Errorf("stop tracing: %v", err)
		}
	})
	recording := &server{tracer: provider.Tracer("test")}
	if recording.observer(t.Context()) != nil {
		t.Error("observer of a context without span: got one, want none")
	}
	ctx, parent := provider.Tracer("test").Start(t.Context(), "parent")
	recording.observer(ctx)(time.Now(), []*worldv1.Message{call(2, worldv1.Role_ROLE_AGENT, "")}, []executor.Answer{
		{Tool: "get_wifi_status"}, {Exception: "SyntaxError: no, secret"},
	})
	parent.End()
	ended := recorder.Ended()
	if len(ended) != 3 || ended[0].Name() != "execute_tool get_wifi_status" || ended[1].Name() != "execute_tool" || ended[1].Status().Code == otelcodes.Error {
		t.Fatalf("spans: got %v, want two of calls before their parent, and an exception that is no error", ended)
	}
	for _, want := range []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", "get_wifi_status"),
		attribute.String("gen_ai.tool.call.id", "call_1"),
	} {
		if !slices.Contains(ended[0].Attributes(), want) {
			t.Errorf("attributes: got %v, want %v among them", ended[0].Attributes(), want)
		}
	}
	if want := attribute.String("toolsandbox.tool.exception", "SyntaxError"); !slices.Contains(ended[1].Attributes(), want) || strings.Contains(fmt.Sprint(ended[1].Attributes()), "secret") {
		t.Errorf("attributes of an exception: got %v, want %v and not its text", ended[1].Attributes(), want)
	}
}
