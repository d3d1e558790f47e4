package toolhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/original/row"
	"github.com/toolsandbox/toolsandbox/original/row/rowtest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
)

// smallSetup returns a setup of two messages with settings and one contact.
func smallSetup(name string) *setupv1.Setup {
	return &setupv1.Setup{
		Name:        name,
		MaxMessages: 30,
		Clock:       &setupv1.Clock{Now: 1716399000, TimeZone: "America/Los_Angeles"},
		Tables: []*worldv1.Table{
			{Name: world.Setting, Rows: []*worldv1.Row{worldtest.Setting(1, 2)}},
			{Name: world.Contact},
			{Name: world.Contact, Index: 1, Rows: []*worldv1.Row{worldtest.Contact("a", "Ann", "+14085550000", true)}},
		},
		Messages: []*worldv1.Message{
			{Index: 0, Sender: worldv1.Role_ROLE_SYSTEM, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: "Help."}},
			{Index: 1, Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: "Hello"}},
		},
	}
}

// addContact returns the call that adds a contact, as the message at the given index.
func addContact(index int32, name string) *worldv1.Message {
	args := python.DictOf(python.Item{Key: "name", Value: python.Str(name)}, python.Item{Key: "phone_number", Value: python.Str("+14085551111")})
	return call(index, worldv1.Role_ROLE_AGENT, messagetext.ComposeSource("call_1", "add_contact", python.Repr(args)))
}

func call(index int32, sender worldv1.Role, source string) *worldv1.Message {
	m := rowtest.Read(sender, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, row.Row{Content: &source, ToolCallID: proto.String("call_1")})
	m.Index = index
	return m
}

func create(tb testing.TB, client toolhostv1.ToolHostServiceClient, id string, setup *setupv1.Setup) *toolhostv1.CreateSessionResponse {
	tb.Helper()
	response, err := client.CreateSession(tb.Context(), &toolhostv1.CreateSessionRequest{SessionId: id, Setup: setup})
	if err != nil {
		tb.Fatalf("create %s: %v", id, err)
	}
	return response
}

// run executes calls. The results begin at index.
func run(tb testing.TB, client toolhostv1.ToolHostServiceClient, id string, index int32, calls ...*worldv1.Message) *toolhostv1.ExecuteResponse {
	tb.Helper()
	response, err := client.Execute(tb.Context(), &toolhostv1.ExecuteRequest{SessionId: id, Index: index, Calls: calls})
	if err != nil {
		tb.Fatalf("execute at %d in %s: %v", index, id, err)
	}
	return response
}

// names returns the contacts' names at a message.
func names(tb testing.TB, client toolhostv1.ToolHostServiceClient, id string, index int32) []string {
	tb.Helper()
	response, err := client.ReadTables(tb.Context(), &toolhostv1.ReadTablesRequest{
		SessionId: id, Index: index, Tables: []string{world.Contact},
	})
	if err != nil {
		tb.Fatalf("read tables of %s: %v", id, err)
	}
	var names []string
	for _, row := range response.GetTables()[0].GetRows() {
		names = append(names, row.GetCells()[1].GetText())
	}
	return names
}

func versions(tb testing.TB, client toolhostv1.ToolHostServiceClient, id string) []string {
	tb.Helper()
	stream, err := client.ListVersions(tb.Context(), &toolhostv1.ListVersionsRequest{SessionId: id})
	if err != nil {
		tb.Fatalf("list versions of %s: %v", id, err)
	}
	var listed []string
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return listed
		}
		if err != nil {
			tb.Fatalf("list versions of %s: %v", id, err)
		}
		table := response.GetTable()
		listed = append(listed, fmt.Sprintf("%s@%d:%d", table.GetName(), table.GetIndex(), len(table.GetRows())))
	}
}

func wantCode(tb testing.TB, what string, err error, want codes.Code) {
	tb.Helper()
	if got := status.Code(err); got != want {
		tb.Errorf("%s: got %v (%v), want %v", what, got, err, want)
	}
}

