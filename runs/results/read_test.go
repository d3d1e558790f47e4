package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// storeSummary writes the summary of a run that has no RunFile.
func storeSummary(dir string, summary *resultfile.Summary) error {
	data, err := output.JSON(summary, "    ")
	return errors.Join(err, os.MkdirAll(dir, 0o755), writeSummary(dir, data))
}

// storeRun writes all files of a run with one rollout.
func storeRun(t *testing.T, dir string, r Rollout) *Run {
	t.Helper()
	var err error
	if r.Digest, err = WriteTrajectory(dir, r); err != nil {
		t.Fatal(err)
	}
	run := &Run{SweepID: "s", SpecDigest: "d"}
	run.End(time.Unix(0, 0), 1, []Rollout{r})
	summary, err := SummaryFiles([]Rollout{r})
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteResults(dir, run, summary, nil); err != nil {
		t.Fatal(err)
	}
	return run
}

func TestReadTrajectory(t *testing.T) {
	dir, r := t.TempDir(), sampleRollout()
	r.Tables = append(r.Tables, &worldv1.Table{Name: world.Messaging, Index: 3})
	storeRun(t, dir, r)
	reader, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.Trajectory(r.Directory, world.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	want := &resultfile.Trajectory{Messages: r.Messages, Tables: []*worldv1.Table{r.Tables[1], r.Tables[0], r.Tables[2]}}
	if diff := gocmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestChangedFiles changes a space of each file that commands read, and then removes its digest. A
// reader refuses the file, unless it accepts changes.
func TestChangedFiles(t *testing.T) {
	dir, r := t.TempDir(), sampleRollout()
	run := storeRun(t, dir, r)
	for name, readWith := range map[string]func(*Reader) error{
		SummaryFile:              func(reader *Reader) error { _, err := reader.Summary(); return err },
		contextPath(r.Directory): func(reader *Reader) error { _, err := reader.Trajectory(r.Directory, world.Builtin()); return err },
	} {
		path, before := filepath.Join(dir, name), read(t, dir, name)
		check := func(what string) {
			t.Helper()
			accepted := ""
			for _, test := range []struct {
				edited func(string) error
				want   error
			}{{nil, ErrDamaged}, {func(path string) error { accepted = path; return nil }, nil}} {
				reader, err := Open(t.Context(), dir, test.edited)
				if err != nil {
					t.Fatal(err)
				}
				if err := readWith(reader); !errors.Is(err, test.want) {
					t.Errorf("%s, %s: got %v, want %v", name, what, err, test.want)
				}
			}
			if accepted != path {
				t.Errorf("%s, %s: accepted %q, want %q", name, what, accepted, path)
			}
		}
		if err := WriteFile(path, []byte(before+" ")); err != nil {
			t.Fatal(err)
		}
		check("with a space more")
		without := *run
		without.Files, without.Rollouts = nil, []Outcome{run.Rollouts[0]}
		without.Rollouts[0].ContextSHA256 = ""
		if err := errors.Join(WriteFile(path, []byte(before)), WriteRun(dir, &without)); err != nil {
			t.Fatal(err)
		}
		check("without a digest")
		if err := WriteRun(dir, run); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLostFiles removes files that the run wrote. That is damage: who leaves out what a run never
// had would leave out these without a word.
func TestLostFiles(t *testing.T) {
	dir, r := t.TempDir(), sampleRollout()
	storeRun(t, dir, r)
	if err := errors.Join(os.Remove(filepath.Join(dir, SummaryFile)), os.RemoveAll(filepath.Join(dir, TrajectoriesDirectory))); err != nil {
		t.Fatal(err)
	}
	reader, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, noSummary := reader.Summary()
	_, noTrajectory := reader.Trajectory(r.Directory, world.Builtin())
	_, noMessages := reader.Messages(r.Directory)
	for _, err := range []error{noSummary, noTrajectory, noMessages} {
		if !errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want %v alone", err, ErrDamaged)
		}
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
		if _, err := (&Reader{dir: dir}).Trajectory(name, world.Builtin()); !errors.Is(err, want) {
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
		{`{"_dbs": {"CONTACT": [{"sandbox_message_index": 0, "name": "Ada", "nickname": "A"}]}}`, `CONTACT: row 0: not the tables of the scenario's pack, which may have changed since: it has no column "nickname"`},
		{`{"_dbs": {"LOAN": []}}`, `not the tables of the scenario's pack, which may have changed since: it has no table "LOAN"`},
		{`{"_dbs": {"REMINDER": [{"sandbox_message_index": 0, "latitude": "x"}]}}`, "REMINDER: row 0: latitude"},
	} {
		writeContext(t, dir, "x", test.content)
		if got, err := (&Reader{dir: dir}).Trajectory("x", world.Builtin()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, %v, want an error with %q", test.content, got, err, test.want)
		} else if errors.Is(err, ErrDamaged) == errors.Is(err, resultfile.ErrSchema) {
			t.Errorf("%s: got %v, want it damaged or of another schema", test.content, err)
		}
	}
}

func FuzzReadTrajectory(f *testing.F) {
	f.Add(`{"_dbs": {"SANDBOX": [{"sandbox_message_index": 0, "sender": "USER", "recipient": "AGENT", "tool_trace": ["{}"]}]}}`)
	f.Add(`{"_dbs": {"CONTACT": [{"sandbox_message_index": 0, "name": null}, {"sandbox_message_index": 2, "is_self": true}]}}`)
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		writeContext(t, dir, "x", content)
		if got, err := (&Reader{dir: dir}).Trajectory("x", world.Builtin()); (got == nil) == (err == nil) {
			t.Errorf("%q: got %v and %v, want one of them", content, got, err)
		}
	})
}
