package scenario

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/expression"
	"github.com/toolsandbox/toolsandbox/internal/timezone"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// failInText records a mistake of an expression, at its position in the text if that is known.
func (r *reader) failInText(v *document.Value, err error) {
	at := *v
	var mistake *expression.Error
	if errors.As(err, &mistake) && mistake.Line > 0 && v.Inside.Line > 0 {
		at.Line, at.Column = v.Inside.Line+mistake.Line-1, v.Inside.Column+mistake.Column-1
	}
	r.Fail(&at, "%v", err)
}

// expressionIn returns the expression of a mapping, nil if it is not one.
func expressionIn(v *document.Value) *document.Value {
	if v == nil || v.Shape != document.ShapeMapping || len(v.Fields) != 1 {
		return nil
	}
	return v.Get(form.ExpressionKey)
}

// resolve replaces the expressions {python: …} in a value by times. In timestamp fields it also
// replaces now and local times. It does not change extractors. In recorded answers it replaces
// expressions only.
func (r *reader) resolve(v *document.Value, clock *setupv1.Clock, recorded bool) {
	if v == nil {
		return
	}
	if source := expressionIn(v); source != nil {
		r.resolveTime(v, source, clock)
		return
	}
	for _, item := range v.List {
		r.resolve(item, clock, recorded)
	}
	for i := range v.Fields {
		switch child := v.Fields[i].Value; {
		case !recorded && v.Fields[i].Key == "extractor":
		case !recorded && child.Shape == document.ShapeText && isTimestamp(v.Fields[i].Key):
			r.resolvePlain(child, clock)
		default:
			r.resolve(child, clock, recorded)
		}
	}
}

// resolveTimes replaces the expressions in a scenario, except in its tables, by times.
func (r *reader) resolveTimes(v *document.Value, clock *setupv1.Clock) {
	for _, field := range rolloutParts(v) {
		r.resolve(field, clock, false)
	}
	r.resolve(v.Get("recordings"), clock, true)
}

// rolloutParts returns the parts of a scenario, except its tables, that name rows and contain
// times: turns and targets.
func rolloutParts(v *document.Value) []*document.Value {
	parts := []*document.Value{v.Get("oracle")}
	for _, graph := range []string{"milestones", "minefields"} {
		if nodes := v.Get(graph); nodes != nil {
			for i := range nodes.Fields {
				parts = append(parts, nodes.Fields[i].Value)
			}
		}
	}
	if user := v.Get("user"); user != nil {
		parts = append(parts, user.Get("demonstrations"), user.Get("script"))
	}
	return parts
}

// isTimestamp reports whether a name of a column or argument is that of a timestamp, e.g.
// reminder_timestamp or timestamp_0.
func isTimestamp(name string) bool { return strings.Contains("_"+name+"_", "_timestamp_") }

// resolvePlain replaces now or a local time by a time. It does not change other texts.
func (r *reader) resolvePlain(v *document.Value, clock *setupv1.Clock) {
	if v.Text == form.NowText {
		r.resolveTime(v, &document.Value{Shape: document.ShapeText, Path: v.Path, Line: v.Line, Column: v.Column, Text: form.NowText}, clock)
		return
	}
	if seconds, ok := localTime(v.Text, (&startWorld{clock: clock}).zone()); ok {
		setTime(v, seconds)
	}
}

// setTime replaces a value by a time in POSIX seconds.
func setTime(v *document.Value, seconds float64) {
	v.Shape, v.Fields, v.Number = document.ShapeNumber, nil, seconds
	v.Text = strconv.FormatFloat(seconds, 'f', -1, 64)
	if seconds == math.Trunc(seconds) {
		v.Text += ".0"
	}
}

// resolveTime replaces one expression by a number. The number is 0 without a clock, if that has a
// mistake or is read later.
func (r *reader) resolveTime(v, source *document.Value, clock *setupv1.Clock) {
	if !r.CheckShape(source, document.ShapeText) {
		v.Shape = document.ShapeBroken
		return
	}
	compiled, err := expression.CompileTime(source.Text)
	if err != nil {
		r.failInText(source, err)
		v.Shape = document.ShapeBroken
		return
	}
	seconds, err := secondsAt(compiled, clock)
	if err != nil {
		r.failInText(source, err)
		v.Shape = document.ShapeBroken
		return
	}
	r.times[v], v.Noun = compiled, "a time"
	setTime(v, seconds)
}

// secondsAt returns the time of an expression for a clock, 0 if the clock has none.
func secondsAt(t *expression.Time, clock *setupv1.Clock) (float64, error) {
	zone, err := timezone.Load(clock.GetTimeZone())
	if err != nil || clock.GetTimeZone() == "" || clock.GetNow() == 0 {
		return 0, nil // mistakes of the clock are reported at the clock
	}
	return t.Seconds(clock.GetNow(), zone)
}

// relativeCells are the cells of a world that depend on its clock, by row and column.
type relativeCells map[*worldv1.Row]map[int]*expression.Time

// add records a cell that depends on the clock, or with nil one that does not.
func (c relativeCells) add(row *worldv1.Row, column int, t *expression.Time) {
	if t == nil {
		delete(c[row], column)
		return
	}
	if c[row] == nil {
		c[row] = map[int]*expression.Time{}
	}
	c[row][column] = t
}

// copyTo copies the records of a row to its copy.
func (c relativeCells) copyTo(row, copied *worldv1.Row) {
	if cells := c[row]; len(cells) > 0 {
		c[copied] = maps.Clone(cells)
	}
}

// recomputeWorld recomputes the cells that depend on the clock after a change of the clock at a
// value.
func (r *reader) recomputeWorld(w *startWorld, at *document.Value) {
	if at == nil || len(w.relative) == 0 {
		return
	}
	for _, schema := range w.schema.StoredTables() {
		rows := slices.Clone(w.tables[schema.Name].GetRows())
		for i, row := range rows {
			if len(w.relative[row]) > 0 {
				rows[i] = r.recomputeRow(w, schema, row, at)
			}
		}
		w.setTable(schema.Name, rows)
	}
}

// recomputeRow returns a row recomputed for the world's clock.
func (r *reader) recomputeRow(w *startWorld, schema world.Table, row *worldv1.Row, at *document.Value) *worldv1.Row {
	moved := copyRow(row)
	w.copyRecords(row, moved)
	for column := range schema.Columns {
		t, ok := w.relative[row][column]
		if !ok {
			continue
		}
		seconds, err := secondsAt(t, w.clock)
		if err != nil {
			r.Fail(at, "with this clock, %s.%s of a row of the world cannot be computed: %v",
				world.AuthorName(schema.Name), schema.Columns[column].Name, err)
		}
		moved.Cells[column] = world.Number(seconds)
	}
	return moved
}
