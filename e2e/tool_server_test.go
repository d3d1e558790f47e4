package e2e_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolsandbox/toolsandbox/sdk/go/tools"
)

// deskPack is a pack with the tools of a server over gRPC. ADDRESS stands for the server's address.
var deskPack = map[string]string{
	"pack.yaml": `name: desk
tools:
  - {server: desk, address: "ADDRESS"}
`,
	"schema.yaml": `tables:
  - name: note
    description: A note.
    columns:
      - {name: note_id, type: text}
      - {name: title, type: text, measure: rouge_l}
      - {name: pages, type: number}
`,
	"desk.yaml": `take_two_notes:
  clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}
  tables:
    setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false}]
    note: [{title: Old door code, pages: 3}]
  extra_tools: [find_notes, remove_note]
  user:
    goal: Have the notes "Tax papers" and "Garden plan" written down, of two and four pages, and that of the old door code thrown away.
    says: Write down Tax papers with 2 pages and Garden plan with 4, and throw the old door code away.
  oracle:
    - find_notes: {title: door}
    - remove_note: {title: Old door code}
    - calls: [{add_note: {title: Tax papers, pages: 2}}, {add_note: {title: Garden plan, pages: 4}}]
    - say: Both are written down, and the old door code is thrown away.
  milestones:
    removed: {removal: {note: [{title: Old door code}]}}
    added:
      {table: note, measure: addition, reference: removed, expect: [{title: Tax papers, pages: 2}, {title: Garden plan, pages: 4}]}
`,
}

// servedTools returns the tools of a server. They count their calls.
func servedTools(calls *atomic.Int64) []tools.Tool {
	type note struct {
		Title string `json:"title" doc:"What the note is called."`
		Pages *int   `json:"pages" doc:"How many pages it has, 1 if left out."`
	}
	type title struct {
		Title string `json:"title" doc:"What the note is called."`
	}
	add := func(_ context.Context, call *tools.Call, a note) (any, error) {
		calls.Add(1)
		for _, row := range call.Rows["note"] {
			if row["title"] == a.Title {
				return nil, tools.Raise("ValueError", "There is a note "+a.Title)
			}
		}
		pages := 1
		if a.Pages != nil {
			pages = *a.Pages
		}
		call.Add("note", tools.Row{"note_id": call.IDs[0], "title": a.Title, "pages": pages})
		return call.IDs[0], nil
	}
	find := func(_ context.Context, call *tools.Call, a title) (any, error) {
		calls.Add(1)
		found := []tools.Row{}
		for _, row := range call.Rows["note"] {
			if text, _ := row["title"].(string); strings.Contains(strings.ToLower(text), strings.ToLower(a.Title)) {
				found = append(found, row)
			}
		}
		return found, nil
	}
	remove := func(_ context.Context, call *tools.Call, a title) (any, error) {
		calls.Add(1)
		call.Remove("note", "title", a.Title)
		return nil, nil
	}
	return []tools.Tool{
		tools.New("add_note", "Writes a note down.", add, tools.Reads("note", "title"), tools.Writes("note"), tools.IDs(1)),
		tools.New("find_notes", "Finds notes by a part of their title.", find, tools.Reads("note")),
		tools.New("remove_note", "Throws a note away.", remove, tools.Reads("note", "title"), tools.Writes("note", "title")),
	}
}

// toolServer is a server that a test starts and stops.
type toolServer struct {
	address string
	calls   atomic.Int64
	stop    func()
}

// serveTools starts a server with the tools of deskPack and more. An address with port 0 gets a
// free port.
func serveTools(t *testing.T, address string, more ...tools.Tool) *toolServer {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &toolServer{address: listener.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- tools.ServeListener(ctx, listener, append(servedTools(&s.calls), more...)) }()
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(s.stop)
	return s
}

// writeServedPack writes a pack with a server at an address.
func writeServedPack(t *testing.T, files map[string]string, address string) string {
	t.Helper()
	pack := t.TempDir()
	for name, content := range files {
		file := filepath.Join(pack, name)
		content = strings.ReplaceAll(content, "ADDRESS", address)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return pack
}

// refused runs a command that must fail and returns its output.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...).CombinedOutput()
	if err == nil {
		t.Fatalf("toolsandbox %s: succeeded, want it to fail\n%s", strings.Join(args, " "), printed)
	}
	return string(printed)
}

// mustContain fails the test unless a text contains all parts.
func mustContain(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: got\n%s\nwant %q in it", what, text, part)
		}
	}
}

// TestToolServer plays, proves and replays a pack with the tools of a server over gRPC. It then
// runs commands without the server.
func TestToolServer(t *testing.T) {
	t.Parallel()
	server := serveTools(t, "127.0.0.1:0")
	pack := writeServedPack(t, deskPack, server.address)
	out := filepath.Join(t.TempDir(), "out")
	mustContain(t, "run", toolsandbox(t, "run", "--agent", "oracle", "--pack", pack, "--out", out), "take_two_notes  1.000")
	mustContain(t, "prove", toolsandbox(t, "pack", "prove", pack), "1 proven, 0 failed")
	mustContain(t, "show", toolsandbox(t, "pack", "show", pack), "add_note", "pages?: integer")
	mustContain(t, "replay of the session", toolsandbox(t, "session", "replay", "take_two_notes", "--out", out), "are identical")
	if server.calls.Load() == 0 {
		t.Fatal("calls of the server: got 0, want some")
	}
	toolsandbox(t, "pack", "freeze", pack)
	server.stop()

	again := filepath.Join(t.TempDir(), "again")
	toolsandbox(t, "run", "--replay", out, "--out", again)
	equalRuns(t, out, again)
	toolsandbox(t, "pack", "validate", pack)
	if err := os.Remove(filepath.Join(pack, "tools", "desk.json")); err != nil {
		t.Fatal(err)
	}
	mustContain(t, "load without the server", refused(t, "pack", "validate", pack),
		"pack.yaml:3:5: tools: tool server is unavailable: desk at grpc://", "start it, or keep its list of tools in the pack with toolsandbox pack freeze")
}