func TestExecuteOnce(t *testing.T) {
	bus := natstest.Start(t)
	file := filepath.Join(t.TempDir(), storeFile)
	client := serve(t, file, bus, ownsAll).client
	create(t, client, "s.1", smallSetup("small"))
	first := run(t, client, "s.1", 3, addContact(2, "Bob"))
	want := []*worldv1.TableVersion{{Name: world.Setting}, {Name: world.Contact, Index: 3}}
	if diff := cmp.Diff(want, first.GetVersions(), protocmp.Transform(), protocmp.IgnoreFields(&worldv1.TableVersion{}, "digest")); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	repeated := run(t, client, "s.1", 3, addContact(2, "Bob"))
	if diff := cmp.Diff(first, repeated, protocmp.Transform()); diff != "" {
		t.Errorf("repeated outcome (-first +repeated):\n%s", diff)
	}
	_, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "s.1", Index: 3, Calls: []*worldv1.Message{addContact(2, "Eve")}})
	wantCode(t, "other calls at the same index", err, codes.InvalidArgument)
	_, err = client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "s.1", Index: 1, Calls: []*worldv1.Message{addContact(0, "Eve")}})
	wantCode(t, "index of a starting message", err, codes.FailedPrecondition)
	if diff := cmp.Diff([]string{"Ann", "Bob"}, names(t, client, "s.1", 9)); diff != "" {
		t.Errorf("contacts (-want +got):\n%s", diff)
	}
	snapshots, err := bus.ReadSnapshots(t.Context(), "s.1")
	if err != nil {
		t.Fatalf("read snapshots: %v", err)
	}
	if len(snapshots) != 2 || !proto.Equal(snapshots[0], snapshots[1]) || snapshots[0].GetTables()[0].GetIndex() != 3 {
		t.Errorf("snapshots: got %v, want that of message 3 twice", snapshots)
	}
}

// TestKill copies the file of a running tool host after every step, which is its state after a
// kill, and continues from the copy.
func TestKill(t *testing.T) {
	bus := natstest.Start(t)
	file := filepath.Join(t.TempDir(), storeFile)
	client := serve(t, file, bus, ownsAll).client
	setup := smallSetup("small")
	setup.Seed = 7
	create(t, client, "s.1", setup)
	steps := []*toolhostv1.ExecuteRequest{
		{Index: 4, Calls: []*worldv1.Message{addContact(2, "Bob"), call(3, worldv1.Role_ROLE_AGENT, "set_wifi_status(False)")}},
		{Index: 7, Calls: []*worldv1.Message{call(6, worldv1.Role_ROLE_AGENT, "remove_contact('a')")}},
		{Index: 9, Calls: []*worldv1.Message{call(8, worldv1.Role_ROLE_AGENT, "remove_contact(search_contacts)")}},
		{Index: 11, Calls: []*worldv1.Message{addContact(10, "Dan")}},
		{Index: 14, Calls: []*worldv1.Message{call(12, worldv1.Role_ROLE_USER, "end_conversation()"), call(13, worldv1.Role_ROLE_USER, "end_conversation()")}},
	}
	var outcomes []*toolhostv1.ExecuteResponse
	for _, step := range steps {
		step.SessionId = "s.1"
	}
	for i, step := range steps {
		outcome, err := client.Execute(t.Context(), step)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		outcomes = append(outcomes, outcome)
		after := serve(t, copyFile(t, file), bus, ownsAll)
		for j, again := range steps {
			got, err := after.client.Execute(t.Context(), again)
			if err != nil {
				t.Fatalf("killed after step %d: step %d: %v", i, j, err)
			}
			if j <= i {
				if diff := cmp.Diff(outcomes[j], got, protocmp.Transform()); diff != "" {
					t.Errorf("killed after step %d: step %d (-before +after):\n%s", i, j, diff)
				}
			}
		}
		if diff := cmp.Diff(versions(t, after.client, "s.1"), []string{
			"SETTING@0:1", "SETTING@4:1", "CONTACT@0:0", "CONTACT@1:1", "CONTACT@4:2", "CONTACT@7:1", "CONTACT@11:2",
		}); diff != "" {
			t.Errorf("killed after step %d: versions (-got +want):\n%s", i, diff)
		}
		after.close()
	}
	last := outcomes[len(outcomes)-1]
	if last.GetEndedAtIndex() != 13 || last.EndedAtIndex == nil || last.GetAnswers()[0].GetConversationActive() {
		t.Errorf("end: got deactivated %v and answers %v, want 13 and inactive ones", last.EndedAtIndex, last.GetAnswers())
	}
}

func copyFile(tb testing.TB, file string) string {
	tb.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		tb.Fatalf("copy store: %v", err)
	}
	copied := filepath.Join(tb.TempDir(), storeFile)
	if err := os.WriteFile(copied, raw, 0o600); err != nil {
		tb.Fatalf("copy store: %v", err)
	}
	return copied
}

// TestEvicted checks that evicted sessions behave like those in memory, also for an emptied table.
func TestEvicted(t *testing.T) {
	bus := natstest.Start(t)
	var answers [2][]string
	for i, live := range []int{100, 1} {
		client := serve(t, filepath.Join(t.TempDir(), storeFile), bus, ownsAll, func(cfg *host.Config) { cfg.CachedSessions = live }).client
		for _, id := range []string{"a", "b"} {
			create(t, client, id, smallSetup("small"))
		}
		for step, source := range []string{"remove_contact('a')", "remove_contact('a')", "print(add_contact('Bob', '+14085551111'))", "print(remove_contact('x'))"} {
			for _, id := range []string{"a", "b"} {
				index := int32(3 + 2*step)
				response := run(t, client, id, index, call(index-1, worldv1.Role_ROLE_AGENT, source))
				answers[i] = append(answers[i], messagetext.Content(response.GetAnswers()[0])+fmt.Sprint(response.GetVersions()))
			}
		}
	}
	if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
		t.Errorf("answers (-in memory +evicted):\n%s", diff)
	}
}

