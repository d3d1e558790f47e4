package worker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	user  = worldv1.Role_ROLE_USER
	agent = worldv1.Role_ROLE_AGENT
	env   = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT

	// patience bounds every wait for something that must happen.
	patience = 2 * time.Minute
	// lease is long enough not to pass while a test runs.
	lease = time.Minute
)

// calls are the calls to peers of a calm rollout, in order. After each but the first an entry is
// added to the log. computedCalls are those of a rollout that asks nobody for turns.
const (
	calls         = 6
	computedCalls = 3
)

// stage is a bus and two scripted peers.
type stage struct {
	*bus.Bus
	js      jetstream.JetStream
	gateway *gateway
	host    *host
	// computed says that the players are scripted: nobody is asked for their turns.
	computed bool
	fork     *busv1.Fork // of each rollout, nil for none
	dial     func(context.Context, string) (net.Conn, error)
	digest   string // of the setup
}

func newStage(t *testing.T) *stage {
	t.Helper()
	conn := natstest.Connect(t, t.TempDir())
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{Bus: natstest.Open(t, conn, natstest.OneShard), js: js, gateway: &gateway{}, host: &host{}}
	t.Cleanup(func() {
		if len(s.gateway.wrong) > 0 {
			t.Errorf("turns that were called fresh and had been asked for before: %v", s.gateway.wrong)
		}
	})
	listener := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(grpc.WaitForHandlers(true))
	agentgwv1.RegisterAgentGatewayServiceServer(srv, s.gateway)
	toolhostv1.RegisterToolHostServiceServer(srv, s.host)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: got %v, want nil", err)
		}
	})
	s.dial = func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
	s.digest, err = s.PutSetup(t.Context(), &setupv1.Setup{
		Name:        "scene",
		MaxMessages: 30,
		Messages:    []*worldv1.Message{{Index: 0, Sender: user, Recipient: agent, Body: &worldv1.Message_Text{Text: "hello"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// intercept stands between a worker and its peers: it sees every call and may do what it likes
// instead of invoking it.
type intercept func(ctx context.Context, method string, invoke func() error) error

// worker returns a worker with connections of its own. change and between may be nil.
func (s *stage) worker(t *testing.T, change func(*Config), between intercept) *Worker {
	t.Helper()
	cfg := Config{Name: "w", Parallel: 4, Lease: lease, RespondTimeout: patience, ExecuteTimeout: patience, ConversationMemory: 64 << 20, Attempts: 3, ResultTimeout: patience}
	if change != nil {
		change(&cfg)
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(s.dial)}
	if between != nil {
		options = append(options, grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return between(ctx, method[strings.LastIndex(method, "/")+1:], func() error { return invoker(ctx, method, req, reply, conn, opts...) })
		}))
	}
	conn, err := grpc.NewClient("passthrough:///peers", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close connection: %v", err)
		}
	})
	host := toolhostv1.NewToolHostServiceClient(conn)
	w := New(cfg, Peers{
		Bus:      s.Orchestrator(),
		Agents:   agentgwv1.NewAgentGatewayServiceClient(conn),
		ToolHost: func(string) toolhostv1.ToolHostServiceClient { return host },
		Trace:    func(ctx context.Context, _ string, _ int32) context.Context { return ctx },
		Drain:    context.WithCancel, // no grace
		Logger:   slog.New(slog.DiscardHandler),
	})
	if w.metrics, err = newMetrics(); err != nil { // Run makes them, but some tests call what is below it
		t.Fatal(err)
	}
	return w
}

// run runs a worker until the returned function is called, which waits for its end. It also ends
// with the test.
func run(ctx context.Context, t *testing.T, w *Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (s *stage) rollout(id string) *busv1.Rollout {
	sweep, _, _ := strings.Cut(id, ".")
	r := &busv1.Rollout{
		Id: id, SweepId: sweep, Scenario: "scene", SetupDigest: s.digest, Seed: 7,
		Agent: &agentgwv1.Player{Name: "a"}, User: &agentgwv1.Player{Name: "u"},
		HostedServices: toolhostv1.HostedServices_HOSTED_SERVICES_OFFLINE, Fork: s.fork,
	}
	if s.computed { // after the end of its script a user ends the conversation
		call := &worldv1.ToolCall{Tool: "tool"}
		r.Agent.Kind = script(&worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{call, call}}, &worldv1.ScriptTurn{Say: "done"})
		r.User.Kind = script()
	}
	return r
}

func script(turns ...*worldv1.ScriptTurn) *agentgwv1.Player_Scripted {
	return &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_INLINE, Turns: turns}}
}

