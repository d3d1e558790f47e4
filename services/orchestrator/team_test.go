package orchestrator

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// as returns the context of a call by a member of a team.
func as(t *testing.T, team string, grant access.Grant) context.Context {
	t.Helper()
	return access.NewContext(within(t), &access.Principal{Name: "ann", Team: team, Grant: grant})
}

// eventStream is the server's side of a stream of which nobody reads.
type eventStream[T any] struct {
	grpc.ServerStream
	ctx context.Context
}

func (s eventStream[T]) Context() context.Context { return s.ctx }
func (eventStream[T]) Send(*T) error              { return nil }

// newServer returns the handlers themselves: a connection in one process has no principals.
func newServer(t *testing.T, i *installation) *server {
	t.Helper()
	service, err := newService(i.Network(), i.Bus().Orchestrator(), i.ctx.Done())
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// teamCall is a call, and its code for another team.
type teamCall struct {
	do   func(context.Context) error
	want codes.Code
}

// controlCalls are the calls that control the sweep s.
func controlCalls(s *server) map[string]teamCall {
	return map[string]teamCall{
		"GetSweep": {func(ctx context.Context) error {
			_, err := s.GetSweep(ctx, &orchestratorv1.GetSweepRequest{SweepId: "s"})
			return err
		}, codes.NotFound},
		"UpdateSweep": {func(ctx context.Context) error {
			_, err := s.UpdateSweep(ctx, &orchestratorv1.UpdateSweepRequest{SweepId: "s", Paused: proto.Bool(true)})
			return err
		}, codes.NotFound},
		"RequeueSweep": {func(ctx context.Context) error {
			_, err := s.RequeueSweep(ctx, &orchestratorv1.RequeueSweepRequest{SweepId: "s"})
			return err
		}, codes.NotFound},
		"DeleteSweep": {func(ctx context.Context) error {
			_, err := s.DeleteSweep(ctx, &orchestratorv1.DeleteSweepRequest{SweepId: "s"})
			return err
		}, codes.NotFound},
	}
}

// TestTeamsHaveTheirOwnSweeps lets another team try all that one can do with a sweep.
func TestTeamsHaveTheirOwnSweeps(t *testing.T) {
	s := newServer(t, install(t))
	red, blue, admin := as(t, "red", access.Grant{}), as(t, "blue", access.Grant{}), as(t, "ops", access.Grant{Admin: true})
	create := func(ctx context.Context, id string) error {
		_, err := s.CreateSweep(ctx, &orchestratorv1.CreateSweepRequest{SweepId: id, Spec: spec("one")})
		return err
	}
	if err := create(red, "s"); err != nil {
		t.Fatal(err)
	}
	rollout := &busv1.Rollout{Id: "s.0", SweepId: "s", Team: "red"}
	if _, err := s.bus.Append(within(t), "s.0", &busv1.LogEntry{Start: &busv1.Start{Rollout: rollout}}, bus.Position{}); err != nil {
		t.Fatal(err)
	}
	calls := map[string]teamCall{
		"CreateSweep": {func(ctx context.Context) error { return create(ctx, "s") }, codes.AlreadyExists},
		"CancelSweep": {func(ctx context.Context) error {
			_, err := s.CancelSweep(ctx, &orchestratorv1.CancelSweepRequest{SweepId: "s"})
			return err
		}, codes.NotFound},
		"GetTrajectory": {func(ctx context.Context) error {
			_, err := s.GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
			return err
		}, codes.NotFound},
		"GetRecording": {func(ctx context.Context) error {
			return s.GetRecording(&orchestratorv1.GetRecordingRequest{RolloutId: "s.0"}, eventStream[orchestratorv1.GetRecordingResponse]{ctx: ctx})
		}, codes.NotFound},
		"PutRecording": {func(ctx context.Context) error {
			_, err := s.PutRecording(ctx, &orchestratorv1.PutRecordingRequest{RolloutId: "s.0"})
			return err
		}, codes.AlreadyExists},
		"WatchSweep": {func(ctx context.Context) error { // of a cancelled sweep, so that it ends
			return s.WatchSweep(&orchestratorv1.WatchSweepRequest{SweepId: "s"}, eventStream[orchestratorv1.WatchSweepResponse]{ctx: ctx})
		}, codes.NotFound},
	}
	maps.Copy(calls, controlCalls(s))
	for name, call := range calls {
		if err := call.do(blue); status.Code(err) != call.want {
			t.Errorf("%s by another team: got %v, want %v", name, err, call.want)
		}
	}
	for _, ctx := range []context.Context{red, admin} {
		for _, name := range []string{"CreateSweep", "GetSweep", "UpdateSweep", "CancelSweep", "GetTrajectory", "GetRecording", "PutRecording", "WatchSweep"} {
			if err := calls[name].do(ctx); err != nil && status.Code(err) != codes.DataLoss { // its tables are missing
				t.Errorf("%s by its team or an admin: got %v, want nil", name, err)
			}
		}
	}
}

func TestListsAreOfOneTeam(t *testing.T) {
	s := newServer(t, install(t))
	for i, team := range []string{"red", "blue", "red", "blue", "blue", "red"} {
		if _, err := s.CreateSweep(as(t, team, access.Grant{}), &orchestratorv1.CreateSweepRequest{SweepId: string(rune('a' + i)), Spec: spec("one")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "x", Spec: spec("one")}); err != nil {
		t.Fatal(err)
	}
	for team, want := range map[string]string{"red": "a c f", "blue": "b d e", "green": "", "ops": "a b c d e f x"} {
		var ids []string
		request := &orchestratorv1.ListSweepsRequest{PageSize: 2}
		for pages := 0; pages == 0 || request.GetPageToken() != ""; pages++ {
			page, err := s.ListSweeps(as(t, team, access.Grant{Admin: team == "ops"}), request)
			if err != nil || pages > 9 {
				t.Fatalf("page %d: %v", pages, err)
			}
			for _, sweep := range page.GetSweeps() {
				ids = append(ids, sweep.GetId())
			}
			request.PageToken = page.GetNextPageToken()
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("sweeps of %s: got %q, want %q", team, got, want)
		}
	}
}

// TestRecordingsReserveTheSweep lets another team prepare turns for a sweep that is not there yet.
func TestRecordingsReserveTheSweep(t *testing.T) {
	s := newServer(t, install(t))
	red, blue := as(t, "red", access.Grant{}), as(t, "blue", access.Grant{})
	put := func(ctx context.Context) error {
		_, err := s.PutRecording(ctx, &orchestratorv1.PutRecordingRequest{RolloutId: "s.0"})
		return err
	}
	if err := put(red); err != nil {
		t.Fatal(err)
	}
	if err := put(blue); status.Code(err) != codes.AlreadyExists {
		t.Errorf("PutRecording of another team: got %v, want %v", err, codes.AlreadyExists)
	}
	request := &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: spec("one")}
	if _, err := s.CreateSweep(blue, request); status.Code(err) != codes.AlreadyExists {
		t.Errorf("CreateSweep of another team: got %v, want %v", err, codes.AlreadyExists)
	}
	if _, err := s.CreateSweep(red, request); err != nil {
		t.Errorf("CreateSweep: got %v, want nil", err)
	}
}

func TestGrantsOfASweep(t *testing.T) {
	s := newServer(t, install(t))
	model := &agentgwv1.Player{Name: "m", Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{Provider: "openai", Model: "m"}}}
	plugin := &agentgwv1.Player{Name: "p", Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{Address: "10.0.0.1:80"}}}
	open := &agentgwv1.Player{Name: "o", Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{Attached: "mine"}}}
	secret := &agentgwv1.Player{Name: "s", Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{Attached: "mine", SecretDigest: strings.Repeat("0", 64)}}}
	tests := []struct {
		name   string
		grant  access.Grant
		change func(*orchestratorv1.CreateSweepRequest)
		want   codes.Code
	}{
		{"computed players", access.Grant{}, func(*orchestratorv1.CreateSweepRequest) {}, codes.OK},
		{"model", access.Grant{Providers: []string{"anthropic"}}, agentIs(model), codes.PermissionDenied},
		{"granted model", access.Grant{Providers: []string{"openai"}}, agentIs(model), codes.OK},
		{"model as user", access.Grant{}, func(r *orchestratorv1.CreateSweepRequest) { r.Spec.Users = append(r.Spec.Users, model) }, codes.PermissionDenied},
		{"plug-in", access.Grant{Providers: []string{"openai"}}, agentIs(plugin), codes.PermissionDenied},
		{"granted plug-in", access.Grant{Providers: []string{"plugin"}}, agentIs(plugin), codes.OK},
		{"attached without a token", access.Grant{Providers: []string{"*"}}, agentIs(open), codes.PermissionDenied},
		{"attached", access.Grant{Providers: []string{"attached"}}, agentIs(secret), codes.OK},
		{"tool server", access.Grant{}, withServer, codes.PermissionDenied},
		{"granted tool server", access.Grant{ToolServers: []string{"shop"}}, withServer, codes.OK},
		{"live services", access.Grant{Providers: []string{"openai"}}, hosts(toolhostv1.HostedServices_HOSTED_SERVICES_LIVE), codes.PermissionDenied},
		{"recorded services", access.Grant{}, hosts(toolhostv1.HostedServices_HOSTED_SERVICES_RECORD), codes.PermissionDenied},
		{"granted services", access.Grant{Providers: []string{"services"}}, hosts(toolhostv1.HostedServices_HOSTED_SERVICES_LIVE), codes.OK},
		{"built-in data", access.Grant{}, hosts(toolhostv1.HostedServices_HOSTED_SERVICES_OFFLINE), codes.OK},
		{"parallel", access.Grant{Parallel: 2}, func(r *orchestratorv1.CreateSweepRequest) { r.Spec.Parallel = 3 }, codes.PermissionDenied},
		{"granted parallel", access.Grant{Parallel: 2}, func(r *orchestratorv1.CreateSweepRequest) { r.Spec.Parallel = 2 }, codes.OK},
		{"no spend limit", access.Grant{Spend: 1}, func(*orchestratorv1.CreateSweepRequest) {}, codes.ResourceExhausted},
		{"spend limit", access.Grant{Spend: 1}, spends(2e6, 0), codes.ResourceExhausted},
		{"granted spend limit", access.Grant{Spend: 1}, spends(1e6, 0), codes.OK},
		{"no token limit", access.Grant{Tokens: 5}, spends(1e6, 0), codes.ResourceExhausted},
		{"granted tokens", access.Grant{Tokens: 5}, spends(0, 5), codes.OK},
		{"rollouts", access.Grant{Rollouts: 1}, func(r *orchestratorv1.CreateSweepRequest) { r.Spec.Trials = 2 }, codes.ResourceExhausted},
		{"admin", access.Grant{Admin: true}, func(r *orchestratorv1.CreateSweepRequest) { agentIs(open)(r); withServer(r) }, codes.OK},
	}
	for n, test := range tests {
		request := &orchestratorv1.CreateSweepRequest{SweepId: string(rune('a' + n)), Spec: spec("one")}
		test.change(request)
		if _, err := s.CreateSweep(as(t, "team-"+string(rune('a'+n)), test.grant), request); status.Code(err) != test.want {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
	for _, player := range []*agentgwv1.Player{model, plugin, open} {
		request := &agentgwv1.CheckPlayerRequest{Player: player}
		if _, err := (playerCheck{}).CheckPlayer(as(t, "red", access.Grant{}), request); status.Code(err) != codes.PermissionDenied {
			t.Errorf("CheckPlayer of %s: got %v, want %v", player.GetName(), err, codes.PermissionDenied)
		}
		if _, err := (playerCheck{}).ProbePlayer(as(t, "red", access.Grant{}), &agentgwv1.ProbePlayerRequest{Player: player}); status.Code(err) != codes.PermissionDenied {
			t.Errorf("ProbePlayer of %s: got %v, want %v", player.GetName(), err, codes.PermissionDenied)
		}
	}
}

func agentIs(p *agentgwv1.Player) func(*orchestratorv1.CreateSweepRequest) {
	return func(r *orchestratorv1.CreateSweepRequest) { r.Spec.Agents = []*agentgwv1.Player{p} }
}

func hosts(source toolhostv1.HostedServices) func(*orchestratorv1.CreateSweepRequest) {
	return func(r *orchestratorv1.CreateSweepRequest) { r.Spec.HostedServices = source }
}

func withServer(r *orchestratorv1.CreateSweepRequest) {
	r.GetSpec().GetScenarios()[0].GetSetup().ToolServers = []*setupv1.ToolServer{{Name: "shop", Tools: []*toolsv1.Tool{{Name: "buy", Description: "Buys."}}}}
}

func spends(micros, tokens int64) func(*orchestratorv1.CreateSweepRequest) {
	return func(r *orchestratorv1.CreateSweepRequest) {
		r.SpendLimit = &agentgwv1.SpendLimit{CostMicros: micros, Tokens: tokens}
	}
}

// TestBudgetsAreOfAllSweeps lets many clients of a team create sweeps at the same time, each at an
// orchestrator of its own.
func TestBudgetsAreOfAllSweeps(t *testing.T) {
	i := install(t)
	red := as(t, "red", access.Grant{Spend: 3})
	errs := make(chan error)
	for n := range 8 {
		s := newServer(t, i)
		go func() {
			request := &orchestratorv1.CreateSweepRequest{SweepId: string(rune('a' + n)), Spec: spec("one")}
			spends(1e6, 0)(request)
			_, err := s.CreateSweep(red, request)
			errs <- err
		}()
	}
	var got []codes.Code
	for range 8 {
		got = append(got, status.Code(<-errs))
	}
	slices.Sort(got)
	want := slices.Concat(slices.Repeat([]codes.Code{codes.OK}, 3), slices.Repeat([]codes.Code{codes.ResourceExhausted}, 5))
	if !slices.Equal(got, want) {
		t.Errorf("eight sweeps of $1 each under a grant of $3: got %v, want three of them", got)
	}
	if _, err := newServer(t, i).CreateSweep(as(t, "blue", access.Grant{Spend: 3}), &orchestratorv1.CreateSweepRequest{
		SweepId: "other", Spec: spec("one"), SpendLimit: &agentgwv1.SpendLimit{CostMicros: 3e6},
	}); err != nil {
		t.Errorf("sweep of another team: got %v, want nil", err)
	}
}

// TestBudgetsOutliveChanges changes and deletes a sweep of a team with budgets. Neither frees what
// it was granted, and changes are granted too.
func TestBudgetsOutliveChanges(t *testing.T) {
	s := newServer(t, install(t))
	red := as(t, "red", access.Grant{Spend: 3, Parallel: 4, Rollouts: 5})
	create := func(id string, dollars int64) error {
		_, err := s.CreateSweep(red, &orchestratorv1.CreateSweepRequest{
			SweepId: id, Spec: spec("one", "two"), SpendLimit: &agentgwv1.SpendLimit{CostMicros: dollars * microsPerDollar},
		})
		return err
	}
	update := func(change func(*orchestratorv1.UpdateSweepRequest)) func() error {
		return func() error {
			request := &orchestratorv1.UpdateSweepRequest{SweepId: "s"}
			change(request)
			_, err := s.UpdateSweep(red, request)
			return err
		}
	}
	for _, step := range []struct {
		what string
		do   func() error
		want codes.Code
	}{
		{"create", func() error { return create("s", 1) }, codes.OK},
		{"within the grant", update(func(r *orchestratorv1.UpdateSweepRequest) {
			r.Parallel, r.SpendMicros = proto.Int32(4), proto.Int64(2e6)
		}), codes.OK},
		{"too many at once", update(func(r *orchestratorv1.UpdateSweepRequest) { r.Parallel = proto.Int32(5) }), codes.PermissionDenied},
		{"too much", update(func(r *orchestratorv1.UpdateSweepRequest) { r.SpendMicros = proto.Int64(4e6) }), codes.ResourceExhausted},
		{"no limit", update(func(r *orchestratorv1.UpdateSweepRequest) { r.SpendMicros = proto.Int64(0) }), codes.ResourceExhausted},
		{"a lower limit", update(func(r *orchestratorv1.UpdateSweepRequest) { r.SpendMicros = proto.Int64(1e6) }), codes.FailedPrecondition},
		{"all at once", update(func(r *orchestratorv1.UpdateSweepRequest) { r.Parallel = proto.Int32(0) }), codes.OK},
	} {
		if err := step.do(); status.Code(err) != step.want {
			t.Errorf("%s: got %v, want %v", step.what, err, step.want)
		}
	}
	control, err := s.bus.Control(t.Context(), "s")
	if err != nil || control.GetParallel() != 4 || control.GetSpendLimit().GetCostMicros() != 2e6 {
		t.Errorf("control: got %v and %v, want 4 at once, which is granted, and $2", control, err)
	}
	if deleted, err := s.bus.BeginDeletion(t.Context(), "s", func(*busv1.SweepControl) bool { return true }); err != nil || !deleted {
		t.Fatalf("BeginDeletion: got %t and %v, want true and nil", deleted, err)
	}
	if err := s.bus.RemovePlan(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if err := create("dear", 2); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("$2 after the deletion of a sweep of $2: got %v, want %v", err, codes.ResourceExhausted)
	}
	if err := create("cheap", 1); err != nil {
		t.Errorf("$1 after it: got %v, want nil", err)
	}
	if err := create("s", 1); status.Code(err) != codes.AlreadyExists {
		t.Errorf("the id of a deleted sweep: got %v, want %v", err, codes.AlreadyExists)
	}
}

// TestBudgetsOutliveRounds resumes a sweep of a team with a lower limit than it may have spent.
// That frees nothing of the budgets, also after its deletion.
func TestBudgetsOutliveRounds(t *testing.T) {
	s := newServer(t, install(t))
	red := as(t, "red", access.Grant{Spend: 3, Tokens: 30})
	create := func(id string, round int32, dollars int64) error {
		_, err := s.CreateSweep(red, &orchestratorv1.CreateSweepRequest{
			SweepId: id, Round: round, Spec: spec("one"), SpendLimit: &agentgwv1.SpendLimit{CostMicros: dollars * microsPerDollar, Tokens: 10 * dollars},
		})
		return err
	}
	if err := errors.Join(create("s", 0, 2), create("s", 1, 1)); err != nil {
		t.Fatal(err)
	}
	if control, err := s.bus.Control(t.Context(), "s"); err != nil || control.GetSpendLimit().GetCostMicros() != 1e6 {
		t.Errorf("limit of round 1: got %v and %v, want its own, $1", control, err)
	}
	if err := create("dear", 0, 2); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("$2 beside a sweep that had $2: got %v, want %v", err, codes.ResourceExhausted)
	}
	if err := create("s", 2, 2); err != nil {
		t.Errorf("the first limit in another round: got %v, want nil", err)
	}
	if err := create("s", 3, 1); err != nil {
		t.Fatal(err)
	}
	if deleted, err := s.bus.BeginDeletion(t.Context(), "s", func(*busv1.SweepControl) bool { return true }); err != nil || !deleted {
		t.Fatalf("BeginDeletion: got %t and %v, want true and nil", deleted, err)
	}
	if err := s.bus.RemovePlan(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if err := create("dear", 0, 2); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("$2 after the deletion of a sweep that had $2: got %v, want %v", err, codes.ResourceExhausted)
	}
	if err := create("cheap", 0, 1); err != nil {
		t.Errorf("$1 after it: got %v, want nil", err)
	}
}

// TestBudgetsDoNotOverflow asks for limits that no sum has room for.
func TestBudgetsDoNotOverflow(t *testing.T) {
	s := newServer(t, install(t))
	red := as(t, "red", access.Grant{Spend: 3, Tokens: 30})
	create := func(id string, micros, tokens int64) error {
		request := &orchestratorv1.CreateSweepRequest{SweepId: id, Spec: spec("one")}
		spends(micros, tokens)(request)
		_, err := s.CreateSweep(red, request)
		return err
	}
	if err := create("s", 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := create("dear", math.MaxInt64, 1); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the largest spend limit: got %v, want %v", err, codes.ResourceExhausted)
	}
	if err := create("long", 1, math.MaxInt64); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the largest limit of tokens: got %v, want %v", err, codes.ResourceExhausted)
	}
}
