package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// securedShards is the number of shards of the tests below.
const securedShards = 2

// probe is a connection that tries what a role may not do.
type probe struct {
	*nats.Conn
	role bus.Role
}

// isDenied reports whether the server denies to publish to a subject or to subscribe to it.
func (p probe) isDenied(t *testing.T, what, subject string) bool {
	t.Helper()
	var err error
	if what == "Subscription" {
		_, err = p.SubscribeSync(subject)
	} else {
		err = p.Publish(subject, []byte("{}"))
	}
	if err = errors.Join(err, p.Flush()); err != nil {
		t.Fatal(err)
	}
	// The answer to Flush comes behind the error.
	last := p.LastError()
	return last != nil && strings.Contains(strings.ToLower(last.Error()), strings.ToLower(fmt.Sprintf(`permissions violation for %s to "%s"`, what, subject)))
}

// expect checks whether a role may publish to subjects.
func (p probe) expect(t *testing.T, allowed bool, subjects ...string) {
	t.Helper()
	for _, subject := range subjects {
		if got := !p.isDenied(t, "Publish", subject); got != allowed {
			t.Errorf("%s may publish to %s: got %v, want %v", p.role, subject, got, allowed)
		}
	}
}

// concrete returns a subject that a pattern of the table covers, of the last shard.
func concrete(pattern string) string {
	return strings.NewReplacer("<n>", "1", ">", "a.0", "*", "a").Replace(pattern)
}

