package results

import (
	"errors"
	"slices"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/s3test"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// inEachStorage runs a test with the path of a directory and with that of a bucket.
func inEachStorage(t *testing.T, test func(t *testing.T, dir string)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("bucket", func(t *testing.T) {
		s3test.Start(t)
		test(t, "s3://bucket/runs/one")
	})
}

// TestBucketHasOneWriter has two clients write a run in a bucket. One that has been overtaken
// publishes no part and replaces no record.
func TestBucketHasOneWriter(t *testing.T) {
	s3test.Start(t)
	const dir = "s3://bucket/run"
	first := &Run{SweepID: "s", SpecDigest: "d", Results: []string{FormatParquet}, Sessions: []Session{{}}}
	if err := WriteRun(dir, first); err != nil {
		t.Fatal(err)
	}
	if err := WriteRun(dir, &Run{SweepID: "s", SpecDigest: "d", Arguments: []string{"other"}}); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("a second run: got %v, want %v", err, storage.ErrChanged)
	}
	old, _, _ := openTestTables(t, dir)
	old.Fence = func() error { return first.Fence(dir) }
	addAll(t, old, true, 0)
	resumed, err := ReadRunFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	resumed.Arguments = []string{"resumed"}
	if err := WriteRun(dir, resumed); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Close(); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("a part of the first client: got %v, want %v", err, storage.ErrChanged)
	}
	if err := WriteRun(dir, first); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("the record of the first client: got %v, want %v", err, storage.ErrChanged)
	}
	tables, played, _ := openTestTables(t, dir)
	tables.Fence = func() error { return resumed.Fence(dir) }
	addAll(t, tables, true, 0, 1)
	if _, err := tables.Close(); err != nil || len(played) != 0 {
		t.Errorf("the second client: got %d earlier rollouts and %v, want none", len(played), err)
	}
}

// TestBucketLocate finds the run of paths in a bucket.
func TestBucketLocate(t *testing.T) {
	s3test.Start(t)
	run := &Run{SweepID: "s", SpecDigest: "d"}
	if err := WriteRun("s3://bucket/e/a", run); err != nil {
		t.Fatal(err)
	}
	if err := WriteExperiment("s3://bucket/e", &Experiment{Runs: []ExperimentRun{{Directory: "a"}}}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"s3://bucket/e/a/":               {"s3://bucket/e/a", ""},
		"s3://bucket/e/a/run.json":       {"s3://bucket/e/a", ""},
		"s3://bucket/e/a/trajectories/x": {"s3://bucket/e/a", "x"},
		"s3://bucket/e/a/other":          {"s3://bucket/e/a/other", ""},
		"s3://bucket/none":               {"s3://bucket/none", ""},
	} {
		if found, rollout := Locate(path); !slices.Equal([]string{found, rollout}, want) {
			t.Errorf("%s: got %s and %q, want %q", path, found, rollout, want)
		}
	}
	if dir, ok := ExperimentOf("s3://bucket/e/a"); !ok || dir != "s3://bucket/e" {
		t.Errorf("experiment: got %s, %t", dir, ok)
	}
}

// TestBucketDamagedPart sets a part aside that another program has cut.
func TestBucketDamagedPart(t *testing.T) {
	s3test.Start(t)
	const dir = "s3://bucket/run"
	tables, _, _ := openTestTables(t, dir)
	addAll(t, tables, true, 0, 1)
	closeRun(t, dir, tables, []Rollout{tableRollout(0, true), tableRollout(1, true)})
	path := partPath(dir, rolloutsTable, 0)
	if err := storage.WriteFile(path, []byte("PAR1"), true); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("reader: got %v, want %v", err, ErrDamaged)
	}
	if _, played, damaged := openTestTables(t, dir); len(played) != 0 || len(damaged) != 1 || !exists(t, path+".damaged") || exists(t, path) {
		t.Errorf("writer: got %d rollouts and %v, want the part set aside", len(played), damaged)
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	found, err := storage.Exists(path)
	if err != nil {
		t.Error(err)
	}
	return found
}
