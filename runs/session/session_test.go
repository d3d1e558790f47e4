package session

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row/rowtest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

const (
	agent       = worldv1.Role_ROLE_AGENT
	environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

// installation is an installation with a client.
type installation struct {
	*Client
	ctx context.Context
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	cfg := standalone.DefaultConfig()
	cfg.Dir, cfg.Services, cfg.Orchestrator.Parallel = t.TempDir(), []rpc.Service{rpc.ToolHost, rpc.Orchestrator}, 0
	cfg.Network.Grace = 100 * time.Millisecond
	running, err := standalone.Start(t.Context(), cfg, rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return &installation{Client: New(running.Node()), ctx: ctx}
}

func setup(name string) *setupv1.Setup {
	return &setupv1.Setup{
		Name: name, MaxMessages: 20, Clock: &setupv1.Clock{Now: 1000, TimeZone: "UTC"},
		Tables: []*worldv1.Table{
			{Name: world.Setting, Rows: []*worldv1.Row{worldtest.Setting(1, 2)}},
			{Name: world.Contact},
		},
		Messages: []*worldv1.Message{{Sender: worldv1.Role_ROLE_USER, Recipient: agent, Body: &worldv1.Message_Text{Text: "go"}}},
	}
}

// create creates a session without a log.
func (s *installation) create(t *testing.T, id string, setup *setupv1.Setup) {
	t.Helper()
	if _, err := s.toolHost(id).CreateSession(s.ctx, &toolhostv1.CreateSessionRequest{SessionId: id, Setup: setup}); err != nil {
		t.Fatal(err)
	}
}

// play executes turns, writes the log and returns it. change may alter the recorded messages.
func (s *installation) play(t *testing.T, id string, change func(*worldv1.Message), turns ...[]string) {
	t.Helper()
	start := setup("switches")
	s.create(t, id, start)
	digest, err := s.node.Bus().PutSetup(s.ctx, start)
	if err != nil {
		t.Fatal(err)
	}
	messages := []*worldv1.Message{proto.CloneOf(start.GetMessages()[0])}
	messages[0].ConversationActive = proto.Bool(true)
	entries := []*busv1.LogEntry{{Start: &busv1.Start{
		Rollout: &busv1.Rollout{Id: id, Scenario: "switches", SetupDigest: digest}, Messages: slices.Clone(messages), MaxMessages: 20,
	}}}
	said := func(turn []*worldv1.Message, digest []byte) {
		messages = append(messages, turn...)
		entries = append(entries, &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: turn, SessionDigest: digest}}})
	}
	for _, sources := range turns {
		var calls []*worldv1.Message
		for i, source := range sources {
			call := rowtest.Message(agent, environment, source)
			call.Index, call.ConversationActive = int32(len(messages)+i), proto.Bool(true)
			calls = append(calls, call)
		}
		said(calls, nil)
		outcome, err := s.toolHost(id).Execute(s.ctx, &toolhostv1.ExecuteRequest{SessionId: id, Index: int32(len(messages)), Calls: calls})
		if err != nil {
			t.Fatal(err)
		}
		outcome = proto.CloneOf(outcome) // the tool host holds it too
		for _, answer := range outcome.GetAnswers() {
			change(answer)
		}
		said(outcome.GetAnswers(), outcome.GetSessionDigest())
	}
	entries = append(entries, &busv1.LogEntry{End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}})
	var last bus.Position
	for _, entry := range entries {
		if last, err = s.node.Bus().Append(s.ctx, id, entry, last); err != nil {
			t.Fatal(err)
		}
	}
}

func unchanged(*worldv1.Message) {}

// turns returns calls that write and read. The last batch is parallel.
func turns() [][]string {
	return [][]string{
		{"print(set_wifi_status(on=False))"},
		{"print(add_contact(name='Ada', phone_number='+14155550132'))"},
		{"print(get_wifi_status())", "print(set_cellular_service_status(on=False))"},
	}
}

