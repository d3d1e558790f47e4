package scenario

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/timezone"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// startWorld is a starting state of scenarios. Worlds and scenarios share immutable tables and
// rows.
type startWorld struct {
	clock  *setupv1.Clock
	tables map[string]*worldv1.Table
	schema *world.Schema
	// relative are the cells that depend on the clock.
	relative relativeCells
	// origins are the positions of the ids of its own rows. base has those of the others.
	origins map[*worldv1.Row]document.Position
	base    *startWorld
	broken  bool // has mistakes, which are reported in the world's file
}

// clone returns a mutable copy.
func (w *startWorld) clone() *startWorld {
	return &startWorld{
		clock: proto.CloneOf(w.clock), tables: maps.Clone(w.tables), schema: w.schema, relative: maps.Clone(w.relative),
		origins: map[*worldv1.Row]document.Position{}, base: w, broken: w.broken,
	}
}

// emptyWorld returns a world without rows and without a time.
func emptyWorld(schema *world.Schema) *startWorld {
	w := &startWorld{clock: &setupv1.Clock{}, tables: map[string]*worldv1.Table{}, schema: schema, relative: relativeCells{}, origins: map[*worldv1.Row]document.Position{}}
	for _, table := range schema.StoredTables() {
		w.setTable(table.Name, nil)
	}
	return w
}

// copyRecords copies what is known of a row to its copy.
func (w *startWorld) copyRecords(row, copied *worldv1.Row) {
	w.relative.copyTo(row, copied)
	w.origins[copied] = w.origin(row)
}

// setTable replaces the rows of a table.
func (w *startWorld) setTable(name string, rows []*worldv1.Row) {
	w.tables[name] = &worldv1.Table{Name: name, Rows: rows}
}

// versions returns the starting tables with one version each, from the first message.
func (w *startWorld) versions() []*worldv1.Table {
	out := make([]*worldv1.Table, 0, len(w.tables))
	for _, table := range w.schema.StoredTables() {
		out = append(out, w.tables[table.Name])
	}
	return out
}

// rowCount returns the number of rows in all tables.
func (w *startWorld) rowCount() int {
	count := 0
	for _, table := range w.tables {
		count += len(table.GetRows())
	}
	return count
}

// zone returns the world's time zone, UTC by default.
func (w *startWorld) zone() *time.Location {
	zone, err := timezone.Load(w.clock.GetTimeZone())
	if err != nil {
		return time.UTC
	}
	return zone
}

// worlds are the worlds that a pack's scenarios and worlds can name.
type worlds struct {
	own   map[string]*startWorld
	phone *phoneWorlds
}

// worldReader builds worlds, each after its base.
type worldReader struct {
	budget *Budget
	phone  *phoneWorlds

	// files are the contents of worlds. Parsed documents would need a multiple of the memory.
	files    map[string][]byte
	readers  map[string]*reader
	built    map[string]*startWorld
	building []string
}

// WorldFile is a file with a world. Its reader has a mistake if it cannot be read.
type WorldFile struct {
	*document.Reader
	Data []byte
}

// ReadWorlds builds the worlds of a pack, and records mistakes with the files' readers. Scenarios
// name a world by the base name of its file.
func (s *Shared) ReadWorlds(files []WorldFile, budget *Budget) {
	w := newWorldReader(files, s.Schema, budget)
	w.phone = s.worlds.phone
	for _, file := range files {
		w.build(baseName(file.File))
	}
	s.worlds.own = w.built
}

func newWorldReader(files []WorldFile, schema *world.Schema, budget *Budget) *worldReader {
	w := &worldReader{budget: budget, files: map[string][]byte{}, readers: map[string]*reader{}, built: map[string]*startWorld{}}
	for _, file := range files {
		name := baseName(file.File)
		w.files[name], w.readers[name] = file.Data, newReader(file.Reader, schema, budget)
	}
	return w
}

