package toolhost

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const eventTools = `
from typing import Any, List

@unchecked
def plan(at: float, text: str, to: str) -> str:
    """Plans.

    Args:
        at: When.
        text: What.
        to: Whom.
    """
    return world.schedule(at, text, to=to)

def plan_at(at: str) -> str:
    """Plans at a time that a text says.

    Args:
        at: When.
    """
    return world.schedule(float(at), "x")

def plan_many(count: int) -> None:
    """Plans many.

    Args:
        count: How many.
    """
    for i in range(count):
        world.schedule(world.now() + i, "one of many")

def drop(event_id: str) -> None:
    """Takes one back.

    Args:
        event_id: Which.
    """
    world.unschedule(event_id)

def planned() -> List[Any]:
    """Lists."""
    return [row["content"] for row in world.rows("event")]

def change() -> None:
    """Changes."""
    for table in ["event"]:
        world.remove(table, content="x")
`

func eventSetup() *setupv1.Setup {
	setup := smallSetup("small")
	setup.ToolModules = []*setupv1.ToolModule{{Name: "planner", Source: eventTools}}
	setup.Schema = []*worldv1.TableSchema{world.EventTable()}
	setup.Clock.UserTurn = 600
	return setup
}

// at executes calls at a virtual time. Without source it executes an interruption.
func at(t *testing.T, client toolhostv1.ToolHostServiceClient, id string, index int32, now float64, source ...string) (*toolhostv1.Execution, error) {
	t.Helper()
	execution := &toolhostv1.Execution{Index: index}
	for _, text := range source {
		execution.Calls = append(execution.Calls, call(index-1, worldv1.Role_ROLE_AGENT, text))
	}
	var err error
	execution.Outcome, err = client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: id, Index: index, Calls: execution.Calls, Now: &now})
	return execution, err
}

// TestEvents schedules events and triggers them: in the session and in forks from before and after
// an event, with a restart of the host between them, and after the loss of its disk.
func TestEvents(t *testing.T) {
	file, bus := filepath.Join(t.TempDir(), storeFile), natstest.Start(t)
	server := serve(t, file, bus, ownsAll)
	create(t, server.client, "s", eventSetup())
	var log []*toolhostv1.Execution
	do := func(client toolhostv1.ToolHostServiceClient, id string, index int32, now float64, source ...string) *toolhostv1.ExecuteResponse {
		t.Helper()
		execution, err := at(t, client, id, index, now, source...)
		if err != nil {
			t.Fatalf("execution %d of %s: %v", index, id, err)
		}
		log = append(log, execution)
		return execution.GetOutcome()
	}
	if got := do(server.client, "s", 3, 100, "print(plan(150.0, 'late', 'user'), plan(120.0, 'early', 'agent'))"); got.GetNextDue() != 120 {
		t.Fatalf("next event: got %v of %v, want 120", got.GetNextDue(), got)
	}
	_, err := at(t, server.client, "s", 4, 119)
	wantCode(t, "an event before its time", err, codes.FailedPrecondition)
	want := &worldv1.Message{
		Index: 4, Sender: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, Recipient: worldv1.Role_ROLE_AGENT,
		Body: &worldv1.Message_Text{Text: "early"}, ConversationActive: proto.Bool(true),
		VisibleTo: []worldv1.Role{worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, worldv1.Role_ROLE_AGENT},
	}
	first := do(server.client, "s", 4, 120)
	if diff := cmp.Diff([]*worldv1.Message{want}, first.GetAnswers(), protocmp.Transform()); diff != "" || first.GetNextDue() != 150 {
		t.Errorf("the first event, before one at %v (-want +got):\n%s", first.GetNextDue(), diff)
	}
	server.close()
	server = serve(t, file, bus, ownsAll)
	again, err := at(t, server.client, "s", 4, 120)
	if diff := cmp.Diff(first, again.GetOutcome(), protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("the same event again: %v (-want +got):\n%s", err, diff)
	}
	fork := func(id string, index int32) {
		if _, err := server.client.ForkSession(t.Context(), &toolhostv1.ForkSessionRequest{SessionId: "s", Index: index, NewSessionId: id}); err != nil {
			t.Fatal(err)
		}
	}
	fork("before", 3)
	fork("after", 4)
	second := do(server.client, "s", 6, 150)
	if forked, err := at(t, server.client, "before", 4, 120); err != nil || forked.GetOutcome().GetAnswers()[0].GetText() != "early" {
		t.Errorf("fork from before the event: got %v and %v", forked, err)
	}
	if forked, err := at(t, server.client, "after", 6, 150); err != nil || forked.GetOutcome().GetAnswers()[0].GetText() != "late" || second.NextDue != nil {
		t.Errorf("fork from after the event: got %v and %v, with another event at %v", forked, err, second.NextDue)
	}
	_, err = at(t, server.client, "s", 8, 1000)
	wantCode(t, "an event where there is none", err, codes.FailedPrecondition)
	_, err = server.client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "s", Index: 8})
	wantCode(t, "neither calls nor a time", err, codes.InvalidArgument)

	checkRestored(t, server.client, log)
}

