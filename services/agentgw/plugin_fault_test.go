package agentgw_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func refuseWith(code codes.Code, text string) func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	return func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		return nil, status.Error(code, text)
	}
}

func TestPluginFailures(t *testing.T) {
	t.Parallel()
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	hang := func(ctx context.Context, _ *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	huge := answering(&agentv1.ActResponse{Text: strings.Repeat("x", 17<<20)})
	garbage := answering(&agentv1.ActResponse{Text: "\xff\xfe"})
	tests := map[string]struct {
		act         func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error)
		timeoutMS   int64
		code        codes.Code
		wantFailure string
		class       agentgwv1.FailureClass
	}{
		"hangs":           {act: hang, timeoutMS: 50, code: codes.DeadlineExceeded},
		"never ready":     {act: refuseWith(codes.Unavailable, "warming up"), code: codes.Aborted},
		"is stopped":      {act: refuseWith(codes.Canceled, "the server stops"), code: codes.Aborted},
		"has no time":     {act: refuseWith(codes.DeadlineExceeded, "its model hangs"), code: codes.DeadlineExceeded},
		"leaves":          {act: refuseWith(codes.Aborted, "ended by me"), wantFailure: "the agent ended the conversation, turn 0: ended by me", class: theirs},
		"is full":         {act: refuseWith(codes.ResourceExhausted, "too many calls"), wantFailure: "ResourceExhausted: too many calls", class: theirs},
		"is closed":       {act: refuseWith(codes.PermissionDenied, "not for you"), wantFailure: "PermissionDenied: not for you", class: theirs},
		"other service":   {wantFailure: "Unimplemented", class: theirs},
		"refuses":         {act: refuseWith(codes.Internal, "out of memory"), wantFailure: "Internal: out of memory", class: own},
		"raises":          {act: refuseWith(codes.Unknown, "KeyError"), wantFailure: "the agent failed: 127.0.0.1:", class: own},
		"checks":          {act: refuseWith(codes.InvalidArgument, "no such tool"), wantFailure: "InvalidArgument: no such tool", class: own},
		"answers garbage": {act: garbage, wantFailure: "UTF-8", class: own},
		"answers 17 MiB":  {act: huge, wantFailure: "ResourceExhausted", class: own},
		"says it raised":  {act: raises("KeyError", "'x'"), wantFailure: "raised by the agent, turn 0: 'x'", class: own},
		"raises a flood":  {act: raises(strings.Repeat("E", 1<<20), strings.Repeat("é", 1<<20)), wantFailure: "é…", class: own},
		"raises nothing":  {act: raises("", ""), wantFailure: "raised by the agent, turn 0: ", class: own},
		"floods by error": {act: refuseWith(codes.Unknown, strings.Repeat("é", 1<<19)), wantFailure: "é…", class: own},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := servePlugin(t, test.act)
			req := ask(plugin(address, test.timeoutMS))
			req.RolloutId = strings.ReplaceAll(name, " ", "_")
			got, err := client.Respond(t.Context(), req)
			if status.Code(err) != test.code {
				t.Fatalf("code: got %v, want %v", err, test.code)
			}
			failure := got.GetFailure()
			if failure.GetClass() != test.class || !strings.Contains(failure.GetDetail(), test.wantFailure) || len(failure.String()) > 20_000 {
				t.Errorf("failure: got %.2000v, want one of class %s with %q", failure, test.class, test.wantFailure)
			}
		})
	}
}

// TestPluginRaisesOnce checks that an exception of the agent keeps its type, is recorded, and is
// not asked for again.
func TestPluginRaisesOnce(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	var asked atomic.Int32
	for name, act := range map[string]func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error){
		"ZeroDivisionError": raises("ZeroDivisionError", "division by zero"), "RuntimeError": refuseWith(codes.Unknown, "boom"),
	} {
		asked.Store(0)
		address, _ := servePlugin(t, func(ctx context.Context, req *agentv1.ActRequest) (*agentv1.ActResponse, error) {
			asked.Add(1)
			return act(ctx, req)
		})
		req := ask(plugin(address, 0))
		req.RolloutId = name
		for range 3 {
			got, err := client.Respond(t.Context(), req)
			if err != nil || got.GetFailure().GetExceptionType() != name || got.GetFailure().GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_MODEL {
				t.Errorf("got %v and %v, want a failure of the agent, %s", got, err, name)
			}
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: got %d calls of the plug-in, want 1", name, n)
		}
	}
}

// TestPluginUserFails checks that a failing person at the terminal, as the user, does not count
// against the agent.
func TestPluginUserFails(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	for name, act := range map[string]func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error){
		"raises": raises("ZeroDivisionError", "x"), "refuses": refuseWith(codes.Unknown, "boom"),
	} {
		for _, compat := range []bool{false, true} {
			address, _ := servePlugin(t, act)
			req := ask(plugin(address, 0))
			req.RolloutId, req.Role, req.Compat = fmt.Sprintf("%s.%t", name, compat), user, compat
			req.View = []*worldv1.Message{message(0, agent, user, "a")}
			got, err := client.Respond(t.Context(), req)
			if err != nil || got.GetFailure().GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER {
				t.Errorf("a user who %s, compat %t: got %v and %v, want a failure without a score", name, compat, got, err)
			}
		}
	}
}

// TestPluginStreamBreaks resets streams and answers as a proxy. The agent's own code has not
// answered.
func TestPluginStreamBreaks(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	for name, test := range map[string]struct {
		handle http.HandlerFunc
		code   codes.Code
		class  agentgwv1.FailureClass
	}{
		"reset": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, codes.Aborted, 0},
		"reset in its answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			_, _ = w.Write([]byte{0, 0, 0, 0, 9, 1})
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, codes.Aborted, 0},
		"no trailers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			_, _ = w.Write([]byte{0, 0, 0, 0, 0})
		}, codes.Aborted, 0},
		"proxy fails": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oops", http.StatusInternalServerError) }, codes.OK, theirs},
		"web server":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, codes.OK, theirs},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(test.handle)
			srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			srv.Config.Protocols = &http.Protocols{}
			srv.Config.Protocols.SetUnencryptedHTTP2(true)
			srv.Start()
			defer srv.Close()
			req := ask(plugin(srv.Listener.Addr().String(), 0))
			req.RolloutId = strings.ReplaceAll(name, " ", "_")
			got, err := client.Respond(t.Context(), req)
			if status.Code(err) != test.code || got.GetFailure().GetClass() != test.class {
				t.Errorf("got %v and %v, want %s and %s", got, err, test.code, test.class)
			}
		})
	}
}

// theirs is a failure that does not count against the agent, own one that does.
const (
	theirs = agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER
	own    = agentgwv1.FailureClass_FAILURE_CLASS_MODEL
)

func raises(exception, text string) func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	return answering(&agentv1.ActResponse{Text: "dropped", Raised: &agentv1.Raised{ExceptionType: exception, Text: text}})
}
