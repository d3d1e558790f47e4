package results

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// tableRollout returns a rollout of a plan; unscored ones ended in a failure of the infrastructure.
func tableRollout(n int, scored bool) Rollout {
	r := sampleRollout()
	r.Directory = fmt.Sprintf("save_someone_3_distraction_tools_trial_%d", n)
	r.Scenario.Setup.Name = "save_someone_3_distraction_tools"
	r.Result.Rollout = &busv1.Rollout{
		Id: fmt.Sprintf("s.%d", n), Seed: 5, Scenario: r.Scenario.GetSetup().GetName(), Trial: int32(n),
		Agent: &agentgwv1.Player{Name: "a", Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{Address: "secret"}}}, User: &agentgwv1.Player{Name: "u"},
	}
	r.Result.Similarity, r.Result.MilestoneCount, r.Result.MessageCount = 0.5, 1, int32(len(r.Messages))
	r.Result.Causes = []*busv1.Cause{{Kind: busv1.CauseKind_CAUSE_KIND_MINEFIELD, Role: worldv1.Role_ROLE_AGENT, Count: 2, Index: 6, Detail: "d"}}
	r.Usage = []*busv1.TurnUsage{{Role: worldv1.Role_ROLE_AGENT, Index: 4, Usage: &agentgwv1.Usage{InputTokens: 7, OutputTokens: 3}}}
	r.Work = []Work{{time.UnixMilli(1000).UTC(), time.UnixMilli(2500).UTC()}}
	r.Calls, r.Confidence = CountCalls(r.Messages), new(0.75)
	if !scored {
		r.Result.End = &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE, Detail: "gone"}
	}
	r.Digest, _ = ContextDigest(r)
	return r
}

// openTestTables opens the tables of a run and returns what they hold by name.
func openTestTables(t *testing.T, dir string) (*Tables, map[string]Rollout, []error) {
	t.Helper()
	tables, played, damaged, err := OpenTables(dir, "d", nil)
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]Rollout)
	for _, r := range played {
		if _, twice := byName[r.Name()]; twice {
			t.Errorf("%s is there twice", r.Name())
		}
		byName[r.Name()] = r
	}
	return tables, byName, damaged
}

