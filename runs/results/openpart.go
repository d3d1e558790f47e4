package results

import (
	"encoding/json"
	"errors"

	"github.com/toolsandbox/toolsandbox/runs/results/internal/part"
)

// openPart is a part that is being written, with a row group per file for some rollouts.
type openPart struct {
	number int
	names  map[string]bool // of its rollouts
	bytes  int             // of texts in the row groups
	spec   string

	messages    *part.Writer[messageRow]
	calls       *part.Writer[callRow]
	constraints *part.Writer[constraintRow]
	versions    *part.Writer[versionRow]
	causes      *part.Writer[causeRow]
	rollouts    *part.Writer[rolloutRow]
}

// partFile is the writer of one file of a part.
type partFile interface {
	Flush() error
	SetMetadata(key, value string)
	Finish() (part.Content, error)
	Publish() error
	Discard()
}

func createPart(dir, spec string, number int) (*openPart, error) {
	p := &openPart{number: number, spec: spec, names: make(map[string]bool)}
	errs := make([]error, 6)
	p.messages, errs[0] = part.Create[messageRow](partPath(dir, messagesTable, number))
	p.calls, errs[1] = part.Create[callRow](partPath(dir, callsTable, number))
	p.constraints, errs[2] = part.Create[constraintRow](partPath(dir, constraintsTable, number))
	p.versions, errs[3] = part.Create[versionRow](partPath(dir, versionsTable, number))
	p.causes, errs[4] = part.Create[causeRow](partPath(dir, causesTable, number))
	p.rollouts, errs[5] = part.Create[rolloutRow](partPath(dir, rolloutsTable, number), "result", "played")
	if err := errors.Join(errs...); err != nil {
		for i, file := range p.files() {
			if errs[i] == nil {
				file.Discard()
			}
		}
		return nil, err
	}
	return p, nil
}

// files returns the files in the order of TableNames.
func (p *openPart) files() []partFile {
	return []partFile{p.messages, p.calls, p.constraints, p.versions, p.causes, p.rollouts}
}

// add adds the rows of a rollout.
func (p *openPart) add(lines rows) error {
	p.names[lines.rollout.Rollout] = true
	p.bytes += lines.size()
	err := errors.Join(
		p.messages.Write(lines.messages), p.calls.Write(lines.calls), p.constraints.Write(lines.constraints),
		p.versions.Write(lines.versions), p.causes.Write(lines.causes), p.rollouts.Write([]rolloutRow{lines.rollout}),
	)
	if err != nil || p.bytes < groupBytes {
		return err
	}
	return p.flush()
}

// size is about the size of the texts.
func (r *rows) size() int {
	n := len(r.rollout.Result) + len(r.rollout.Played)
	for i := range r.messages {
		n += len(text(r.messages[i].Content))
	}
	for i := range r.constraints {
		n += len(text(r.constraints[i].Wanted)) + len(text(r.constraints[i].Found))
	}
	for i := range r.versions {
		n += len(text(r.versions[i].Values))
	}
	return n
}

func (p *openPart) flush() error {
	p.bytes = 0
	var errs []error
	for _, file := range p.files() {
		errs = append(errs, file.Flush())
	}
	return errors.Join(errs...)
}

// take copies the rollouts of a complete part that this part does not have.
func (p *openPart) take(dir string, other tablePart) error {
	own := make(map[string]bool, len(p.names))
	for name := range p.names {
		own[name] = true
	}
	if err := p.flush(); err != nil {
		return err
	}
	return errors.Join(
		copyRows(dir, messagesTable, other.number, p.messages, own, nil), copyRows(dir, callsTable, other.number, p.calls, own, nil),
		copyRows(dir, constraintsTable, other.number, p.constraints, own, nil), copyRows(dir, versionsTable, other.number, p.versions, own, nil),
		copyRows(dir, causesTable, other.number, p.causes, own, nil), copyRows(dir, rolloutsTable, other.number, p.rollouts, own, p.names),
	)
}

// takeGroup is the number of copied rows of a row group.
const takeGroup = 1 << 17

// copyRows copies the rows of rollouts other than own from a file of a part, and notes their names
// in copied.
func copyRows[T keyed](dir, table string, number int, to *part.Writer[T], own, copied map[string]bool) error {
	pending := 0
	return readPart(dir, table, number, func(lines []T) error {
		var kept []T
		for _, line := range lines {
			if name := line.rolloutName(); !own[name] {
				kept = append(kept, line)
				if copied != nil {
					copied[name] = true
				}
			}
		}
		if err := to.Write(kept); err != nil {
			return err
		}
		if pending += len(kept); pending < takeGroup {
			return nil
		}
		pending = 0
		return to.Flush()
	})
}

// commit completes the files, and publishes that of rollouts last. replaces are the numbers of the
// parts whose rollouts it has taken.
func (p *openPart) commit(replaces []int) (tablePart, error) {
	done := tablePart{number: p.number, rows: len(p.names), files: make(map[string]part.Content), replaces: replaces}
	if done.replaces == nil {
		done.replaces = []int{}
	}
	names, files := TableNames(), p.files()
	for i, file := range files {
		file.SetMetadata(versionKey, tablesVersion)
		file.SetMetadata(specKey, p.spec)
		if names[i] == rolloutsTable {
			for key, value := range map[string]any{filesKey: done.files, replacesKey: done.replaces} {
				text, err := json.Marshal(value)
				if err != nil {
					return tablePart{}, err
				}
				file.SetMetadata(key, string(text))
			}
		}
		content, err := file.Finish()
		if err != nil {
			return tablePart{}, err
		}
		done.files[names[i]] = content
	}
	for _, file := range files {
		if err := file.Publish(); err != nil {
			return tablePart{}, err
		}
	}
	return done, nil
}

// discard removes what is not published.
func (p *openPart) discard() {
	for _, file := range p.files() {
		file.Discard()
	}
}
