package toolhost

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
)

// TestQuota exceeds each quota of a session: the batch changes nothing, the error states the limit,
// and the session continues at the same index.
func TestQuota(t *testing.T) {
	wifi := call(2, worldv1.Role_ROLE_AGENT, "set_wifi_status(False)")
	tests := []struct {
		name  string
		limit func(*host.Config)
		calls []*worldv1.Message
		want  string
	}{
		{"rows", func(cfg *host.Config) { cfg.MaxRows = 1 }, slices.Repeat([]*worldv1.Message{addContact(2, "Bob")}, 2), "2 rows more than at the start, at most 1"},
		{"bytes", func(cfg *host.Config) { cfg.MaxBytes = 4096 }, []*worldv1.Message{addContact(2, strings.Repeat("x", 5000))}, "at once, at most 4096"},
		{"calls", func(cfg *host.Config) { cfg.MaxCalls = 2 }, slices.Repeat([]*worldv1.Message{wifi}, 3), "3 calls at once, at most 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bus := natstest.Start(t)
			client := serve(t, filepath.Join(t.TempDir(), storeFile), bus, ownsAll, test.limit).client
			create(t, client, "s", smallSetup("small"))
			before := versions(t, client, "s")
			for range 2 {
				_, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "s", Index: 5, Calls: test.calls})
				if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), test.want) {
					t.Errorf("execute: got %v, want %v with %q", err, codes.ResourceExhausted, test.want)
				}
			}
			if diff := cmp.Diff(before, versions(t, client, "s")); diff != "" {
				t.Errorf("versions after refused batches (-before +after):\n%s", diff)
			}
			run(t, client, "s", 5, addContact(4, "Bob"))
			if diff := cmp.Diff([]string{"Ann", "Bob"}, names(t, client, "s", 5)); diff != "" {
				t.Errorf("contacts of the session that goes on (-want +got):\n%s", diff)
			}
			snapshots, err := bus.ReadSnapshots(t.Context(), "s")
			if err != nil || len(snapshots) != 1 {
				t.Errorf("snapshots: got %d, error %v, want that of the accepted batch", len(snapshots), err)
			}
		})
	}
}

// TestLargeWorld starts with more than calls may add, or store at once. Calls are not to blame.
func TestLargeWorld(t *testing.T) {
	client := serve(t, filepath.Join(t.TempDir(), storeFile), natstest.Start(t), ownsAll, func(cfg *host.Config) { cfg.MaxRows, cfg.MaxBytes = 1, 4096 }).client
	many, large := smallSetup("many"), smallSetup("large")
	contacts := many.GetTables()[2]
	for i := range 5 {
		contacts.Rows = append(contacts.Rows, worldtest.Contact(fmt.Sprint("b", i), "Bob", "+14085550001", false))
	}
	create(t, client, "many", many)
	run(t, client, "many", 5, addContact(4, "Cid"))
	large.GetTables()[2].Rows[0] = worldtest.Contact("a", strings.Repeat("x", 5000), "+14085550000", true)
	create(t, client, "large", large)
	run(t, client, "large", 5, call(4, worldv1.Role_ROLE_AGENT, "set_wifi_status(False)"))
	_, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "large", Index: 6, Calls: []*worldv1.Message{addContact(5, "Bob")}})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "invalid setup large: the tables that a call writes have 50") {
		t.Errorf("write of a large table: got %v, want %v that names it", err, codes.InvalidArgument)
	}
}

// TestLargeAnswer calls a tool of a pack that answers more than fits. The tool is at fault if the
// call is small, and the caller if it sent as much.
func TestLargeAnswer(t *testing.T) {
	client := serve(t, filepath.Join(t.TempDir(), storeFile), natstest.Start(t), ownsAll, func(cfg *host.Config) { cfg.MaxBytes = 4096 }).client
	setup := smallSetup("small")
	setup.ToolModules = []*setupv1.ToolModule{{Name: "echo", Source: `
def repeat(text: str, times: int) -> str:
    """Repeats a text.

    Args:
        text: The text.
        times: How often.
    """
    return text * times


def complain(times: int) -> None:
    """Raises an error.

    Args:
        times: How long it is.
    """
    raise ValueError("no" * times)
`}}
	create(t, client, "s", setup)
	for _, test := range []struct {
		source string
		code   codes.Code
		want   string
	}{
		{"print(repr(repeat('x', 5000)))", codes.InvalidArgument, "tool of the pack is broken: repeat returns 5002 of the "},
		{"print(repr(repeat('" + strings.Repeat("x", 5000) + "', 1)))", codes.ResourceExhausted, "session quota exceeded"},
	} {
		_, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{
			SessionId: "s", Index: 5, Calls: []*worldv1.Message{call(2, worldv1.Role_ROLE_AGENT, test.source)},
		})
		if status.Code(err) != test.code || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40s: got %v, want %v with %q", test.source, err, test.code, test.want)
		}
	}
	response, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "s", Index: 5, Calls: []*worldv1.Message{{
		Index: 4, Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
		Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: proto.String("1"), Name: proto.String("complain"), Tool: "complain", ArgumentsJson: `{"times": 1900}`}},
	}}})
	const want = "complain answers 3812 of the " // which it does twice, as text and as exception
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
		t.Errorf("complain: got %.200v and %v, want %v with %q", response, err, codes.InvalidArgument, want)
	}
}

// TestReloadedSessions executes alternately in more sessions than fit in memory. Each is
// reloaded from the file every time. Results and stored bytes equal those of sessions that stay in
// memory.
func TestReloadedSessions(t *testing.T) {
	const sessions, live = 4, 2
	sources := []string{
		"print(repr(add_contact('Bob', '+14085551111')))", "print(repr(set_low_battery_mode_status(True)))",
		"print(repr(search_contacts(name='Bob')))", "print(repr(remove_contact('a')))", "print(repr(add_reminder('tea', 1716400000.0)))",
		"print(repr(search_reminder(content='tea')))", "print(repr(end_conversation()))",
	}
	play := func(limit int) (bytes [][]byte) {
		client := serve(t, filepath.Join(t.TempDir(), storeFile), natstest.Start(t), ownsAll, func(cfg *host.Config) { cfg.CachedSessions = limit }).client
		for i := range sessions {
			setup := smallSetup("small")
			setup.Seed = int64(i)
			bytes = append(bytes, marshal(t, create(t, client, fmt.Sprint("idle.", i), setup)))
		}
		for step, source := range sources {
			for i := range sessions {
				index := int32(3 + 2*step)
				bytes = append(bytes, marshal(t, run(t, client, fmt.Sprint("idle.", i), index, call(index-1, worldv1.Role_ROLE_AGENT, source))))
			}
		}
		for i := range sessions {
			tables, err := client.ReadTables(t.Context(), &toolhostv1.ReadTablesRequest{SessionId: fmt.Sprint("idle.", i), Index: 99})
			if err != nil {
				t.Fatalf("read tables: %v", err)
			}
			bytes = append(bytes, marshal(t, tables))
		}
		return bytes
	}
	if diff := cmp.Diff(play(sessions), play(live)); diff != "" {
		t.Errorf("answers and tables (-all in memory +%d of %d):\n%s", live, sessions, diff)
	}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