func addAll(t *testing.T, tables *Tables, scored bool, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := tables.Add(tableRollout(n, scored), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func numbersTo(from, to int) []int {
	var all []int
	for n := from; n < to; n++ {
		all = append(all, n)
	}
	return all
}

// closeRun ends a run whose results are tables.
func closeRun(t *testing.T, dir string, tables *Tables, rollouts []Rollout) *Run {
	t.Helper()
	digests, err := tables.Close()
	if err != nil {
		t.Fatal(err)
	}
	run := &Run{SweepID: "s", SpecDigest: "d", Results: []string{FormatParquet}, Sessions: []Session{{}}}
	run.End(time.Unix(0, 0), len(rollouts), rollouts)
	if err := WriteResults(dir, run, nil, digests); err != nil {
		t.Fatal(err)
	}
	return run
}

// TestTables reads a run from tables as it would be read from files.
func TestTables(t *testing.T) {
	inEachStorage(t, testTables)
}

func testTables(t *testing.T, dir string) {
	t.Helper()
	tables, _, _ := openTestTables(t, dir)
	rollouts := []Rollout{tableRollout(0, true), tableRollout(1, true), tableRollout(2, false)}
	rollouts[1].Tables = append(rollouts[1].Tables, &worldv1.Table{Name: world.Messaging, Index: 3})
	for _, n := range []int{2, 0, 1} {
		if err := tables.Add(rollouts[n], nil); err != nil {
			t.Fatal(err)
		}
	}
	run := closeRun(t, dir, tables, rollouts)
	reader, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Rollouts) > 0 {
		t.Errorf("rollouts of the run: got %d, want none, since the tables have them", len(run.Rollouts))
	}
	run.SetRollouts(rollouts) // as the reader does
	if diff := gocmp.Diff(run, reader.Run(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	summary, err := reader.Summary()
	if diff := gocmp.Diff(Summarize(rollouts), summary); diff != "" || err != nil {
		t.Errorf("summary (-want +got):\n%s%v", diff, err)
	}
	for _, r := range rollouts {
		got, err := reader.Trajectory(r.Name(), world.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		want := &resultfile.Trajectory{Messages: r.Messages, Tables: append([]*worldv1.Table{r.Tables[1], r.Tables[0]}, r.Tables[2:]...)}
		if diff := gocmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.Name(), diff)
		}
		if messages, err := reader.Messages(r.Name()); len(messages) != len(r.Messages) || err != nil {
			t.Errorf("messages of %s: got %d and %v, want %d", r.Name(), len(messages), err, len(r.Messages))
		}
	}
	if _, err := reader.Trajectory("other", world.Builtin()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a rollout that was not played: got %v, want %v", err, fs.ErrNotExist)
	}
	if raw := read(t, dir, RunFile); strings.Contains(raw, "save_someone") {
		t.Errorf("%s lists rollouts: %s", RunFile, raw)
	}
}

// TestRowsOfRollout compares the rows of a rollout.
func TestRowsOfRollout(t *testing.T) {
	lines, err := rowsOf(tableRollout(3, true), nil)
	if err != nil {
		t.Fatal(err)
	}
	k := key{
		Rollout: "save_someone_3_distraction_tools_trial_3", Scenario: "save_someone_3_distraction_tools", Base: "save_someone", Variant: "3_distraction_tools", Trial: 3,
		Agent: "a", User: "u",
	}
	if lines.rollout.key != k {
		t.Errorf("key: got %+v, want %+v", lines.rollout.key, k)
	}
	answer := func(n int32) *int32 { return &n }
	want := []callRow{
		{key: k, Index: 4, Caller: "AGENT", Tool: proto.String("add_contact"), Arguments: proto.String(`{"name": "Jürgen <Ü>", "phone_number": "+493023125001"}`), AnswerIndex: answer(6), Answer: proto.String("'p-1'")},
		{key: k, Index: 5, Caller: "AGENT", Tool: proto.String("remove_contact"), Arguments: proto.String(`{"person_id": "it's", "x": [1, 2.5, null, true]}`), AnswerIndex: answer(7), Answer: proto.String("TypeError: no"), Exception: proto.String("TypeError: no")},
	}
	if diff := gocmp.Diff(want, lines.calls, gocmp.AllowUnexported(callRow{})); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if n := len(lines.versions); n != 3 || *lines.versions[2].Row != 1 || !strings.Contains(*lines.versions[2].Values, `"name": "Jürgen <Ü>"`) {
		t.Errorf("versions: got %+v, want one row at 0, two at 6", lines.versions)
	}
	if stored := string(lines.rollout.Result); strings.Contains(stored, "secret") {
		t.Errorf("the stored result has the address of a player")
	}
}

// TestRowsOfExtension clusters a variant of a scenario that extends another one by its seed.
func TestRowsOfExtension(t *testing.T) {
	r := tableRollout(3, true)
	r.Scenario.Lineage = &scenariov1.Lineage{Extends: "save_anyone", Seed: "save_her", Kind: scenariov1.Kind_KIND_DERIVED}
	lines, err := rowsOf(r, nil)
	if k := lines.rollout; err != nil || k.Base != "save_her" || k.Variant != "3_distraction_tools" || k.Kind != "derived" || lines.calls[0].Base != "save_her" {
		t.Errorf("got %+v and %v, want a derived scenario in the cluster of its seed", k.key, err)
	}
	run := &Run{Lineages: LineagesOf([]*scenariov1.Scenario{r.Scenario})}
	if diff := gocmp.Diff(map[string]Lineage{"save_someone_3_distraction_tools": {"save_anyone", "save_her", "derived"}}, run.Lineages); diff != "" {
		t.Errorf("lineages (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"save_someone_3_distraction_tools": "save_her", "save_someone": "save_someone", "save_her_all_tools": "save_her", "other": "other"} {
		if got := run.Base(name); got != want {
			t.Errorf("base of %s: got %s, want %s", name, got, want)
		}
	}
}

// TestTablesResumed adds rollouts in several sessions, of which some are killed, and plays unscored
// ones again. No rollout is doubled or lost.
func TestTablesResumed(t *testing.T) {
	inEachStorage(t, testTablesResumed)
}

func testTablesResumed(t *testing.T, dir string) {
	t.Helper()
	tables, _, _ := openTestTables(t, dir)
	addAll(t, tables, true, numbersTo(0, 400)...) // one part, and 144 rollouts that the kill leaves unreadable
	tables, played, damaged := openTestTables(t, dir)
	if len(played) != leastPart || len(damaged) != 0 {
		t.Fatalf("after a kill: got %d rollouts and %v, want %d", len(played), damaged, leastPart)
	}
	addAll(t, tables, true, numbersTo(leastPart, 390)...)
	addAll(t, tables, false, numbersTo(390, 400)...)
	if _, err := tables.Close(); err != nil {
		t.Fatal(err)
	}
	tables, played, _ = openTestTables(t, dir)
	if unscored := played[tableRollout(395, false).Name()]; len(played) != 400 || unscored.Settled() {
		t.Fatalf("after an end: got %d rollouts, of which the 395th is %v, want 400 with an unscored one", len(played), unscored.Result)
	}
	addAll(t, tables, true, numbersTo(390, 395)...)
	if _, err := tables.Close(); err != nil {
		t.Fatal(err)
	}
	_, played, _ = openTestTables(t, dir)
	first := played[tableRollout(0, true).Name()].Result.GetRollout().GetAgent()
	for n := range 400 {
		r, ok := played[tableRollout(n, true).Name()]
		if !ok || r.Settled() != (n < 395) {
			t.Errorf("rollout %d: got %v, want one with a score below 395", n, r.Result)
		}
		if r.Result.GetRollout().GetAgent() != first {
			t.Errorf("rollout %d: its player is another one in memory than that of rollout 0", n)
		}
	}
	if files, err := storage.ReadDir(storage.Join(dir, TablesDirectory, rolloutsTable)); err != nil || len(files) != 2 {
		t.Errorf("files: got %v and %v, want two parts", files, err)
	}
	checkRows(t, dir, 400)
}

// checkRows checks that each table has each of its rows once.
func checkRows(t *testing.T, dir string, rollouts int) {
	t.Helper()
	for table, each := range map[string]int{rolloutsTable: 1, messagesTable: 9, callsTable: 2, versionsTable: 3, causesTable: 1} {
		numbers, _, err := partNumbers(dir, table)
		if err != nil {
			t.Fatal(err)
		}
		count := make(map[string]int)
		for _, number := range numbers {
			if err := readPart(dir, table, number, func(lines []key) error {
				for _, line := range lines {
					count[line.Rollout]++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if len(count) != rollouts {
			t.Errorf("%s: got rows of %d rollouts, want %d", table, len(count), rollouts)
		}
		for name, n := range count {
			if n != each {
				t.Errorf("%s: got %d rows of %s, want %d", table, n, name, each)
			}
		}
	}
}

// TestTablesDamaged opens tables with files that are not as they were written.
func TestTablesDamaged(t *testing.T) {
	rollouts := make([]Rollout, 300)
	for i := range rollouts {
		rollouts[i] = tableRollout(i, true)
	}
	for name, test := range map[string]struct {
		damage func(t *testing.T, dir string)
		writer error // of OpenTables
		left   int   // rollouts that a resumed run keeps
		reader error
	}{
		"foreign file": {func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, filepath.Join(dir, TablesDirectory, rolloutsTable, "notes.parquet"), func([]byte) []byte { return []byte("no") })
		}, nil, 300, nil},
		"truncated rollouts":  {func(t *testing.T, dir string) { t.Helper(); rewrite(t, partPath(dir, rolloutsTable, 1), half) }, nil, 256, ErrDamaged},
		"truncated messages":  {func(t *testing.T, dir string) { t.Helper(); rewrite(t, partPath(dir, messagesTable, 1), half) }, nil, 256, ErrDamaged},
		"changed messages":    {func(t *testing.T, dir string) { t.Helper(); rewrite(t, partPath(dir, messagesTable, 1), flip) }, nil, 256, ErrEdited},
		"part of another run": {replacePart, nil, 256, ErrEdited},
		"missing part": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(partPath(dir, rolloutsTable, 1)); err != nil {
				t.Fatal(err)
			}
		}, nil, 256, ErrDamaged},
		"no Parquet": {func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, partPath(dir, rolloutsTable, 0), func([]byte) []byte { return []byte("PAR1 no PAR1") })
		}, nil, 44, ErrDamaged},
		"other run": {func(t *testing.T, dir string) {
			t.Helper()
			if other, err := createPart(dir, "other", 7); err != nil {
				t.Fatal(err)
			} else if _, err := other.commit(nil); err != nil {
				t.Fatal(err)
			}
		}, ErrTables, 0, ErrTables},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tables, _, _ := openTestTables(t, dir)
			addAll(t, tables, true, numbersTo(0, 300)...)
			run := closeRun(t, dir, tables, rollouts)
			test.damage(t, dir)
			reader, err := Open(t.Context(), dir, nil)
			if err == nil {
				_, err = reader.Trajectory(rollouts[299].Name(), world.Builtin())
			}
			if !errors.Is(err, test.reader) {
				t.Errorf("reader: got %v, want %v", err, test.reader)
			}
			_, played, _, err := OpenTables(dir, "d", run.Files)
			if !errors.Is(err, test.writer) || len(played) != test.left {
				t.Errorf("writer: got %d rollouts and %v, want %d and %v", len(played), err, test.left, test.writer)
			}
		})
	}
}