func TestForkAndDelete(t *testing.T) {
	bus := natstest.Start(t)
	client := serve(t, filepath.Join(t.TempDir(), storeFile), bus, ownsAll, func(cfg *host.Config) { cfg.CachedSessions = 1 }).client
	create(t, client, "a", smallSetup("small"))
	run(t, client, "a", 3, addContact(2, "Bob"))
	original := run(t, client, "a", 5, addContact(4, "Cid"))
	fork := func(id string, index int32, newID string) (*toolhostv1.Session, error) {
		response, err := client.ForkSession(t.Context(), &toolhostv1.ForkSessionRequest{SessionId: id, Index: index, NewSessionId: newID})
		return response.GetSession(), err
	}
	first, err := fork("a", 4, "b")
	if err != nil || first.GetIdsDrawn() != 1 || first.GetParentId() != "a" || first.GetForkedAt() != 4 {
		t.Fatalf("fork: got %v, error %v, want a session with one id drawn", first, err)
	}
	again, err := fork("a", 4, "b")
	if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("repeated fork: error %v (-first +repeated):\n%s", err, diff)
	}
	_, err = fork("a", 3, "b")
	wantCode(t, "fork to a taken id", err, codes.AlreadyExists)
	_, err = fork("a", 6, "c")
	wantCode(t, "fork after the end", err, codes.FailedPrecondition)
	_, err = fork("none", 3, "c")
	wantCode(t, "fork of nothing", err, codes.NotFound)
	replayed := run(t, client, "b", 5, addContact(4, "Cid"))
	if diff := cmp.Diff(original, replayed, protocmp.Transform()); diff != "" {
		t.Errorf("the same call in the fork (-original +fork):\n%s", diff)
	}
	if _, err := fork("b", 5, "c"); err != nil {
		t.Fatalf("fork of the fork: %v", err)
	}
	run(t, client, "c", 7, addContact(6, "Dan"))
	remove := func(id string) {
		if _, err := client.DeleteSession(t.Context(), &toolhostv1.DeleteSessionRequest{SessionId: id}); err != nil {
			t.Errorf("delete %s: %v", id, err)
		}
	}
	remove("a")
	remove("b")
	remove("b")
	_, err = client.GetSession(t.Context(), &toolhostv1.GetSessionRequest{SessionId: "b"})
	wantCode(t, "get a deleted session", err, codes.NotFound)
	if diff := cmp.Diff([]string{"Ann", "Bob", "Cid", "Dan"}, names(t, client, "c", 7)); diff != "" {
		t.Errorf("contacts of the fork whose parents are gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"SETTING@0:1", "CONTACT@0:0", "CONTACT@1:1", "CONTACT@3:2", "CONTACT@5:3", "CONTACT@7:4"}, versions(t, client, "c")); diff != "" {
		t.Errorf("versions of the fork (-want +got):\n%s", diff)
	}
	snapshots, err := bus.ReadSnapshots(t.Context(), "c")
	if err != nil || len(snapshots) != 2 || len(snapshots[0].GetTables()) != 2 {
		t.Errorf("snapshots of the fork: got %v, error %v, want the shared versions, then its own", snapshots, err)
	}
	remove("c")
	list, err := client.ListSessions(t.Context(), &toolhostv1.ListSessionsRequest{})
	if err != nil || len(list.GetSessions()) != 0 {
		t.Errorf("sessions: got %v, error %v, want none", list, err)
	}
	create(t, client, "a", smallSetup("other")) // without data of the first one
}

func TestListSessions(t *testing.T) {
	client := start(t)
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("s.%02d", i)
		create(t, client, id, smallSetup("small"))
		want = append(want, id)
	}
	create(t, client, "t.1", smallSetup("small"))
	for _, size := range []int32{0, 1, 7, 25, 26} {
		var got []string
		request := &toolhostv1.ListSessionsRequest{Prefix: "s.", PageSize: size}
		for {
			response, err := client.ListSessions(t.Context(), request)
			if err != nil {
				t.Fatalf("list: %v", err)
			}
			if size > 0 && len(response.GetSessions()) > int(size) {
				t.Errorf("page size %d: got %d sessions", size, len(response.GetSessions()))
			}
			for _, session := range response.GetSessions() {
				got = append(got, session.GetId())
			}
			if request.PageToken = response.GetNextPageToken(); request.GetPageToken() == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("page size %d (-want +got):\n%s", size, diff)
		}
	}
}