// checkRestored restores the session on an empty host.
func checkRestored(t *testing.T, client toolhostv1.ToolHostServiceClient, log []*toolhostv1.Execution) {
	t.Helper()
	fresh := serve(t, filepath.Join(t.TempDir(), storeFile), natstest.Start(t), ownsAll)
	request := &toolhostv1.RestoreSessionRequest{Create: &toolhostv1.CreateSessionRequest{SessionId: "s", Setup: eventSetup()}, Executions: log}
	restored, err := fresh.client.RestoreSession(t.Context(), request)
	if err != nil || restored.GetRepeated() != int32(len(log)) {
		t.Fatalf("restore: got %v and %v, want %d executions", restored, err, len(log))
	}
	if diff := cmp.Diff(versions(t, client, "s"), versions(t, fresh.client, "s"), protocmp.Transform()); diff != "" {
		t.Errorf("versions (-first +restored):\n%s", diff)
	}
}

// TestEventMistakes schedules invalid events and too many events.
func TestEventMistakes(t *testing.T) {
	client := start(t)
	create(t, client, "s", eventSetup())
	index := int32(3)
	for source, want := range map[string]string{
		"print(plan_at('nan'))":           "ValueError: the time of an event is a finite number of POSIX seconds, not nan",
		"print(plan_at('-inf'))":          "ValueError: the time of an event is a finite number of POSIX seconds, not -inf",
		"print(plan(True, 'x', 'agent'))": "TypeError: the time of an event is a number of POSIX seconds, not 'bool'",
		"print(plan(1.0, '', 'agent'))":   "ValueError: the text of an event is a text that is not empty",
		"print(plan(1.0, 'x', 'system'))": "ValueError: an event is told to 'agent' or 'user', not 'system'",
		"print(drop('nothing'))":          "polars.exceptions.NoDataError: No event has the id 'nothing'",
		"print(change())":                 "TypeError: events are changed by world.schedule and world.unschedule alone",
		"print(plan_many(10000))":         "RuntimeError: at most 64 events can be scheduled at a time",
	} {
		execution, err := at(t, client, "s", index, 50, source)
		if err != nil {
			t.Fatal(err)
		}
		if got := messagetext.Content(execution.GetOutcome().GetAnswers()[0]); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
		index += 2
	}
	execution, err := at(t, client, "s", index, 50, "print(len(planned()))")
	if err != nil {
		t.Fatal(err)
	}
	if got := messagetext.Content(execution.GetOutcome().GetAnswers()[0]); got != "64" {
		t.Errorf("events after 10,000 were scheduled: got %s, want 64", got)
	}
	bad := eventSetup()
	bad.Tables = append(bad.Tables, &worldv1.Table{Name: world.Event, Rows: []*worldv1.Row{{Cells: []*worldv1.Value{
		world.Text("e"), world.Null(), world.Text(world.EventToAgent), world.Text("x"),
	}}}})
	_, err = client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: "bad", Setup: bad})
	wantCode(t, "an event without a time", err, codes.InvalidArgument)
	none := eventSetup()
	none.Schema = nil
	_, err = client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: "none", Setup: none})
	if wantCode(t, "no table of events", err, codes.InvalidArgument); !strings.Contains(err.Error(), "write events: true in schema.yaml") {
		t.Errorf("no table of events: got %v, want what to write", err)
	}
}