func half(data []byte) []byte { return data[:len(data)/2] }

func flip(data []byte) []byte {
	data[len(data)/2] ^= 1
	return data
}

// replacePart replaces the last part by that of another run with the same specification.
func replacePart(t *testing.T, dir string) {
	t.Helper()
	other := t.TempDir()
	tables, _, _ := openTestTables(t, other)
	addAll(t, tables, true, numbersTo(1, 301)...)
	if _, err := tables.Close(); err != nil {
		t.Fatal(err)
	}
	for _, table := range TableNames() {
		rewrite(t, partPath(dir, table, 1), func([]byte) []byte { return []byte(read(t, other, partPath("", table, 1))) })
	}
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTablesReplaced opens tables of a writer that was killed before it removed a part that another
// one replaces. The reader does not count it, and the next writer removes it.
func TestTablesReplaced(t *testing.T) {
	dir := t.TempDir()
	tables, _, _ := openTestTables(t, dir)
	addAll(t, tables, true, numbersTo(0, 10)...)
	if _, err := tables.Close(); err != nil {
		t.Fatal(err)
	}
	saved := make(map[string][]byte)
	for _, table := range TableNames() {
		saved[table] = []byte(read(t, dir, partPath("", table, 0)))
	}
	tables, _, _ = openTestTables(t, dir)
	addAll(t, tables, true, numbersTo(10, 20)...)
	if _, err := tables.Close(); err != nil {
		t.Fatal(err)
	}
	checkRows(t, dir, 20)
	for table, data := range saved {
		rewrite(t, partPath(dir, table, 0), func([]byte) []byte { return data })
	}
	if parts, _, err := scanParts(dir, "d"); len(parts) != 1 || parts[0].rows != 20 || err != nil {
		t.Errorf("reader: got %+v and %v, want the second part", parts, err)
	}
	openTestTables(t, dir)
	checkRows(t, dir, 20)
}

// TestTablesCannotBeWritten fills no part because a file cannot be made.
func TestTablesCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	tables, _, _ := openTestTables(t, dir)
	rewrite(t, filepath.Join(dir, TablesDirectory), func([]byte) []byte { return nil })
	if err := tables.Add(tableRollout(0, true), nil); err == nil {
		t.Error("got no error")
	}
	if _, err := tables.Close(); err == nil {
		t.Error("Close: got no error")
	}
}