func TestCreateSession(t *testing.T) {
	client := start(t)
	first := create(t, client, "s", smallSetup("small"))
	if diff := cmp.Diff(first, create(t, client, "s", smallSetup("small")), protocmp.Transform()); diff != "" {
		t.Errorf("repeated (-first +repeated):\n%s", diff)
	}
	_, err := client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: "s", Setup: smallSetup("other")})
	wantCode(t, "another setup", err, codes.AlreadyExists)
	tests := []struct {
		name   string
		change func(*setupv1.Setup)
	}{
		{"unknown tool", func(s *setupv1.Setup) { s.Tools = &setupv1.ToolSelection{Allow: []string{"nope"}} }},
		{"unknown time zone", func(s *setupv1.Setup) { s.Clock.TimeZone = "Nowhere/City" }},
		{"too few cells", func(s *setupv1.Setup) { s.Tables[2].Rows[0].Cells = s.Tables[2].Rows[0].Cells[1:] }},
		{"wrong cell", func(s *setupv1.Setup) { s.Tables[2].Rows[0].Cells[4] = world.Text("yes") }},
		{"version after the last message", func(s *setupv1.Setup) { s.Tables[2].Index = 2 }},
		{"version twice", func(s *setupv1.Setup) { s.Tables[2].Index = 0 }},
		{"messages as a table", func(s *setupv1.Setup) { s.Tables[0].Name = world.Sandbox }},
	}
	for _, test := range tests {
		setup := smallSetup("bad")
		test.change(setup)
		_, err := client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: "bad", Setup: setup})
		wantCode(t, test.name, err, codes.InvalidArgument)
	}
}

func TestExecuteRefused(t *testing.T) {
	bus := natstest.Start(t)
	client := serve(t, filepath.Join(t.TempDir(), storeFile), bus, ownsAllBut("elsewhere"), func(cfg *host.Config) {
		cfg.MaxRows, cfg.MaxCalls, cfg.MaxBytes = 1, 2, 4096
	}).client
	create(t, client, "s", smallSetup("small"))
	agent, user := worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	misdirected := call(2, agent, "get_wifi_status()")
	misdirected.Recipient = user
	tests := []struct {
		name, id string
		calls    []*worldv1.Message
		want     codes.Code
	}{
		{"another tool host", "elsewhere", []*worldv1.Message{call(2, agent, "")}, codes.Unavailable},
		{"no session", "none", []*worldv1.Message{call(2, agent, "")}, codes.NotFound},
		{"no call", "s", nil, codes.InvalidArgument},
		{"two senders", "s", []*worldv1.Message{call(2, agent, ""), call(3, user, "")}, codes.InvalidArgument},
		{"not for the environment", "s", []*worldv1.Message{misdirected}, codes.InvalidArgument},
		{"too many calls", "s", slices.Repeat([]*worldv1.Message{call(2, agent, "")}, 3), codes.ResourceExhausted},
		{"too many rows", "s", slices.Repeat([]*worldv1.Message{addContact(2, "Bob")}, 2), codes.ResourceExhausted},
		{"too many bytes", "s", []*worldv1.Message{addContact(2, string(make([]byte, 5000)))}, codes.ResourceExhausted},
		{"within limits", "s", []*worldv1.Message{addContact(2, "Bob")}, codes.OK},
	}
	for _, test := range tests {
		_, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: test.id, Index: 4, Calls: test.calls})
		wantCode(t, test.name, err, test.want)
	}
}

// unreachableBus loses publications while it is down.
type unreachableBus struct {
	host.Bus
	down atomic.Bool
}

func (b *unreachableBus) PublishSnapshot(ctx context.Context, snapshot *busv1.Snapshot) error {
	if b.down.Load() {
		return errors.New("bus is down")
	}
	return b.Bus.PublishSnapshot(ctx, snapshot)
}

func TestRepublishSnapshots(t *testing.T) {
	bus := natstest.Start(t)
	publisher := &unreachableBus{Bus: bus}
	client := serve(t, filepath.Join(t.TempDir(), storeFile), publisher, ownsAll).client
	create(t, client, "s", smallSetup("small"))
	publisher.down.Store(true)
	_, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "s", Index: 3, Calls: []*worldv1.Message{addContact(2, "Bob")}})
	wantCode(t, "bus is down", err, codes.Unavailable)
	publisher.down.Store(false)
	run(t, client, "s", 3, addContact(2, "Bob"))
	snapshots, err := bus.ReadSnapshots(t.Context(), "s")
	if err != nil || len(snapshots) != 1 || snapshots[0].GetTables()[0].GetIndex() != 3 {
		t.Errorf("snapshots: got %v, error %v, want that of message 3", snapshots, err)
	}
	if got := names(t, client, "s", 3); len(got) != 2 {
		t.Errorf("contacts: got %q, want two: the call ran once", got)
	}
}
