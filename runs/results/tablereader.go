package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results/internal/part"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// tableReader reads the tables of a run. It keeps no file open.
type tableReader struct {
	reader   *Reader
	parts    []tablePart
	rollouts []Rollout // in the order of the plan, once the run has them
	places   map[string]place
	verified map[string]bool // files with the right digest, by path
}

// place is where the rows of a rollout are.
type place struct {
	part             tablePart
	messages, values span
}

// span is a range of the rows of a file.
type span struct{ from, count int64 }

// openTables reads where the rollouts are, until ctx ends.
func (r *Reader) openTables(ctx context.Context) (*tableReader, error) {
	t := &tableReader{reader: r, places: make(map[string]place), verified: make(map[string]bool)}
	parts, broken, err := scanParts(r.dir, r.run.SpecDigest)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(slices.Collect(maps.Values(broken))...); err != nil {
		return nil, err
	}
	if r.run.Ended != nil { // before, the digests are those of an earlier end
		if err := r.checkParts(ctx, parts); err != nil {
			return nil, err
		}
	}
	known := NewShared()
	for _, p := range parts {
		if err := t.load(ctx, p, known); err != nil {
			return nil, err
		}
	}
	t.parts = parts
	return t, nil
}

// checkParts checks that the parts are those that the run wrote.
func (r *Reader) checkParts(ctx context.Context, parts []tablePart) error {
	missing := make(map[string]bool)
	for name := range r.run.Files {
		if strings.HasPrefix(name, TablesDirectory+"/") {
			missing[name] = true
		}
	}
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read results: %w", err)
		}
		name := filepath.ToSlash(partPath("", rolloutsTable, p.number))
		digest, err := storage.Sum(storage.Join(r.dir, name))
		if err != nil {
			return fmt.Errorf("read results: %w", err)
		}
		if err := r.verify(name, digest); err != nil {
			return err
		}
		delete(missing, name)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		return damagedError(r.dir, name, errMissing)
	}
	return nil
}

// load reads the rollouts of a part and where their rows are.
func (t *tableReader) load(ctx context.Context, p tablePart, known *Shared) error {
	var messages, versions int64
	err := readPart(t.reader.dir, rolloutsTable, p.number, func(lines []rolloutRow) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, line := range lines {
			r, err := line.played(known)
			if err != nil {
				return err
			}
			t.rollouts = append(t.rollouts, r)
			t.places[line.Rollout] = place{p, span{messages, int64(line.MessageRows)}, span{versions, int64(line.VersionRows)}}
			messages, versions = messages+int64(line.MessageRows), versions+int64(line.VersionRows)
		}
		return nil
	})
	if ctx.Err() != nil {
		return fmt.Errorf("read results: %w", ctx.Err())
	}
	if err != nil {
		return damagedError(t.reader.dir, partPath("", rolloutsTable, p.number), err)
	}
	return nil
}

// summary returns the summary of a run that has ended, like Reader.Summary.
func (t *tableReader) summary(run *Run) (*resultfile.Summary, error) {
	if run.Totals == nil {
		return nil, fmt.Errorf("read results: the run has not ended: %w", fs.ErrNotExist)
	}
	return Summarize(t.rollouts), nil
}

// trajectory reads the messages and the tables of a rollout.
func (t *tableReader) trajectory(name string, schema *world.Schema) (*resultfile.Trajectory, error) {
	messages, err := t.messages(name)
	if err != nil {
		return nil, err
	}
	trajectory := &resultfile.Trajectory{Messages: messages}
	at := t.places[name]
	err = readSpan(t, versionsTable, name, at.part, at.values, func(line versionRow) error {
		table, ok := schema.Table(line.Table)
		if !ok {
			return fmt.Errorf("%w: it has no table %q", resultfile.ErrSchema, line.Table)
		}
		last := len(trajectory.Tables) - 1
		if last < 0 || trajectory.Tables[last].GetName() != line.Table || trajectory.Tables[last].GetIndex() != line.Index {
			trajectory.Tables, last = append(trajectory.Tables, &worldv1.Table{Name: line.Table, Index: line.Index}), last+1
		}
		if line.Values == nil {
			return nil
		}
		row, err := resultfile.ParseRow(table, *line.Values)
		if err != nil {
			return fmt.Errorf("%s, version %d: %w", line.Table, line.Index, err)
		}
		trajectory.Tables[last].Rows = append(trajectory.Tables[last].GetRows(), row)
		return nil
	})
	return trajectory, err
}

// messages reads the messages of a rollout.
func (t *tableReader) messages(name string) ([]*worldv1.Message, error) {
	at, ok := t.places[name]
	if !ok {
		return nil, fmt.Errorf("read results: rollout %s: %w", name, fs.ErrNotExist)
	}
	var messages []*worldv1.Message
	err := readSpan(t, messagesTable, name, at.part, at.messages, func(line messageRow) error {
		m, err := line.message()
		if err == nil && int(m.GetIndex()) != len(messages) {
			err = fmt.Errorf("message %d has index %d", len(messages), m.GetIndex())
		}
		messages = append(messages, m)
		return err
	})
	return messages, err
}

// open opens a file, after it has checked its digest once.
func (t *tableReader) open(table string, p tablePart) (*part.File, error) {
	name := partPath("", table, p.number)
	path := storage.Join(t.reader.dir, name)
	if !t.verified[name] && table != rolloutsTable {
		digest, err := storage.Sum(path)
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		if want := p.files[table].SHA256; digest != want {
			if t.reader.edited == nil {
				return nil, editedError(t.reader.dir, name, digest, "the table "+rolloutsTable, want)
			}
			if err := t.reader.edited(path); err != nil {
				return nil, err
			}
		}
		t.verified[name] = true
	}
	file, err := part.Open(path)
	if err != nil {
		return nil, damagedError(t.reader.dir, name, err)
	}
	return file, nil
}

// readSpan reads the rows of a rollout from a file.
func readSpan[T keyed](t *tableReader, table, rollout string, p tablePart, rows span, visit func(T) error) error {
	file, err := t.open(table, p)
	if err != nil {
		return err
	}
	err = part.Read(file, rows.from, rows.count, func(lines []T) error {
		for _, line := range lines {
			if line.rolloutName() != rollout {
				return fmt.Errorf("it has a row of %s, expected one of %s", line.rolloutName(), rollout)
			}
			if err := visit(line); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, file.Close()); err != nil {
		return damagedError(t.reader.dir, partPath("", table, p.number), err)
	}
	return nil
}