// FuzzTables reads a part with changed bytes. It is valid or damaged.
func FuzzTables(f *testing.F) {
	dir := f.TempDir()
	tables, _, _, err := OpenTables(dir, "d", nil)
	if err == nil {
		err = errors.Join(tables.Add(tableRollout(0, true), nil), tables.Add(tableRollout(1, true), nil))
	}
	if err == nil {
		_, err = tables.Close()
	}
	if err != nil {
		f.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, table := range TableNames() {
		if files[table], err = os.ReadFile(partPath(dir, table, 0)); err != nil {
			f.Fatal(err)
		}
	}
	for seed := range uint64(50) {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, seed uint64, changes uint8) {
		random, dir := rand.New(rand.NewPCG(seed, 0)), t.TempDir()
		for table, data := range files {
			path := partPath(dir, table, 0)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			rewrite(t, path, func([]byte) []byte {
				changed := append([]byte{}, data...)
				for range changes {
					changed[random.IntN(len(changed))] = byte(random.IntN(256))
				}
				return changed
			})
		}
		run := &Run{SweepID: "s", SpecDigest: "d", Results: []string{FormatParquet}}
		if err := WriteRun(dir, run); err != nil {
			t.Fatal(err)
		}
		reader, err := Open(t.Context(), dir, func(string) error { return nil })
		if err != nil {
			return
		}
		for _, r := range reader.Run().Rollouts {
			_, _ = reader.Trajectory(r.Name, world.Builtin())
		}
	})
}

// TestDocumentedColumns compares the columns with those in docs/results.md.
func TestDocumentedColumns(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "results.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Columns\n")
	sections := strings.Split(text, "\n### ")
	documented := func(section string) []string {
		var names []string
		for line := range strings.Lines(section) {
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			for name := range strings.SplitSeq(cell, ", ") {
				if strings.HasPrefix(line, "| `") {
					names = append(names, strings.Trim(name, "`"))
				}
			}
		}
		return names
	}
	types := map[string]reflect.Type{
		rolloutsTable: reflect.TypeFor[rolloutRow](), messagesTable: reflect.TypeFor[messageRow](), callsTable: reflect.TypeFor[callRow](),
		constraintsTable: reflect.TypeFor[constraintRow](), versionsTable: reflect.TypeFor[versionRow](), causesTable: reflect.TypeFor[causeRow](),
	}
	for _, section := range sections[1:] {
		table, _, _ := strings.Cut(section, "\n")
		var want []string
		for _, path := range parquet.SchemaOf(reflect.New(types[table]).Interface()).Columns() {
			want = append(want, path[0])
		}
		got := append(documented(sections[0]), documented(section)...)
		slices.Sort(got)
		slices.Sort(want)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-columns +docs/results.md):\n%s", table, diff)
		}
	}
	if len(sections) != len(types)+1 {
		t.Errorf("docs/results.md: got %d tables, want %d", len(sections)-1, len(types))
	}
}
