package scenario

import (
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// startWorld is the state in which scenarios start.
type startWorld struct {
	clock  *setupv1.Clock
	tables map[worldv1.TableName][]*worldv1.Row
	// relative are the cells that move with the clock.
	relative relativeCells
	broken   bool // has mistakes, which are reported at the world's own file
}

// clone returns a copy that may be changed.
func (w *startWorld) clone() *startWorld {
	out := &startWorld{
		clock: proto.CloneOf(w.clock), tables: map[worldv1.TableName][]*worldv1.Row{}, relative: relativeCells{}, broken: w.broken,
	}
	for name, rows := range w.tables {
		for _, row := range rows {
			copied := proto.CloneOf(row)
			out.tables[name] = append(out.tables[name], copied)
			w.relative.copyTo(out.relative, row, copied)
		}
	}
	return out
}

// emptyWorld returns a world without rows and without a time.
func emptyWorld() *startWorld {
	return &startWorld{clock: &setupv1.Clock{}, tables: map[worldv1.TableName][]*worldv1.Row{}, relative: relativeCells{}}
}

// versions returns the starting tables: one version each, from the first message on.
func (w *startWorld) versions() []*worldv1.Table {
	var out []*worldv1.Table
	for _, schema := range world.Schemas() {
		if schema.Name != worldv1.TableName_TABLE_NAME_SANDBOX {
			out = append(out, &worldv1.Table{Name: schema.Name, Rows: w.tables[schema.Name]})
		}
	}
	return out
}

// zone returns the world's time zone, UTC if it has none.
func (w *startWorld) zone() *time.Location {
	zone, err := time.LoadLocation(w.clock.GetTimeZone())
	if err != nil {
		return time.UTC
	}
	return zone
}

// worldReader builds worlds, each after the one it extends.
type worldReader struct {
	docs     map[string]*value
	readers  map[string]*reader
	built    map[string]*startWorld
	building []string
}

// loadWorlds reads worlds/*.yaml.
func loadWorlds(fsys fs.FS) (map[string]*startWorld, Errors, error) {
	files, err := fs.Glob(fsys, worldFiles)
	if err != nil {
		return nil, nil, fmt.Errorf("list worlds: %w", err)
	}
	slices.Sort(files)
	w := &worldReader{docs: map[string]*value{}, readers: map[string]*reader{}, built: map[string]*startWorld{}}
	for _, file := range files {
		r := &reader{file: file}
		data, err := r.load(fsys)
		if err != nil {
			return nil, nil, fmt.Errorf("read worlds: %w", err)
		}
		w.readers[worldName(file)] = r
		if len(r.errors) == 0 {
			w.docs[worldName(file)] = r.only(data, "world")
		}
	}
	var mistakes Errors
	for _, file := range files {
		w.build(worldName(file))
	}
	for _, file := range files {
		mistakes = append(mistakes, w.readers[worldName(file)].errors...)
	}
	return w.built, mistakes, nil
}

// build returns the named world, which has a file.
func (w *worldReader) build(name string) *startWorld {
	if built, ok := w.built[name]; ok {
		return built
	}
	r, out := w.readers[name], emptyWorld()
	w.building = append(w.building, name)
	if doc := r.object(w.docs[name], worldForm()); doc != nil {
		if base := doc.get("extends"); r.want(base, shapeText) {
			out = w.extend(r, base)
		}
		r.text(doc.get("notes"))
		r.clock(doc.get("clock"), out.clock)
		r.move(out, doc.get("clock"))
		r.tables(doc.get("tables"), out)
	}
	w.building = w.building[:len(w.building)-1]
	out.broken = out.broken || len(r.errors) > 0
	w.built[name] = out
	return out
}

// extend returns a copy of the world that a world names as its base.
func (w *worldReader) extend(r *reader, base *value) *startWorld {
	switch {
	case w.readers[base.text] == nil:
		names := make([]string, 0, len(w.readers))
		for name := range w.readers {
			names = append(names, name)
		}
		slices.Sort(names)
		r.fail(base, "there is no worlds/%s.yaml%s", base.text, hint(base.text, names))
	case slices.Contains(w.building, base.text):
		r.fail(base, "extends itself by way of %q", base.text)
	default:
		return w.build(base.text).clone()
	}
	return emptyWorld()
}

// clock reads the fields of a clock over the ones that are there.
func (r *reader) clock(v *value, into *setupv1.Clock) {
	if v = r.object(v, clockForm()); v == nil {
		return
	}
	if zone := v.get("time_zone"); r.want(zone, shapeText) {
		if _, err := time.LoadLocation(zone.text); err != nil || zone.text == "" || zone.text == "Local" {
			r.fail(zone, "%q is no time zone, expected an IANA name like America/Los_Angeles", zone.text)
		}
		into.TimeZone = zone.text
	}
	if now := v.get("now"); r.want(now, shapeText, shapeNumber) {
		zone := (&startWorld{clock: into}).zone()
		into.Now = r.cell(now, world.KindNumber, zone).GetNumber()
	}
	if step := v.get("step"); step != nil {
		into.Step = r.number(step)
		if into.Step < 0 {
			r.fail(step, "is %s, expected 0 or more seconds", step.text)
		}
	}
}

// tables reads tables over the ones that are there: a list of rows replaces a table, a mapping changes it.
func (r *reader) tables(v *value, into *startWorld) {
	if !r.want(v, shapeMapping) {
		return
	}
	r.resolve(v, into.clock)
	for i := range v.fields {
		name := r.tableName(v.fields[i].place, v.fields[i].key)
		schema, ok := world.SchemaOf(name)
		if !ok {
			continue
		}
		if name == worldv1.TableName_TABLE_NAME_SANDBOX {
			r.fail(v.fields[i].place, "SANDBOX holds the messages, which are not given as rows")
			continue
		}
		edit := tableEdit{reader: r, schema: schema, zone: into.zone(), rows: into.tables[name], relative: into.relative}
		into.tables[name] = edit.apply(v.fields[i].value)
	}
}

// tableEdit applies a table's description to the rows it starts from.
type tableEdit struct {
	*reader
	schema   world.Schema
	zone     *time.Location
	rows     []*worldv1.Row
	relative relativeCells
}

func (e *tableEdit) apply(v *value) []*worldv1.Row {
	if !e.want(v, shapeList, shapeMapping) {
		return e.rows
	}
	if v.shape == shapeList {
		e.rows = nil
		e.add(v)
		return e.rows
	}
	e.object(v, editForm(world.TableText(e.schema.Name)))
	for _, where := range e.items(v.get("remove")) {
		for _, at := range slices.Backward(e.find(where)) {
			e.rows = slices.Delete(e.rows, at, at+1)
		}
	}
	for _, change := range e.items(v.get("change")) {
		if e.object(change, changeForm(world.TableText(e.schema.Name))) == nil {
			continue
		}
		for _, at := range e.find(change.get("where")) {
			e.set(e.rows[at], change.get("set"))
		}
	}
	if set := v.get("set"); set != nil {
		for _, row := range e.rows {
			e.set(row, set)
		}
	}
	e.add(v.get("add"))
	return e.rows
}

// set writes the given cells into a row.
func (e *tableEdit) set(row *worldv1.Row, v *value) {
	if !e.want(v, shapeMapping) {
		return
	}
	for i := range v.fields {
		if at := e.column(v.fields[i]); at >= 0 {
			row.Cells[at] = e.cell(v.fields[i].value, e.schema.Columns[at].Kind, e.zone)
			e.relative.note(row, at, v.fields[i].value)
		}
	}
}

// column returns the position of the column that a field names, or -1.
func (e *tableEdit) column(f field) int {
	at := e.schema.Column(f.key)
	if at < 0 {
		names := make([]string, len(e.schema.Columns))
		for i := range names {
			names[i] = e.schema.Columns[i].Name
		}
		e.fail(f.place, "%s has no column %q%s", world.TableText(e.schema.Name), f.key, hint(f.key, names))
	}
	return at
}

// find returns the positions of the rows that have the given cells; none is a mistake.
func (e *tableEdit) find(where *value) []int {
	if !e.want(where, shapeMapping) {
		return nil
	}
	wanted := map[int]*worldv1.Value{}
	for i := range where.fields {
		at := e.column(where.fields[i])
		if at < 0 {
			return nil
		}
		wanted[at] = e.cell(where.fields[i].value, e.schema.Columns[at].Kind, e.zone)
	}
	var found []int
	for i, row := range e.rows {
		fits := true
		for at, cell := range wanted {
			fits = fits && proto.Equal(row.GetCells()[at], cell)
		}
		if fits {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		e.fail(where, "no row of %s is like this", world.TableText(e.schema.Name))
	}
	return found
}

// add appends rows. The first column is the row's id; one that is left out is made from what the row is about.
func (e *tableEdit) add(v *value) {
	for _, item := range e.items(v) {
		row := &worldv1.Row{}
		for range e.schema.Columns {
			row.Cells = append(row.Cells, world.Null())
		}
		e.set(row, item)
		if item.get(e.schema.Columns[0].Name) == nil {
			row.Cells[0] = world.Text(rowID(e.schema, row))
		}
		e.rows = append(e.rows, row)
	}
}

// rowID returns the UUID v5 of a contact's name, of a message's or reminder's content or of the phone, in the URL
// namespace.
func rowID(schema world.Schema, row *worldv1.Row) string {
	payload := "my_phone"
	for _, column := range []string{"name", "content"} {
		if at := schema.Column(column); at >= 0 {
			payload = row.GetCells()[at].GetText()
		}
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(payload)).String()
}