// TestRolesAreDenied tries, as each role, what the table of subjects gives to others only.
func TestRolesAreDenied(t *testing.T) {
	_, as := natstest.Secured(t, securedShards)
	for _, role := range bus.Roles() {
		t.Run(string(role), func(t *testing.T) {
			p := probe{as(role), role}
			for _, row := range bus.Subjects() {
				subject, stream := concrete(row.Name), concrete(row.Stream)
				publishes, reads := slices.Contains(row.Publish, role), slices.Contains(row.Read, role)
				if !publishes {
					p.expect(t, false, subject)
				}
				if got, want := !p.isDenied(t, "Subscription", row0(row.Name)), reads && row.Stream == ""; got != want {
					t.Errorf("%s may subscribe to %s: got %v, want %v", role, row.Name, got, want)
				}
				if stream == "" {
					continue
				}
				ofStream := func(has func(bus.Subject) bool) bool {
					return slices.ContainsFunc(bus.Subjects(), func(other bus.Subject) bool { return other.Stream == row.Stream && has(other) })
				}
				readsStream := ofStream(func(other bus.Subject) bool { return slices.Contains(other.Read, role) })
				replaces := ofStream(func(other bus.Subject) bool { return slices.Contains(other.Publish, role) && !other.Grows })
				gets := slices.Contains(row.Get, role) || readsStream || publishes && !row.Grows
				p.expect(t, gets, "$JS.API.DIRECT.GET."+stream+"."+subject)
				p.expect(t, readsStream, "$JS.API.DIRECT.GET."+stream, "$JS.API.CONSUMER.CREATE."+stream+".c."+subject, "$JS.API.CONSUMER.MSG.NEXT."+stream+".c")
				p.expect(t, replaces || slices.Contains(row.Remove, role), "$JS.API.STREAM.PURGE."+stream)
				p.expect(t, replaces, "$JS.API.STREAM.MSG.DELETE."+stream)
				p.expect(t, role == bus.RoleOperator, "$JS.API.STREAM.CREATE."+stream, "$JS.API.STREAM.UPDATE."+stream)
				p.expect(t, false, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.STREAM.DELETE."+stream, "$JS.API.STREAM.SNAPSHOT."+stream, "$JS.API.CONSUMER.DURABLE.CREATE."+stream+".c")
			}
			everything := []string{">", "_INBOX.>", "$JS.>"}
			for _, other := range bus.Roles() {
				if other != role {
					everything = append(everything, bus.InboxPrefix(other)+".>")
				}
				p.expect(t, false, bus.InboxPrefix(other)+".answer")
			}
			for _, subject := range everything {
				if !p.isDenied(t, "Subscription", subject) {
					t.Errorf("%s may subscribe to %s", role, subject)
				}
			}
			p.expect(t, false, "$JS.API.STREAM.CREATE.MIRROR", "$JS.API.STREAM.RESTORE.JOBS", "$JS.API.ACCOUNT.PURGE.A", "$SYS.REQ.SERVER.PING")
		})
	}
}

// row0 returns the subject of a row on the first shard, with its wildcards.
func row0(name string) string { return strings.ReplaceAll(name, "<n>", "0") }

// TestOnlyEvaluatorOfTable checks the rows that isolate the evaluation.
func TestOnlyEvaluatorOfTable(t *testing.T) {
	only := []bus.Role{bus.RoleEvaluator}
	for _, row := range bus.Subjects() {
		switch row.Name {
		case "evaluation.*":
			if !slices.Equal(row.Publish, only) || !slices.Equal(row.Get, only) || len(row.Read) > 0 {
				t.Errorf("%s: got %v, want the evaluator alone", row.Name, row)
			}
		case "result.>":
			if !slices.Equal(row.Publish, only) {
				t.Errorf("%s: got %v, want the evaluator alone to publish", row.Name, row.Publish)
			}
		}
	}
}

// TestTableHasEveryStream compares the table with the streams: each has its subjects, and no
// others.
func TestTableHasEveryStream(t *testing.T) {
	subjects := make(map[string][]string)
	for _, row := range bus.Subjects() {
		if row.Stream != "" {
			stream := row0(row.Stream)
			subjects[stream] = append(subjects[stream], row0(row.Name))
		}
	}
	streams := bus.StreamConfigs(natstest.OneShard)
	for _, stream := range streams {
		if !slices.Equal(subjects[stream.Name], stream.Subjects) {
			t.Errorf("%s: the table has %v, the stream %v", stream.Name, subjects[stream.Name], stream.Subjects)
		}
	}
	if len(streams) != len(subjects) {
		t.Errorf("the table has %d streams, want %d", len(subjects), len(streams))
	}
}

// TestRolesOpenTheirStreams opens the bus as each role, with streams that the operator makes.
func TestRolesOpenTheirStreams(t *testing.T) {
	_, as := natstest.Secured(t, securedShards)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cfg := bus.Config{Shards: securedShards, Replicas: 1, CreateTimeout: time.Minute}
	if err := bus.Init(ctx, jetStream(t, as(bus.RoleOperator)), cfg, func(err error) { t.Errorf("Init waits: %v", err) }); err != nil {
		t.Fatal(err)
	}
	for _, role := range bus.Roles()[:4] {
		open(t, jetStream(t, as(role)), role)
	}
}

// TestAnswersForgeNothing has NATS itself publish messages of hostile roles at subjects of others,
// as answers to their requests, to which permissions do not apply. None is used.
func TestAnswersForgeNothing(t *testing.T) {
	_, as := natstest.Secured(t, securedShards)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cfg := bus.Config{Shards: securedShards, Replicas: 1, CreateTimeout: time.Minute}
	if err := bus.Init(ctx, jetStream(t, as(bus.RoleOperator)), cfg, func(err error) { t.Errorf("Init waits: %v", err) }); err != nil {
		t.Fatal(err)
	}
	honest := open(t, jetStream(t, as(bus.RoleOrchestrator)), bus.RoleOrchestrator)
	evaluator := open(t, jetStream(t, as(bus.RoleEvaluator)), bus.RoleEvaluator)
	requests := make(chan *busv1.Result, 10)
	following := make(chan error, 1)
	go func() {
		following <- evaluator.FollowScoreRequests(ctx, func(request *busv1.Result) error { requests <- request; return nil })
	}()
	request := func(id string) error { return honest.RequestFailure(ctx, &busv1.Rollout{Id: id}, 0, &busv1.End{}) }
	for err := request("s.1"); err != nil; err = request("s.1") { // until the evaluator follows
		if ctx.Err() != nil || !errors.Is(err, bus.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	result := &busv1.Result{Rollout: &busv1.Rollout{Id: "s.0"}, Similarity: 1}
	forge(t, as(bus.RoleOrchestrator), "bus.0.x", "BUS_0", marshal(t, result), "result.s.0")
	forge(t, as(bus.RoleAgentGateway), "turn.x.0", "RECORDING", marshal(t, &busv1.SweepControl{CancelledRound: proto.Int32(9)}), "sweep.s.control")
	forge(t, as(bus.RoleAgentGateway), "turn.x.1", "RECORDING", marshal(t, result), "score")
	if _, err := honest.RoundResult(ctx, "s.0", 0); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("result: got %v, want %v", err, bus.ErrNotFound)
	}
	if err := honest.VisitResults(ctx, "s", func(result *busv1.Result) { t.Errorf("results: got %v, want none", result) }); err != nil {
		t.Error(err)
	}
	if control, err := honest.Control(ctx, "s"); err != nil || bus.Cancelled(control, 0) {
		t.Errorf("control: got %v and %v, want none", control, err)
	}
	own := &busv1.Result{Rollout: result.GetRollout(), Similarity: 0.5}
	if created, err := evaluator.PublishResult(ctx, own); !created || err != nil {
		t.Errorf("PublishResult: got %v and %v, want a new one in place of the forged one", created, err)
	}
	if got, err := honest.RoundResult(ctx, "s.0", 0); err != nil || got.GetSimilarity() != 0.5 {
		t.Errorf("result: got %v and %v, want the evaluator's", got, err)
	}
	if err := request("s.2"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"s.1", "s.2"} {
		if got := (<-requests).GetRollout().GetId(); got != want {
			t.Errorf("request: got %s, want the orchestrator's own %s", got, want)
		}
	}
	cancel()
	if err := <-following; err != nil {
		t.Error(err)
	}
}

// forge stores data at a subject that its role may publish to, with the seal of another subject,
// and requests the message in all ways with that subject as the address of the answer.
func forge(t *testing.T, conn *nats.Conn, at, stream string, data []byte, target string) {
	t.Helper()
	js := jetStream(t, conn)
	msg := nats.NewMsg(at)
	msg.Data = data
	msg.Header.Set("Seal", bus.SealOf(target, data))
	ack, err := js.PublishMsg(t.Context(), msg)
	if err != nil {
		t.Fatal(err)
	}
	request := func(subject, reply, format string, args ...any) {
		t.Helper()
		if err := conn.PublishRequest(subject, reply, fmt.Appendf(nil, format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"pull", "push"} {
		deliver := map[string]string{"push": fmt.Sprintf(`"deliver_subject":%q,`, target)}[kind]
		name := kind + strings.ReplaceAll(target, ".", "-")
		body := fmt.Sprintf(`{"stream_name":%q,"config":{%s"name":%q,"ack_policy":"none","mem_storage":true}}`, stream, deliver, name)
		if _, err := conn.Request("$JS.API.CONSUMER.CREATE."+stream+"."+name, []byte(body), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	request("$JS.API.CONSUMER.MSG.NEXT."+stream+".pull"+strings.ReplaceAll(target, ".", "-"), target, `{"batch":1}`)
	request("$JS.API.DIRECT.GET."+stream, target, `{"seq":%d}`, ack.Sequence)
	// The server has handled them when it answers a later one.
	if _, err := conn.Request("$JS.API.DIRECT.GET."+stream, fmt.Appendf(nil, `{"seq":%d}`, ack.Sequence), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := conn.LastError(); err != nil {
		t.Errorf("requests: got %v, want that the server lets them through", err)
	}
}
