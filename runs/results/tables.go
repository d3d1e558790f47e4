package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/runs/results/internal/part"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// ErrTables means that tables belong to another run or another version of the program.
var ErrTables = errors.New("not the tables of this run")

const (
	// leastPart is the least number of rollouts of a part that does not end a session of work. A later
	// one has half as many as all before it, so that 100,000 rollouts have 15 parts, and a kill leaves
	// two thirds of the rollouts readable. --resume fetches the others from the services.
	leastPart = 256
	// groupBytes is the size of the texts in a row group, by which the writer's memory is bounded.
	groupBytes = 8 << 20

	// tablesVersion is the version of the columns.
	tablesVersion = "2"
	versionKey    = "toolsandbox.version"
	specKey       = "toolsandbox.spec_digest"
	// filesKey is the Content of the part's files of other tables, by table. Only the file of rollouts
	// has it, and the next.
	filesKey = "toolsandbox.files"
	// replacesKey is the numbers of the parts whose rollouts this part holds instead.
	replacesKey = "toolsandbox.replaces"
)

// Tables writes the tables of a run in parts. It is safe for concurrent use. Close must be called.
type Tables struct {
	// Fence returns an error once another client writes the run; nil is none.
	Fence func() error

	dir, spec string

	mu    sync.Mutex
	parts []tablePart
	in    map[string]int // the part's number, by the name of the rollout
	next  int
	open  *openPart
	err   error // the first error: what follows would not be complete
}

// OpenTables opens the tables of the run in dir, whose rollouts they return as far as the tables
// have them: see Rollout.Settled. digests are those of Run.Files. It sets parts aside that cannot
// be read or are not as they were written; their names say so, and damaged describes them. The
// error is ErrTables for tables of another run or version.
func OpenTables(dir, spec string, digests map[string]string) (t *Tables, rollouts []Rollout, damaged []error, err error) {
	t = &Tables{dir: dir, spec: spec, in: make(map[string]int)}
	parts, broken, err := scanParts(dir, spec)
	if err != nil {
		return nil, nil, nil, err
	}
	known := NewShared()
	rows := 0
	for _, p := range parts {
		rows += p.rows
	}
	rollouts = make([]Rollout, 0, rows)
	for _, p := range parts {
		var played []Rollout
		err := p.verify(dir, digests)
		if err == nil {
			played, err = p.rollouts(dir, known)
		}
		if err != nil {
			broken[p.number] = err
			continue
		}
		for _, r := range played {
			t.in[r.Name()] = p.number
		}
		t.parts, rollouts = append(t.parts, p), append(rollouts, played...)
	}
	for _, number := range slices.Sorted(maps.Keys(broken)) {
		damaged = append(damaged, broken[number])
		for _, table := range TableNames() {
			path := partPath(dir, table, number)
			if err := storage.Rename(path, path+".damaged"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, nil, nil, fmt.Errorf("set aside a damaged part: %w", err)
			}
		}
	}
	for name := range digests { // a new part is no part that they name
		if number, ok := partNumber(filepath.Base(name)); ok {
			t.next = max(t.next, number+1)
		}
	}
	return t, rollouts, damaged, t.removeRemains()
}

// Settled reports whether a rollout that tables hold is not played again.
func (r Rollout) Settled() bool { return r.Damage == "" && !bus.IsUnscored(r.Result.GetEnd()) }

// removeRemains removes the files of parts that were never complete, or that another part replaces.
func (t *Tables) removeRemains() error {
	for _, table := range TableNames() {
		numbers, remains, err := partNumbers(t.dir, table)
		if err != nil {
			return err
		}
		for _, number := range numbers {
			t.next = max(t.next, number+1)
			if slices.ContainsFunc(t.parts, func(p tablePart) bool { return p.number == number }) {
				continue
			}
			remains = append(remains, partPath(t.dir, table, number))
		}
		for _, path := range remains {
			if err := storage.Remove(path); err != nil {
				return fmt.Errorf("remove the remains of a part: %w", err)
			}
		}
	}
	return nil
}

// Add adds a finished rollout, in place of earlier rows of the same one. explained is the
// explanation of its score, nil without any. After an error the run cannot continue.
func (t *Tables) Add(r Rollout, explained *evaluatorv1.ExplainTrajectoryResponse) error {
	lines, err := rowsOf(r, explained)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.add(lines)
	}
	if t.err != nil {
		return fmt.Errorf("write tables: %w", t.err)
	}
	return nil
}

func (t *Tables) add(lines rows) (err error) {
	if t.open == nil {
		if t.open, err = createPart(t.dir, t.spec, t.next); err != nil {
			return err
		}
		t.next++
	}
	if err := t.open.add(lines); err != nil {
		return err
	}
	earlier := 0
	for _, p := range t.parts {
		earlier += p.rows
	}
	if len(t.open.names) < max(leastPart, earlier/2) {
		return nil
	}
	return t.commit()
}

// Close ends the last part and returns the digests of the files of rollouts by their paths below
// the run's directory. They hold those of the others.
func (t *Tables) Close() (digests map[string]string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != nil && t.err == nil {
		t.err = t.commit()
	}
	if t.open != nil {
		t.open.discard()
	}
	if t.err != nil {
		return nil, fmt.Errorf("write tables: %w", t.err)
	}
	digests = make(map[string]string)
	for _, p := range t.parts {
		path := partPath("", rolloutsTable, p.number)
		if digests[filepath.ToSlash(path)], err = storage.Sum(storage.Join(t.dir, path)); err != nil {
			return nil, fmt.Errorf("write tables: %w", err)
		}
	}
	return digests, nil
}