// build returns a world by name, which must have a file.
func (w *worldReader) build(name string) *startWorld {
	if built, ok := w.built[name]; ok {
		return built
	}
	r := w.readers[name]
	out := emptyWorld(r.schema)
	w.building = append(w.building, name)
	if doc := r.object(w.document(name), form.World()); doc != nil {
		if base := doc.Get("extends"); r.CheckShape(base, document.ShapeText) {
			out = w.extend(r, base)
		}
		r.Text(doc.Get("notes"))
		r.clock(doc.Get("clock"), out.clock)
		r.recomputeWorld(out, doc.Get("clock"))
		r.tables(doc.Get("tables"), out)
		w.budget.Count(r.Reader, doc, out.rowCount())
	}
	w.building = w.building[:len(w.building)-1]
	out.broken = out.broken || len(r.Errors) > 0
	w.built[name] = out
	return out
}

// document returns the document of a world's file, nil after a mistake or after the pack has
// exceeded a limit.
func (w *worldReader) document(name string) *document.Value {
	r := w.readers[name]
	if len(r.Errors) > 0 || w.budget.Stopped() {
		return nil
	}
	return r.Only(w.files[name], "world")
}

// extend returns a copy of a world's base.
func (w *worldReader) extend(r *reader, base *document.Value) *startWorld {
	var from *startWorld
	switch {
	case isPhoneWorld(base.Text):
		from = w.phone.world(r, base)
	case w.readers[base.Text] == nil:
		failWorld(r.Reader, base, maps.Keys(w.readers))
	case slices.Contains(w.building, base.Text):
		r.Fail(base, "extends itself by way of %q", base.Text)
	default:
		from = w.build(base.Text)
	}
	if from == nil {
		from = emptyWorld(r.schema)
		from.broken = true
	}
	return from.clone()
}

// clock reads the fields of a clock, which override existing ones.
func (r *reader) clock(v *document.Value, into *setupv1.Clock) {
	if v = r.object(v, form.Clock()); v == nil {
		return
	}
	if zone := v.Get("time_zone"); r.CheckShape(zone, document.ShapeText) {
		if _, err := timezone.Load(zone.Text); err != nil || zone.Text == "" {
			r.Fail(zone, "%q is no time zone, expected an IANA name like America/Los_Angeles", zone.Text)
		}
		into.TimeZone = zone.Text
	}
	if now := v.Get("now"); r.CheckShape(now, document.ShapeText, document.ShapeNumber) {
		zone := (&startWorld{clock: into}).zone()
		cell := r.cell(now, world.KindNumber, zone)
		into.Now = cell.GetNumber()
		if reason := badNow(into.GetNow()); cell.GetKind() != nil && reason != "" {
			r.Fail(now, "%s", reason)
		}
	}
	for name, seconds := range map[string]*float64{"step": &into.Step, "user_turn": &into.UserTurn, "agent_turn": &into.AgentTurn} {
		if field := v.Get(name); field != nil {
			if *seconds = r.Number(field); *seconds < 0 {
				r.Fail(field, "is %s, expected 0 or more seconds", field.Text)
			}
		}
	}
}

// tables reads tables, which override existing ones: a list of rows replaces a table, a mapping
// changes it.
func (r *reader) tables(v *document.Value, into *startWorld) {
	if !r.CheckShape(v, document.ShapeMapping) {
		return
	}
	r.resolve(v, into.clock, false)
	r.names(into, v).resolve(v)
	var edits []*tableEdit
	for i := range v.Fields {
		name := r.tableName(v.Fields[i].Position, v.Fields[i].Key)
		schema, ok := r.schema.Table(name)
		if !ok {
			continue
		}
		if name == world.Sandbox {
			r.Fail(v.Fields[i].Position, "sandbox holds the messages, which are not given as rows")
			continue
		}
		edit := &tableEdit{
			reader: r, schema: schema, world: into, zone: into.zone(), rows: into.tables[name].GetRows(),
		}
		into.setTable(name, edit.apply(v.Fields[i].Value))
		edit.duplicates()
		edits = append(edits, edit)
	}
	references := &rowReferences{reader: r, world: into, rows: map[string]map[string]*worldv1.Row{}}
	for _, edit := range edits {
		references.fill(edit.schema, edit.added, edit.written)
	}
}