func (s *stage) enqueue(t *testing.T, parallel int, ids ...string) {
	t.Helper()
	jobs := make([]*busv1.Job, len(ids))
	for i, id := range ids {
		jobs[i] = &busv1.Job{Rollout: s.rollout(id), Parallel: int32(parallel)}
	}
	if err := s.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
}

// fetch takes the one job of a rollout's sweep, as a worker does.
func (s *stage) fetch(t *testing.T, id string, lease time.Duration) *bus.Delivery {
	t.Helper()
	sweep, _, _ := strings.Cut(id, ".")
	queue, err := s.OpenQueue(t.Context(), sweep, lease)
	if err != nil {
		t.Fatal(err)
	}
	deliveries, err := queue.Fetch(t.Context(), 1, patience)
	if err != nil || len(deliveries) != 1 {
		t.Fatalf("Fetch: got %d jobs and %v, want 1 and nil", len(deliveries), err)
	}
	return deliveries[0]
}

// ended waits until the logs of all given rollouts have ended and returns their states.
func (s *stage) ended(t *testing.T, ids ...string) map[string]*rollout.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	left := make(map[string]bool)
	for _, id := range ids {
		left[id] = true
	}
	err := s.FollowLog(ctx, 0, func(id string, _ uint64, entry *busv1.LogEntry) error {
		if entry.GetEnd() != nil {
			delete(left, id)
		}
		if len(left) == 0 {
			cancel()
		}
		return nil
	})
	if err != nil || len(left) > 0 {
		t.Fatalf("rollouts that have not ended: got %v and %v, want none and nil", left, err)
	}
	states := make(map[string]*rollout.State)
	for _, id := range ids {
		states[id] = s.state(t, id)
	}
	return states
}

// state folds a log, which fails if any message in it is doubled or missing.
func (s *stage) state(t *testing.T, id string) *rollout.State {
	t.Helper()
	state, err := rollout.Fold(s.entries(t, id))
	if err != nil {
		t.Fatalf("log of %s: %v", id, err)
	}
	return state
}

func (s *stage) entries(t *testing.T, id string) []*busv1.LogEntry {
	t.Helper()
	log, err := s.ReadLog(t.Context(), id)
	if err != nil && !errors.Is(err, bus.ErrDamaged) {
		t.Fatal(err)
	}
	return log.Entries
}

// empty waits until no job is left.
func (s *stage) empty(t *testing.T) {
	t.Helper()
	stream, err := s.js.Stream(t.Context(), "JOBS")
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the queue is empty", func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.Msgs == 0
	})
}

// score publishes a result.
func (s *stage) score(t *testing.T, id string) {
	t.Helper()
	if _, err := s.PublishResult(t.Context(), &busv1.Result{Rollout: s.rollout(id)}); err != nil {
		t.Fatal(err)
	}
}

// until waits for something that tells nobody when it happens.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit.C:
			t.Errorf("waited %s in vain until %s", patience, what)
			return
		}
	}
}

// gateway plays both roles: the agent makes two calls, then speaks; the user then makes a call that
// ends the conversation.
type gateway struct {
	agentgwv1.UnimplementedAgentGatewayServiceServer
	// respond, if set, answers instead, unless it returns neither an answer nor an error.
	respond func(context.Context, *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error)

	// raced says that several workers play at once, each of which may take the log over from one
	// that has just added to it.
	raced bool

	mu sync.Mutex
	// asked are the turns that somebody has asked for, wrong those that were then asked for as
	// fresh, known those that were not fresh.
	asked        map[string]bool
	wrong, known []string
}

