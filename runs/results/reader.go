package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// Reader reads the files of a run and checks that they are as the run wrote them.
type Reader struct {
	dir string
	// run is nil for a run of the original, of which nothing can be checked.
	run     *Run
	digests map[string]string // by path below dir
	edited  func(path string) error
	tables  *tableReader // nil unless they are the only results
	memory  *memory      // nil unless there are no files
}

// memory is rollouts of another tool.
type memory struct {
	summary  *resultfile.Summary
	messages map[string][]*worldv1.Message
}

// ErrNoWorld means that a rollout of another tool has messages, but no world and no milestones.
var ErrNoWorld = errors.New("a rollout of another tool has no world and no milestones")

// NewReader returns a Reader of rollouts of another tool, whose messages are in memory, by their
// names. name is the path of their file.
func NewReader(name string, run *Run, summary *resultfile.Summary, messages map[string][]*worldv1.Message) *Reader {
	return &Reader{dir: name, run: run, memory: &memory{summary, messages}}
}

// HasWorld reports whether trajectories have tables, which those of other tools lack.
func (r *Reader) HasWorld() bool { return r.memory == nil }

// Open returns a Reader of the run in a directory. edited accepts a file that is not as the run
// wrote it, by its path; without it such a file is ErrEdited. An invalid RunFile is ErrDamaged. The
// end of ctx ends the reading of tables.
func Open(ctx context.Context, dir string, edited func(path string) error) (*Reader, error) {
	run, err := ReadRunFile(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Reader{dir: dir}, nil
	}
	if err != nil {
		return nil, err
	}
	r := &Reader{dir: dir, run: run, edited: edited, digests: maps.Clone(run.Files)}
	if run.HasOnlyTables() {
		if err := r.openRollouts(ctx); err != nil {
			return nil, err
		}
		return r, nil
	}
	if r.digests == nil {
		r.digests = make(map[string]string, len(run.Rollouts))
	}
	for _, rollout := range run.Rollouts {
		r.digests[contextPath(rollout.Name)] = rollout.ContextSHA256
	}
	return r, nil
}

// openRollouts opens the tables, whose rollouts become those of the run.
func (r *Reader) openRollouts(ctx context.Context) (err error) {
	if r.tables, err = r.openTables(ctx); err == nil {
		r.run.SetRollouts(r.tables.rollouts)
	}
	return err
}

// Run returns the content of RunFile, nil for a run of the original.
func (r *Reader) Run() *Run { return r.run }

// Summary reads the summary. It ignores unknown fields. The error wraps fs.ErrNotExist if the run
// has not written it, and ErrDamaged if it is invalid, not that of the run, or lost.
func (r *Reader) Summary() (*resultfile.Summary, error) {
	if r.memory != nil {
		return r.memory.summary, nil
	}
	if r.tables != nil {
		return r.tables.summary(r.run)
	}
	summary, err := readFile(r, SummaryFile, resultfile.ParseSummary)
	if err != nil || r.run == nil {
		return summary, err
	}
	return summary, r.run.check(r.dir, summary)
}

// Trajectory reads the trajectory of a rollout with the tables of schema. Numbers outside JSON were
// written as null and stay null. The error wraps fs.ErrNotExist if the run wrote none, ErrName for
// an invalid name, and ErrDamaged for a file that is invalid, not that of the run, or lost.
func (r *Reader) Trajectory(name string, schema *world.Schema) (*resultfile.Trajectory, error) {
	if !isName(name) {
		return nil, fmt.Errorf("read trajectory %q: %w", name, ErrName)
	}
	if r.memory != nil {
		return nil, fmt.Errorf("read trajectory %q: %w", name, ErrNoWorld)
	}
	if r.tables != nil {
		return r.tables.trajectory(name, schema)
	}
	return readFile(r, contextPath(name), func(data []byte) (*resultfile.Trajectory, error) {
		return resultfile.ParseContext(data, schema)
	})
}