// commit completes the open part. It takes over the other rollouts of parts with rollouts that it
// replaces, and a small last part.
func (t *Tables) commit() error {
	earlier, replaced := 0, make(map[int]bool)
	for _, p := range t.parts {
		earlier += p.rows
	}
	for name := range t.open.names {
		if number, ok := t.in[name]; ok {
			replaced[number] = true
		}
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].rows+len(t.open.names) <= max(leastPart, (earlier-t.parts[n-1].rows)/2) {
		replaced[t.parts[n-1].number] = true
	}
	var kept []tablePart
	for _, p := range t.parts {
		if !replaced[p.number] {
			kept = append(kept, p)
		} else if err := t.open.take(t.dir, p); err != nil {
			return err
		}
	}
	if t.Fence != nil {
		if err := t.Fence(); err != nil {
			return err
		}
	}
	done, err := t.open.commit(slices.Sorted(maps.Keys(replaced)))
	if err != nil {
		return err
	}
	for name := range t.open.names {
		t.in[name] = done.number
	}
	kept = append(kept, done)
	t.parts, t.open = kept, nil
	for number := range replaced {
		for _, table := range slices.Backward(TableNames()) { // rollouts first: the others do not count without
			if err := storage.Remove(partPath(t.dir, table, number)); err != nil {
				return err
			}
		}
	}
	return nil
}

// tablePart is a complete part.
type tablePart struct {
	number   int
	rows     int // rollouts
	files    map[string]part.Content
	replaces []int
}

func partPath(dir, table string, number int) string {
	return storage.Join(dir, TablesDirectory, table, fmt.Sprintf("part-%05d.parquet", number))
}

// partNumber returns the number of the part whose file has that name.
func partNumber(name string) (number int, ok bool) {
	digits, _ := strings.CutPrefix(strings.TrimSuffix(name, ".parquet"), "part-")
	number, err := strconv.Atoi(digits)
	return number, err == nil && name == filepath.Base(partPath("", "", number))
}

// partNumbers returns the numbers of a table's parts, and the hidden files of a killed writer.
// Files of other names do not belong to it.
func partNumbers(dir, table string) (numbers []int, hidden []string, err error) {
	names, err := storage.ReadDir(storage.Join(dir, TablesDirectory, table))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read tables: %w", err)
	}
	for _, name := range names {
		if number, ok := partNumber(name); ok {
			numbers = append(numbers, number)
		} else if strings.HasPrefix(name, ".part-") && strings.HasSuffix(name, ".parquet.new") {
			hidden = append(hidden, storage.Join(dir, TablesDirectory, table, name))
		}
	}
	return numbers, hidden, nil
}

// scanParts returns the parts of the tables in dir that none of them replaces, and by number why
// the others cannot be read. The error is ErrTables for tables of another run or version.
func scanParts(dir, spec string) (parts []tablePart, broken map[int]error, err error) {
	numbers, _, err := partNumbers(dir, rolloutsTable)
	if err != nil {
		return nil, nil, err
	}
	broken = make(map[int]error)
	for _, number := range numbers {
		p, err := openTablePart(dir, spec, number)
		if errors.Is(err, ErrTables) {
			return nil, nil, err
		}
		if err != nil {
			broken[number] = fmt.Errorf("%w: %w", ErrDamaged, err)
			continue
		}
		parts = append(parts, p)
	}
	for _, p := range slices.Clone(parts) {
		parts = slices.DeleteFunc(parts, func(other tablePart) bool { return slices.Contains(p.replaces, other.number) })
		for _, number := range p.replaces {
			delete(broken, number)
		}
	}
	return parts, broken, nil
}

func openTablePart(dir, spec string, number int) (p tablePart, err error) {
	path := partPath(dir, rolloutsTable, number)
	file, err := part.Open(path)
	if err != nil {
		return tablePart{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, key := range []struct{ name, want, what string }{{versionKey, tablesVersion, "version"}, {specKey, spec, "spec_digest"}} {
		if got, _ := file.Metadata(key.name); got != key.want {
			return tablePart{}, fmt.Errorf("%s is %w: its %s is %q, expected %q", path, ErrTables, key.what, got, key.want)
		}
	}
	p = tablePart{number: number, rows: int(file.Rows())}
	for key, into := range map[string]any{filesKey: &p.files, replacesKey: &p.replaces} {
		value, _ := file.Metadata(key)
		if err := json.Unmarshal([]byte(value), into); err != nil {
			return tablePart{}, fmt.Errorf("%s: %s: %w", path, key, err)
		}
	}
	return p, nil
}

// verify checks that the files of the part are as they were written. digests name the files of
// rollouts that the run had at its last end.
func (p tablePart) verify(dir string, digests map[string]string) error {
	for _, table := range TableNames() {
		name, want, says := partPath("", table, p.number), p.files[table].SHA256, "the table "+rolloutsTable
		if table == rolloutsTable {
			if want, says = digests[filepath.ToSlash(name)], RunFile; want == "" {
				continue
			}
		}
		digest, err := storage.Sum(storage.Join(dir, name))
		if err != nil {
			return err
		}
		if digest != want {
			return editedError(dir, name, digest, says, want)
		}
	}
	return nil
}

// rollouts reads the rollouts of the part.
func (p tablePart) rollouts(dir string, known *Shared) ([]Rollout, error) {
	all := make([]Rollout, 0, p.rows)
	err := readPart(dir, rolloutsTable, p.number, func(lines []rolloutRow) error {
		for _, line := range lines {
			r, err := line.played(known)
			if err != nil {
				return err
			}
			all = append(all, r)
		}
		return nil
	})
	return all, err
}

// readPart reads all rows of a file of a part.
func readPart[T any](dir, table string, number int, visit func([]T) error) (err error) {
	file, err := part.Open(partPath(dir, table, number))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return part.Read(file, 0, -1, visit)
}