// note checks that nobody calls a turn fresh that was asked for before.
func (g *gateway) note(req *agentgwv1.RespondRequest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	turn := req.GetRolloutId() + " " + strconv.Itoa(int(req.GetIndex()))
	switch {
	case !req.GetFresh():
		g.known = append(g.known, turn)
	case g.asked[turn] && !g.raced:
		g.wrong = append(g.wrong, turn)
	}
	if g.asked == nil {
		g.asked = make(map[string]bool)
	}
	g.asked[turn] = true
}

func (g *gateway) Respond(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	g.note(req)
	if g.respond != nil {
		if response, err := g.respond(ctx, req); response != nil || err != nil {
			return response, err
		}
	}
	line := func(offset int32, recipient worldv1.Role) *worldv1.Message {
		index := req.GetIndex() + offset
		return &worldv1.Message{Index: index, Sender: req.GetRole(), Recipient: recipient, Body: &worldv1.Message_Text{Text: "line " + strconv.Itoa(int(index))}}
	}
	response := &agentgwv1.RespondResponse{}
	switch {
	case req.GetRole() == agent && req.GetTurn() == 0:
		response.Messages = []*worldv1.Message{line(0, env), line(1, env)}
	case req.GetRole() == agent:
		response.Messages = []*worldv1.Message{line(0, user)}
	default:
		response.Messages = []*worldv1.Message{line(0, env)}
	}
	return response, nil
}

// host answers calls. A call of the user ends the conversation.
type host struct {
	toolhostv1.UnimplementedToolHostServiceServer
	// create and execute, if set, answer instead, unless they return neither an answer nor an
	// error.
	create  func(*toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error)
	execute func(*toolhostv1.ExecuteRequest) (*toolhostv1.ExecuteResponse, error)
	// restore, if set, answers instead.
	restore func(*toolhostv1.RestoreSessionRequest) (*toolhostv1.RestoreSessionResponse, error)
}

func (h *host) CreateSession(_ context.Context, req *toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
	if h.create != nil {
		if response, err := h.create(req); response != nil || err != nil {
			return response, err
		}
	}
	return &toolhostv1.CreateSessionResponse{
		AgentTools:  []*worldv1.Tool{{Name: "t", ExecutionName: "tool", ParametersJson: "{}"}},
		ToolsDigest: "t",
		Versions:    []*worldv1.TableVersion{{Name: world.Setting}},
	}, nil
}

func (h *host) RestoreSession(_ context.Context, req *toolhostv1.RestoreSessionRequest) (*toolhostv1.RestoreSessionResponse, error) {
	if h.restore != nil {
		return h.restore(req)
	}
	return &toolhostv1.RestoreSessionResponse{}, nil
}

func (h *host) Execute(_ context.Context, req *toolhostv1.ExecuteRequest) (*toolhostv1.ExecuteResponse, error) {
	if h.execute != nil {
		if response, err := h.execute(req); response != nil || err != nil {
			return response, err
		}
	}
	if len(req.GetCalls()) == 0 {
		return nil, errors.New("no calls")
	}
	response := &toolhostv1.ExecuteResponse{Versions: []*worldv1.TableVersion{{Name: world.Setting, Index: req.GetIndex()}}}
	for i, call := range req.GetCalls() {
		response.Answers = append(response.Answers, &worldv1.Message{
			Index: req.GetIndex() + int32(i), Sender: env, Recipient: call.GetSender(), Body: &worldv1.Message_Text{Text: "answer to " + messagetext.Content(call)},
		})
		if call.GetSender() == user {
			response.EndedAtIndex = proto.Int32(call.GetIndex())
		}
	}
	return response, nil
}