// Messages reads the messages of a rollout, with the errors of Trajectory.
func (r *Reader) Messages(name string) ([]*worldv1.Message, error) {
	if !isName(name) {
		return nil, fmt.Errorf("read messages %q: %w", name, ErrName)
	}
	if r.memory != nil {
		messages, ok := r.memory.messages[name]
		if !ok {
			return nil, fmt.Errorf("read messages %q: %w", name, fs.ErrNotExist)
		}
		return messages, nil
	}
	if r.tables != nil {
		return r.tables.messages(name)
	}
	messages, err := readFile(r, contextPath(name), func(data []byte) (*[]*worldv1.Message, error) {
		messages, err := resultfile.ParseMessages(data)
		return &messages, err
	})
	if err != nil {
		return nil, err
	}
	return *messages, nil
}

// ReadSummary reads the summary of the run in a directory, see Reader.Summary.
func ReadSummary(dir string) (*resultfile.Summary, error) {
	r, err := Open(context.Background(), dir, nil)
	if err != nil {
		return nil, err
	}
	return r.Summary()
}

// ReadRun reads the record of the run in a directory, with all its rollouts. The error wraps
// fs.ErrNotExist if there is none and ErrDamaged if it is invalid.
func ReadRun(dir string) (*Run, error) {
	run, err := ReadRunFile(dir)
	if err != nil || !run.HasOnlyTables() {
		return run, err
	}
	r := &Reader{dir: dir, run: run, digests: run.Files}
	if err := r.openRollouts(context.Background()); err != nil {
		return nil, err
	}
	return run, nil
}

// ReadRunFile reads RunFile alone, which lacks the rollouts that tables have, with the errors of
// ReadRun. A damaged one is ErrRecord.
func ReadRunFile(dir string) (*Run, error) {
	data, version, err := storage.ReadVersion(storage.Join(dir, RunFile))
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	run := &Run{Version: version}
	err = json.Unmarshal(data, run)
	if err == nil && (run.SweepID == "" || run.SpecDigest == "") {
		err = errors.New("no sweep_id or spec_digest")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", damagedError(dir, RunFile, err), ErrRecord)
	}
	return run, nil
}

// contextPath returns the path of a rollout's context below the run's directory.
func contextPath(name string) string { return storage.Join(TrajectoriesDirectory, name, contextFile) }

// errMissing is the damage of a file that the run wrote. It is not fs.ErrNotExist, which means that
// there never was one.
var errMissing = errors.New("file does not exist")

// readFile reads a file of a run by its path below the run's directory.
func readFile[T any](r *Reader, name string, parse func([]byte) (*T, error)) (*T, error) {
	data, err := storage.ReadFile(storage.Join(r.dir, name))
	if errors.Is(err, fs.ErrNotExist) && r.digests[name] != "" { // the run wrote it
		return nil, damagedError(r.dir, name, errMissing)
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	if err := r.verify(name, digestOf(data)); err != nil {
		return nil, err
	}
	content, err := parse(data)
	if err != nil {
		return nil, damagedError(r.dir, name, err)
	}
	return content, nil
}

func (r *Reader) verify(name, got string) error {
	switch want := r.digests[name]; {
	case r.run == nil || got == want:
		return nil
	case r.edited != nil:
		return r.edited(storage.Join(r.dir, name))
	case want == "":
		return damagedError(r.dir, name, fmt.Errorf("%w: %s has no SHA-256 of it", ErrEdited, RunFile))
	default:
		return editedError(r.dir, name, got, RunFile, want)
	}
}

// check reports a summary whose rollouts are not those of the run. dir is the directory of both.
func (r *Run) check(dir string, summary *resultfile.Summary) error {
	if len(summary.Scenarios) != len(r.Rollouts) {
		return damagedError(dir, SummaryFile, fmt.Errorf("it has %d rollouts, %s has %d", len(summary.Scenarios), RunFile, len(r.Rollouts)))
	}
	for i, rollout := range r.Rollouts {
		switch entry := summary.Scenarios[i]; {
		case entry.Name != rollout.Name:
			return damagedError(dir, SummaryFile, fmt.Errorf("its entry %d is %q, that of %s is %q", i, entry.Name, RunFile, rollout.Name))
		case rollout.Scored && rollout.Damage == "" && !entry.Scored():
			return damagedError(dir, SummaryFile, fmt.Errorf("%s has no similarity, but a score in %s", rollout.Name, RunFile))
		}
	}
	return nil
}
