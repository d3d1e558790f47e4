package scenario

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// expressionKey is the only field of a mapping that represents an expression.
const expressionKey = "cel"

// nowText is the scenario's now in place of a timestamp.
const nowText = "now"

// failInText records a mistake of an expression, at its position in the text if that is known.
func (r *reader) failInText(v *value, err error) {
	at := *v
	var mistake *celexpr.Error
	if errors.As(err, &mistake) && mistake.Line > 0 && v.inside.line > 0 {
		at.line, at.column = v.inside.line+mistake.Line-1, v.inside.column+mistake.Column-1
	}
	r.fail(&at, "%v", err)
}

// expression returns the expression of a mapping, nil if it is not one.
func expression(v *value) *value {
	if v == nil || v.shape != shapeMapping || len(v.fields) != 1 {
		return nil
	}
	return v.get(expressionKey)
}

// resolve replaces the expressions {cel: …} in a value by times. In timestamp fields it also
// replaces now and local times. It does not change extractors. In recorded answers it replaces
// expressions only.
func (r *reader) resolve(v *value, clock *setupv1.Clock, recorded bool) {
	if v == nil {
		return
	}
	if source := expression(v); source != nil {
		r.resolveTime(v, source, clock)
		return
	}
	for _, item := range v.list {
		r.resolve(item, clock, recorded)
	}
	for i := range v.fields {
		switch child := v.fields[i].value; {
		case !recorded && v.fields[i].key == "extractor":
		case !recorded && child.shape == shapeText && isTimestamp(v.fields[i].key):
			r.resolvePlain(child, clock)
		default:
			r.resolve(child, clock, recorded)
		}
	}
}

// resolveTimes replaces the expressions in a scenario, except in its tables, by times.
func (r *reader) resolveTimes(v *value, clock *setupv1.Clock) {
	for _, field := range rolloutParts(v) {
		r.resolve(field, clock, false)
	}
	r.resolve(v.get("recordings"), clock, true)
}

// rolloutParts returns the parts of a scenario, except its tables, that name rows and contain
// times: turns and targets.
func rolloutParts(v *value) []*value {
	parts := []*value{v.get("oracle")}
	for _, graph := range []string{"milestones", "minefields"} {
		if nodes := v.get(graph); nodes != nil {
			for i := range nodes.fields {
				parts = append(parts, nodes.fields[i].value)
			}
		}
	}
	if user := v.get("user"); user != nil {
		parts = append(parts, user.get("demonstrations"), user.get("script"))
	}
	return parts
}

// isTimestamp reports whether a name of a column or argument is that of a timestamp, e.g.
// reminder_timestamp or timestamp_0.
func isTimestamp(name string) bool { return strings.Contains("_"+name+"_", "_timestamp_") }

// resolvePlain replaces now or a local time by a time. It does not change other texts.
func (r *reader) resolvePlain(v *value, clock *setupv1.Clock) {
	if v.text == nowText {
		r.resolveTime(v, &value{shape: shapeText, path: v.path, line: v.line, column: v.column, text: nowText}, clock)
		return
	}
	if seconds, ok := localTime(v.text, (&startWorld{clock: clock}).zone()); ok {
		setTime(v, seconds)
	}
}

// setTime replaces a value by a time in POSIX seconds.
func setTime(v *value, seconds float64) {
	v.shape, v.fields, v.number = shapeNumber, nil, seconds
	v.text = strconv.FormatFloat(seconds, 'f', -1, 64)
	if seconds == math.Trunc(seconds) {
		v.text += ".0"
	}
}

// resolveTime replaces one expression by a number. The number is 0 without a clock, if that has a
// mistake or is read later.
func (r *reader) resolveTime(v, source *value, clock *setupv1.Clock) {
	if !r.checkShape(source, shapeText) {
		v.shape = shapeBroken
		return
	}
	compiled, err := celexpr.CompileTime(source.text)
	if err != nil {
		r.failInText(source, err)
		v.shape = shapeBroken
		return
	}
	seconds, err := secondsAt(compiled, clock)
	if err != nil {
		r.failInText(source, err)
		v.shape = shapeBroken
		return
	}
	r.times[v], v.noun = compiled, "a time"
	setTime(v, seconds)
}

// secondsAt returns the time of an expression for a clock, 0 if the clock has none.
func secondsAt(t *celexpr.Time, clock *setupv1.Clock) (float64, error) {
	zone, err := time.LoadLocation(clock.GetTimeZone())
	if err != nil || clock.GetTimeZone() == "" || clock.GetNow() == 0 {
		return 0, nil //nolint:nilerr // mistakes of the clock are reported at the clock
	}
	return t.Seconds(clock.GetNow(), zone)
}

// relativeCells are the cells of a world that depend on its clock, by row and column.
type relativeCells map[*worldv1.Row]map[int]*celexpr.Time

// add records a cell that depends on the clock, or with nil one that does not.
func (c relativeCells) add(row *worldv1.Row, column int, t *celexpr.Time) {
	if t == nil {
		delete(c[row], column)
		return
	}
	if c[row] == nil {
		c[row] = map[int]*celexpr.Time{}
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
func (r *reader) recomputeWorld(w *startWorld, at *value) {
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
func (r *reader) recomputeRow(w *startWorld, schema world.Table, row *worldv1.Row, at *value) *worldv1.Row {
	moved := copyRow(row)
	w.relative.copyTo(row, moved)
	for column := range schema.Columns {
		t, ok := w.relative[row][column]
		if !ok {
			continue
		}
		seconds, err := secondsAt(t, w.clock)
		if err != nil {
			r.fail(at, "with this clock, %s.%s of a row of the world cannot be computed: %v",
				world.AuthorName(schema.Name), schema.Columns[column].Name, err)
		}
		moved.Cells[column] = world.Number(seconds)
	}
	return moved
}