func (s *installation) session(t *testing.T, name string) *toolhostv1.Session {
	t.Helper()
	found, err := s.Find(s.ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// ids lists all sessions.
func (s *installation) ids(t *testing.T) string {
	t.Helper()
	sessions, err := s.List(s.ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, session := range sessions {
		ids = append(ids, session.GetId())
	}
	return strings.Join(ids, " ")
}

// TestVerify adds a call to a session whose rollout has ended, so that it does not match its log. A
// fork has no log.
func TestVerify(t *testing.T) {
	s := newInstallation(t)
	s.play(t, "s.0", unchanged, turns()...)
	if _, err := s.Fork(s.ctx, s.session(t, "s.0"), 4, "fork"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"s.0", "fork"} {
		if err := s.Verify(s.ctx, s.session(t, id)); err != nil {
			t.Errorf("Verify %s: got %v, want nil", id, err)
		}
	}
	index := s.session(t, "s.0").GetLastIndex() + 2
	call := rowtest.Message(agent, environment, "print(set_wifi_status(on=True))")
	call.Index, call.ConversationActive = index-1, proto.Bool(true)
	if _, err := s.toolHost("s.0").Execute(s.ctx, &toolhostv1.ExecuteRequest{SessionId: "s.0", Index: index, Calls: []*worldv1.Message{call}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(s.ctx, s.session(t, "s.0")); err == nil || !strings.Contains(err.Error(), "session s.0 does not match its log") {
		t.Errorf("Verify a session that continued: got %v, want that it does not match its log", err)
	}
}

func TestReplay(t *testing.T) {
	s := newInstallation(t)
	s.play(t, "s.0", unchanged, turns()...)
	if _, err := s.Fork(s.ctx, s.session(t, "s.0"), 4, "fork"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fork(s.ctx, s.session(t, "fork"), 4, "fork-of-fork"); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		id   string
		to   int
		want Replayed
	}{
		{"switches", -1, Replayed{To: 8, Answers: 4, Versions: 3}},
		{"s.0", 8, Replayed{To: 8, Answers: 4, Versions: 3}},
		{"s.0", 7, Replayed{To: 7, Answers: 3, Versions: 3}}, // inside the parallel batch, which is executed as a whole
		{"s.0", 6, Replayed{To: 6, Answers: 2, Versions: 2}},
		{"s.0", 2, Replayed{To: 2, Answers: 1, Versions: 1}},
		{"s.0", 0, Replayed{To: 0}},
		{"fork", -1, Replayed{To: 4, Answers: 2, Versions: 2}},
		{"fork-of-fork", -1, Replayed{To: 4, Answers: 2, Versions: 2}},
		{"fork-of-fork", 3, Replayed{To: 3, Answers: 1, Versions: 1}},
	}
	for _, test := range tests {
		session := s.session(t, test.id)
		test.want.ID = session.GetId()
		got, err := s.Replay(s.ctx, session, test.to)
		if err != nil || got != test.want {
			t.Errorf("Replay(%s, %d): got %+v, %v, want %+v, nil", test.id, test.to, got, err, test.want)
		}
	}
	if got, want := s.ids(t), "fork fork-of-fork s.0"; got != want {
		t.Errorf("sessions afterwards: got %s, want %s", got, want)
	}
	for id, to := range map[string]int{"s.0": 9, "fork": 5} {
		if _, err := s.Replay(s.ctx, s.session(t, id), to); !errors.Is(err, process.ErrUsage) {
			t.Errorf("Replay(%s, %d): got %v, want a usage error", id, to, err)
		}
	}
}

func TestReplayFindsDifferences(t *testing.T) {
	at := func(index int32, change func(*worldv1.Message)) func(*worldv1.Message) {
		return func(m *worldv1.Message) {
			if m.GetIndex() == index {
				change(m)
			}
		}
	}
	long := strings.Repeat("x", 300)
	tests := []struct {
		name   string
		change func(*worldv1.Message)
		want   string
	}{
		{"content", at(2, func(m *worldv1.Message) { m.GetResult().Text = proto.String("of\nf") }), `message 2, result.text: stored "of\nf", replayed "None"`},
		{"exception", at(4, func(m *worldv1.Message) { m.GetResult().Exception = proto.String("E: x") }), `message 4, result.exception: stored "E: x", replayed nothing`},
		{"trace", at(7, func(m *worldv1.Message) { m.GetResult().Traces = nil }), "message 7, result.traces: stored nothing, replayed ["},
		{"recipient", at(8, func(m *worldv1.Message) { m.Recipient = worldv1.Role_ROLE_USER }), "message 8, recipient: stored ROLE_USER, replayed ROLE_AGENT"},
		{"a long text", at(2, func(m *worldv1.Message) { m.GetResult().Text = proto.String("None" + long) }), `message 2, result.text: stored "Nonexxx`},
	}
	s := newInstallation(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			id := strings.ReplaceAll(test.name, " ", "-")
			s.play(t, id, test.change, turns()...)
			_, err := s.Replay(s.ctx, s.session(t, id), -1)
			if !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 600 {
				t.Errorf("Replay: got %v, want %v that says %q", err, ErrDiffers, test.want)
			}
			if strings.Contains(s.ids(t), replayPrefix) {
				t.Errorf("sessions afterwards: got %s, want none that begins with %s", s.ids(t), replayPrefix)
			}
		})
	}
}

func TestReplayWithoutLog(t *testing.T) {
	s := newInstallation(t)
	s.create(t, "alone", setup("switches"))
	_, err := s.Replay(s.ctx, s.session(t, "alone"), -1)
	if want := "ID: session alone has no rollout, and so no log to replay"; !errors.Is(err, process.ErrUsage) || err.Error() != want {
		t.Errorf("Replay: got %v, want %s", err, want)
	}
}

func TestCompareVersions(t *testing.T) {
	milk, bread := []any{"m", "milk", 1.0}, []any{"b", "bread", 2.0}
	tests := []struct {
		name         string
		stored, made []*worldv1.Table
		want         string
	}{
		{"equal", []*worldv1.Table{reminders(0), reminders(3, milk)}, []*worldv1.Table{reminders(0), reminders(3, milk)}, ""},
		{"only behind the last message", []*worldv1.Table{reminders(9, milk)}, nil, ""},
		{"not made", []*worldv1.Table{reminders(3, milk)}, nil, "REMINDER at message 3: stored, but missing in the replay"},
		{"made alone", []*worldv1.Table{reminders(5)}, []*worldv1.Table{reminders(3), reminders(5)}, "REMINDER at message 3: only in the replay"},
		{"cell", []*worldv1.Table{reminders(3, milk)}, []*worldv1.Table{reminders(3, []any{"m", "oats", 1.0})}, `REMINDER at message 3: row "m", content: stored "milk", replayed "oats"`},
		{"row less", []*worldv1.Table{reminders(3, milk, bread)}, []*worldv1.Table{reminders(3, milk)}, `row missing in the replay: reminder_id: "b", content: "bread"`},
		{"row more", []*worldv1.Table{reminders(3, milk)}, []*worldv1.Table{reminders(3, milk, bread)}, `row only in the replay: reminder_id: "b", content: "bread"`},
		{"order", []*worldv1.Table{reminders(3, milk, bread)}, []*worldv1.Table{reminders(3, bread, milk)}, "the order of rows differs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			compared, err := compareVersions(world.Builtin(), test.stored, test.made, 1, 8)
			if test.want == "" {
				if want := len(test.made) / 2; err != nil || compared != want {
					t.Errorf("compareVersions: got %d, %v, want %d, nil", compared, err, want)
				}
				return
			}
			if !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("compareVersions: got %v, want %q", err, test.want)
			}
		})
	}
}

func TestFind(t *testing.T) {
	s := newInstallation(t)
	for _, id := range []string{"s.10", "s.2", "s.1", "s.0"} {
		s.create(t, id, setup("switches"))
	}
	s.create(t, "t.0", setup("alone"))
	if _, err := s.Fork(s.ctx, s.session(t, "alone"), 0, "u"); err != nil {
		t.Fatal(err)
	}
	if got, want := s.ids(t), "s.0 s.1 s.2 s.10 t.0 u"; got != want {
		t.Errorf("List: got %s, want %s", got, want)
	}
	tests := []struct{ name, want string }{
		{"s.2", "s.2"},
		{"u", "u"},
		{"alone", "t.0"},
		{"switches", "ID: scenario switches has 4 sessions: give the id of one: s.0, s.1, s.2, …"},
		{"s.3", `ID: no session and no scenario is called "s.3": see toolsandbox session list`}, // s.2 is another rollout
		{"alonf", `ID: no session and no scenario is called "alonf": did you mean "alone"?`},
		{"something else", `ID: no session and no scenario is called "something else": see toolsandbox session list`},
		{"", `ID: no session and no scenario is called "": did you mean "u"?`},
	}
	for _, test := range tests {
		found, err := s.Find(s.ctx, test.name)
		got := found.GetId()
		if err != nil {
			got = err.Error()
		}
		if got != test.want || (err != nil) != strings.HasPrefix(test.want, "ID: ") || err != nil && !errors.Is(err, process.ErrUsage) {
			t.Errorf("Find(%q): got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestView(t *testing.T) {
	s := newInstallation(t)
	s.play(t, "s.0", unchanged, turns()...)
	found := s.session(t, "s.0")
	tables, err := s.Tables(s.ctx, found, 3, []string{world.Setting, world.Contact})
	if err != nil {
		t.Fatal(err)
	}
	versions, err := s.Versions(s.ctx, "s.0")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	view := &View{Session: found, At: 3, Tables: tables, Versions: versions}
	if err := view.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := `session s.0, scenario switches: message 3 of 0 to 8

SETTING, 1 row, stored at message 2
 device_id  cellular  wifi   location_service  low_battery_mode  latitude  longitude 
─────────────────────────────────────────────────────────────────────────────────────
 device     true      false  true              false                    1          2 

CONTACT, 0 rows, stored at message 0

 version of  message  rows 
───────────────────────────
 SETTING           0     1 
 SETTING           2     1 
 SETTING           7     1 
 CONTACT           0     0 
 CONTACT           4     1 
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("WriteText (-want +got):\n%s", diff)
	}
	raw, err := output.JSON(&View{Session: found, At: 3, Tables: tables[:1]}, "")
	if err != nil {
		t.Fatal(err)
	}
	wantJSON := `{"session":{"id":"s.0","scenario":"switches","messages":9,"parent":null,"forked_at":null},"at":3,"tables":[{"table":"SETTING","version":2,` +
		`"rows":[{"device_id":"device","cellular":true,"wifi":false,"location_service":true,"low_battery_mode":false,"latitude":1,"longitude":2}]}]}`
	if diff := cmp.Diff(wantJSON, string(raw)); diff != "" {
		t.Errorf("MarshalJSON (-want +got):\n%s", diff)
	}
}

func TestCellText(t *testing.T) {
	for _, test := range []struct {
		cell *worldv1.Value
		want string
	}{
		{world.Null(), "null"},
		{world.Bool(true), "true"},
		{world.Number(1741967520.25), "1741967520.25"},
		{world.Text("Zoë 東京"), "Zoë 東京"},
		{world.Text("a\x1b[2J\u202eb\n"), `"a\x1b[2J\u202eb\n"`},
	} {
		if got := cellText(test.cell); got != test.want {
			t.Errorf("cellText: got %s, want %s", got, test.want)
		}
	}
}
