package view

import (
	"context"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/session"
)

// longestTable is the number of rows of a table on a page.
const longestTable = 1000

// worldBody is the content of the page with all tables at a message.
type worldBody struct {
	Message, Last int
	Steps         []keyLink
	// Spoken is the message, Path its place in the transcript.
	Spoken, Path string
	Tables       []worldTable
	// Stops are the messages that have a page in an exported directory.
	Stops []int
}

// worldTable is a table at a message.
type worldTable struct {
	Name    string
	Version int
	Columns []string
	Rows    []worldRow
	Left    int // rows that the page leaves out
}

// worldRow is a row; Class and the classes of its cells tell what the message changed.
type worldRow struct {
	Class string
	Cells []worldCell
}

type worldCell struct{ Text, Class string }

func (v *Viewer) worldPage(ctx context.Context, p *page, letter, name string, at int) error {
	r, i, told, err := v.explainedRollout(ctx, letter, name)
	if err != nil {
		return err
	}
	return v.toldWorld(p, r, i, told, at)
}

// worldStops are the messages at which the world is another one than before, and the first; none
// of a rollout whose messages cannot be read.
func worldStops(told explained) []int {
	if len(told.Messages) == 0 {
		return nil
	}
	stops := []int{0}
	for _, version := range told.Tables {
		if at := int(version.GetIndex()); at > 0 && at < len(told.Messages) {
			stops = append(stops, at)
		}
	}
	slices.Sort(stops)
	return slices.Compact(stops)
}

// toldWorld is worldPage of an explained rollout.
func (v *Viewer) toldWorld(p *page, r *run, i int, told explained, at int) error {
	if at >= len(told.Messages) || told.Scenario == nil {
		return errNoPage
	}
	name := r.rollouts[i].Name
	path := rolloutPath(r.Letter, name)
	body := &worldBody{Message: at, Last: len(told.Messages) - 1, Spoken: excerpt(told.Messages[at]), Stops: worldStops(told)}
	body.Path = (&rolloutBody{here: path, size: transcriptPage, static: p.Static}).link(-1, at, "m"+strconv.Itoa(at))
	step := func(key, text string, to int) {
		if to >= 0 && to <= body.Last {
			body.Steps = append(body.Steps, keyLink{key, text, subPath(path, "world", strconv.Itoa(to), p.Static)})
		}
	}
	if !p.Static {
		step("p", "previous message", at-1)
		step("n", "next message", at+1)
	}
	schema := world.SchemaOrBuiltin(told.Evaluation.GetSchema())
	place, _ := slices.BinarySearch(body.Stops, at)
	if place > 1 || place == 1 && p.Static {
		step("[", "change before", body.Stops[place-1])
	}
	if after := slices.IndexFunc(body.Stops, func(stop int) bool { return stop > at }); after >= 0 {
		step("]", "change after", body.Stops[after])
	}
	for _, shape := range schema.StoredTables() {
		body.Tables = append(body.Tables, newWorldTable(shape, told.Tables, at))
	}
	p.template, p.Title, p.Section, p.Body = "world", name+": world at message "+strconv.Itoa(at), "rollouts", body
	p.Over = []link{{"run " + r.Letter, "index.html"}, {"rollouts", "rollouts.html"}, {name, path}}
	return nil
}

// newWorldTable returns the version of a table at a message, with marks where that message changed
// it.
func newWorldTable(shape world.Table, tables []*worldv1.Table, at int) worldTable {
	var now, before *worldv1.Table
	for _, version := range tables {
		i := int(version.GetIndex())
		if version.GetName() != shape.Name || i > at {
			continue
		}
		if now == nil || i > int(now.GetIndex()) {
			now, before = version, now
		} else if before == nil || i > int(before.GetIndex()) {
			before = version
		}
	}
	t := worldTable{Name: shape.Name, Columns: shape.ColumnNames(), Version: int(now.GetIndex())}
	added, changed := make(map[*worldv1.Row]bool), make(map[string]map[string]bool)
	if before != nil && int(now.GetIndex()) == at {
		diff := session.Compare(shape, before, now)
		for _, r := range diff.Added {
			added[r] = true
		}
		for _, r := range diff.Changed {
			changed[r.Key] = make(map[string]bool)
			for _, c := range r.Cells {
				changed[r.Key][c.Column] = true
			}
		}
	}
	for n, r := range now.GetRows() {
		if n == longestTable {
			t.Left = len(now.GetRows()) - n
			break
		}
		shown := worldRow{Class: map[bool]string{true: "add"}[added[r]]}
		for i, column := range shape.Columns {
			cell := worldCell{Text: "null"}
			if i < len(r.GetCells()) {
				cell.Text = cellText(r.GetCells()[i])
			}
			if len(r.GetCells()) > 0 && changed[r.GetCells()[0].GetText()][column.Name] {
				cell.Class = "add"
			}
			shown.Cells = append(shown.Cells, cell)
		}
		t.Rows = append(t.Rows, shown)
	}
	return t
}
