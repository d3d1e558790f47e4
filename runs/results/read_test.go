package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestReadTrajectory(t *testing.T) {
	dir, r := t.TempDir(), sampleRollout()
	r.Tables = append(r.Tables, &worldv1.Table{Name: world.Messaging, Index: 3})
	digest, err := WriteTrajectory(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTrajectory(dir, r.Directory, strings.Repeat("0", 64), world.Builtin()); !errors.Is(err, ErrDamaged) {
		t.Errorf("with another digest: got %v, want %v", err, ErrDamaged)
	}
	got, err := ReadTrajectory(dir, r.Directory, digest, world.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	want := &resultfile.Trajectory{Messages: r.Messages, Tables: []*worldv1.Table{r.Tables[1], r.Tables[0], r.Tables[2]}}
	if diff := gocmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// writeContext writes an execution_context.json below dir.
func writeContext(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, TrajectoriesDirectory, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, contextFile), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadTrajectoryErrors(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]error{"nobody": fs.ErrNotExist, "": ErrName, "..": ErrName, "a/b": ErrName, `a\b`: ErrName} {
		if _, err := ReadTrajectory(dir, name, "", world.Builtin()); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
	for _, test := range []struct{ content, want string }{
		{"", "unexpected end"},
		{`{"_dbs": {"SANDBOX": [{"sandbox_message_index": 1, "sender": "USER", "recipient": "AGENT"}]}}`, "SANDBOX: message 0 has index 1"},
		{`{"_dbs": {"SANDBOX": [{"sandbox_message_index": 0, "sender": "BOSS", "recipient": "AGENT"}]}}`, `unknown role "BOSS"`},
		{`{"_dbs": {"SANDBOX": [{"sandbox_message_index": 0, "sender": "USER", "recipient": "AGENT", "visible_to": [""]}]}}`, `unknown role ""`},
		{`{"_dbs": {"SANDBOX": [{"sandbox_message_index": 0, "sender": 1}]}}`, "message 0: sender: "},
		{`{"_dbs": {"SANDBOX": [{"sender": "USER"}]}}`, "sandbox_message_index"},
		{`{"_dbs": {"CONTACT": [{"sandbox_message_index": -1}]}}`, "CONTACT: row 0: sandbox_message_index"},
		{`{"_dbs": {"CONTACT": [{"sandbox_message_index": 0, "is_self": "yes"}]}}`, "CONTACT: row 0: is_self"},
		{`{"_dbs": {"REMINDER": [{"sandbox_message_index": 0, "latitude": "x"}]}}`, "REMINDER: row 0: latitude"},
	} {
		writeContext(t, dir, "x", test.content)
		if got, err := ReadTrajectory(dir, "x", "", world.Builtin()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, %v, want an error with %q", test.content, got, err, test.want)
		}
	}
}

func FuzzReadTrajectory(f *testing.F) {
	f.Add(`{"_dbs": {"SANDBOX": [{"sandbox_message_index": 0, "sender": "USER", "recipient": "AGENT", "tool_trace": ["{}"]}]}}`)
	f.Add(`{"_dbs": {"CONTACT": [{"sandbox_message_index": 0, "name": null}, {"sandbox_message_index": 2, "is_self": true}]}}`)
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		writeContext(t, dir, "x", content)
		if got, err := ReadTrajectory(dir, "x", "", world.Builtin()); (got == nil) == (err == nil) {
			t.Errorf("%q: got %v and %v, want one of them", content, got, err)
		}
	})
}
