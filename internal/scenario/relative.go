package scenario

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// expressionKey is the only field of a mapping that stands for the value of an expression.
const expressionKey = "cel"

// nowText stands for a scenario's now where a timestamp is expected.
const nowText = "now"

// inside is where the first character of a text stands in its file; no line means that it cannot be
// told.
type inside struct {
	line, column int
}

// insideScalar returns where a plain or quoted text begins, if it is written on one line as it is.
func insideScalar(t *token.Token) inside {
	written := strings.TrimSpace(t.Origin)
	switch {
	case t.Position == nil || t.Value == "":
	case written == t.Value:
		return inside{t.Position.Line, t.Position.Column}
	case written == `"`+t.Value+`"` || written == `'`+t.Value+`'`:
		return inside{t.Position.Line, t.Position.Column + 1}
	}
	return inside{}
}

// insideBlock returns where a text in a block that keeps its lines begins.
func insideBlock(node *ast.LiteralNode) inside {
	header, text := node.GetToken(), node.Value.GetToken()
	if header == nil || header.Type != token.LiteralType || header.Position == nil || text == nil {
		return inside{}
	}
	indent := len(text.Origin) - len(strings.TrimLeft(text.Origin, " "))
	return inside{header.Position.Line + 1, indent + 1}
}

// failInside records the mistake of an expression at its place in the file, as far as that can be
// told.
func (r *reader) failInside(v *value, err error) {
	at := *v
	var mistake *celexpr.Error
	if errors.As(err, &mistake) && mistake.Line > 0 && v.inside.line > 0 {
		at.line, at.column = v.inside.line+mistake.Line-1, v.inside.column+mistake.Column-1
	}
	r.fail(&at, "%v", err)
}

// expression returns the expression that a mapping stands for, nil if it is none.
func (v *value) expression() *value {
	if v == nil || v.shape != shapeMapping || len(v.fields) != 1 {
		return nil
	}
	return v.get(expressionKey)
}

// what returns the word for a value that is used in messages to people.
func (v *value) what() string {
	if v.time != nil {
		return "a time"
	}
	return v.shape.String()
}

// resolve turns the expressions in a value, {cel: …}, into the times that they give, and in fields
// of timestamps also now and local times. Extractors are expressions of another kind and left
// alone.
func (r *reader) resolve(v *value, clock *setupv1.Clock) {
	if v == nil || r.resolveExpression(v, clock) {
		return
	}
	for _, item := range v.list {
		r.resolve(item, clock)
	}
	for i := range v.fields {
		switch held := v.fields[i].value; {
		case v.fields[i].key == "extractor":
		case held.shape == shapeText && isTimestamp(v.fields[i].key):
			r.resolvePlain(held, clock)
		default:
			r.resolve(held, clock)
		}
	}
}

// resolveRecorded is resolve for what a service has answered, whose texts stay as they are.
func (r *reader) resolveRecorded(v *value, clock *setupv1.Clock) {
	if v == nil || r.resolveExpression(v, clock) {
		return
	}
	for _, item := range v.list {
		r.resolveRecorded(item, clock)
	}
	for i := range v.fields {
		r.resolveRecorded(v.fields[i].value, clock)
	}
}

// resolveTimes turns the expressions in a scenario, outside its tables, into times.
func (r *reader) resolveTimes(v *value, clock *setupv1.Clock) {
	for _, part := range played(v) {
		r.resolve(part, clock)
	}
	r.resolveRecorded(v.get("recordings"), clock)
}

// played returns the parts of a scenario, outside its tables, that name rows and hold times: turns
// and what they are to reach.
func played(v *value) []*value {
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

// isTimestamp says whether a column or an argument of a name holds a timestamp, e.g.
// reminder_timestamp or timestamp_0.
func isTimestamp(name string) bool { return strings.Contains("_"+name+"_", "_timestamp_") }

// resolvePlain turns now or a local time into the time that it means. Any other text is left to
// those who read it.
func (r *reader) resolvePlain(v *value, clock *setupv1.Clock) {
	if v.text == nowText {
		r.resolveTime(v, &value{shape: shapeText, path: v.path, line: v.line, column: v.column, text: nowText}, clock)
		return
	}
	if seconds, ok := localTime(v.text, (&startWorld{clock: clock}).zone()); ok {
		v.become(seconds)
	}
}

// resolveExpression turns a mapping that stands for an expression into a time. It returns false for
// anything else.
func (r *reader) resolveExpression(v *value, clock *setupv1.Clock) bool {
	source := v.expression()
	if source != nil {
		r.resolveTime(v, source, clock)
	}
	return source != nil
}

// become turns a value into a time in POSIX seconds.
func (v *value) become(seconds float64) {
	v.shape, v.fields, v.number = shapeNumber, nil, seconds
	v.text = strconv.FormatFloat(seconds, 'f', -1, 64)
	if seconds == math.Trunc(seconds) {
		v.text += ".0"
	}
}

// resolveTime turns one expression into a number. Without a clock, which is a mistake elsewhere or
// is still to come, the number is 0.
func (r *reader) resolveTime(v, source *value, clock *setupv1.Clock) {
	if !r.want(source, shapeText) {
		v.shape = shapeBroken
		return
	}
	compiled, err := celexpr.CompileTime(source.text)
	if err != nil {
		r.failInside(source, err)
		v.shape = shapeBroken
		return
	}
	seconds, err := secondsAt(compiled, clock)
	if err != nil {
		r.failInside(source, err)
		v.shape = shapeBroken
		return
	}
	v.time = compiled
	v.become(seconds)
}

// secondsAt returns the time that an expression gives by a clock, 0 if the clock has none.
func secondsAt(t *celexpr.Time, clock *setupv1.Clock) (float64, error) {
	zone, err := time.LoadLocation(clock.GetTimeZone())
	if err != nil || clock.GetTimeZone() == "" || clock.GetNow() == 0 {
		return 0, nil //nolint:nilerr // a clock with mistakes is reported where it is written
	}
	return t.Seconds(clock.GetNow(), zone)
}

// relativeCells are the cells of a world that depend on its clock, by row and column.
type relativeCells map[*worldv1.Row]map[int]*celexpr.Time

// note remembers whether a cell depends on the clock.
func (c relativeCells) note(row *worldv1.Row, column int, v *value) {
	if v.time == nil {
		delete(c[row], column)
		return
	}
	if c[row] == nil {
		c[row] = map[int]*celexpr.Time{}
	}
	c[row][column] = v.time
}

// copyTo remembers for a copy of a row what is remembered for the row.
func (c relativeCells) copyTo(row, copied *worldv1.Row) {
	if cells := c[row]; len(cells) > 0 {
		c[copied] = maps.Clone(cells)
	}
}

// move computes the cells of a world that depend on the clock again, after it has got another one.
// at is where that is written.
func (r *reader) move(w *startWorld, at *value) {
	if at == nil || len(w.relative) == 0 {
		return
	}
	for _, schema := range w.schema.Stored() {
		rows := slices.Clone(w.tables[schema.Name].GetRows())
		for i, row := range rows {
			if len(w.relative[row]) > 0 {
				rows[i] = r.moveRow(w, schema, row, at)
			}
		}
		w.put(schema.Name, rows)
	}
}

// moveRow returns a row by the world's clock.
func (r *reader) moveRow(w *startWorld, schema world.Table, row *worldv1.Row, at *value) *worldv1.Row {
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
				world.AuthorText(schema.Name), schema.Columns[column].Name, err)
		}
		moved.Cells[column] = world.Number(seconds)
	}
	return moved
}
