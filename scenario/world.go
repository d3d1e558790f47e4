package scenario

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// startWorld is a starting state of scenarios. Worlds and scenarios share immutable tables and
// rows.
type startWorld struct {
	clock  *setupv1.Clock
	tables map[string]*worldv1.Table
	schema *world.Schema
	// relative are the cells that depend on the clock.
	relative relativeCells
	broken   bool // has mistakes, which are reported in the world's file
}

// clone returns a mutable copy.
func (w *startWorld) clone() *startWorld {
	return &startWorld{
		clock: proto.CloneOf(w.clock), tables: maps.Clone(w.tables), schema: w.schema, relative: maps.Clone(w.relative), broken: w.broken,
	}
}

// emptyWorld returns a world without rows and without a time.
func emptyWorld(schema *world.Schema) *startWorld {
	w := &startWorld{clock: &setupv1.Clock{}, tables: map[string]*worldv1.Table{}, schema: schema, relative: relativeCells{}}
	for _, table := range schema.StoredTables() {
		w.setTable(table.Name, nil)
	}
	return w
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

// zone returns the world's time zone, UTC by default.
func (w *startWorld) zone() *time.Location {
	zone, err := time.LoadLocation(w.clock.GetTimeZone())
	if err != nil {
		return time.UTC
	}
	return zone
}

// worldReader builds worlds, each after its base.
type worldReader struct {
	*usage

	// files are the contents of worlds. Parsed documents would need a multiple of the memory.
	files    map[string][]byte
	readers  map[string]*reader
	built    map[string]*startWorld
	building []string
}

// loadWorlds reads worlds/*.yaml.
func (l *loader) loadWorlds() {
	w := &worldReader{usage: l.usage, files: map[string][]byte{}, readers: map[string]*reader{}, built: map[string]*startWorld{}}
	names, mistakes := l.list(worldFolder, ".yaml")
	for _, file := range names {
		r := newReader(file, l.schema)
		w.readers[worldName(file)] = r
		if data, ok := l.read(r); ok {
			w.files[worldName(file)] = data
		}
	}
	for _, file := range names {
		w.build(worldName(file))
		mistakes = append(mistakes, w.readers[worldName(file)].errors...)
	}
	l.worlds, l.mistakes = w.built, append(l.mistakes, mistakes...)
}

// build returns a world by name, which must have a file.
func (w *worldReader) build(name string) *startWorld {
	if built, ok := w.built[name]; ok {
		return built
	}
	r := w.readers[name]
	out := emptyWorld(r.world())
	w.building = append(w.building, name)
	if doc := r.object(w.document(name), worldForm()); doc != nil {
		if base := doc.get("extends"); r.checkShape(base, shapeText) {
			out = w.extend(r, base)
		}
		r.text(doc.get("notes"))
		r.clock(doc.get("clock"), out.clock)
		r.recomputeWorld(out, doc.get("clock"))
		r.tables(w.usage, doc.get("tables"), out)
		w.countRows(r, doc, out)
	}
	w.building = w.building[:len(w.building)-1]
	out.broken = out.broken || len(r.errors) > 0
	w.built[name] = out
	return out
}

// document returns the document of a world's file, nil after a mistake or after the pack has
// exceeded a limit.
func (w *worldReader) document(name string) *value {
	data, ok := w.files[name]
	if !ok || w.stopped {
		return nil
	}
	return w.readers[name].only(data, "world")
}

// extend returns a copy of a world's base.
func (w *worldReader) extend(r *reader, base *value) *startWorld {
	switch {
	case w.readers[base.text] == nil:
		r.fail(base, "there is no worlds/%s.yaml%s", base.text, hint(base.text, slices.Sorted(maps.Keys(w.readers))))
	case slices.Contains(w.building, base.text):
		r.fail(base, "extends itself by way of %q", base.text)
	default:
		return w.build(base.text).clone()
	}
	return emptyWorld(r.world())
}

// clock reads the fields of a clock, which override existing ones.
func (r *reader) clock(v *value, into *setupv1.Clock) {
	if v = r.object(v, clockForm()); v == nil {
		return
	}
	if zone := v.get("time_zone"); r.checkShape(zone, shapeText) {
		if _, err := time.LoadLocation(zone.text); err != nil || zone.text == "" || zone.text == "Local" {
			r.fail(zone, "%q is no time zone, expected an IANA name like America/Los_Angeles", zone.text)
		}
		into.TimeZone = zone.text
	}
	if now := v.get("now"); r.checkShape(now, shapeText, shapeNumber) {
		zone := (&startWorld{clock: into}).zone()
		into.Now = r.cell(now, world.KindNumber, zone).GetNumber()
	}
	for name, seconds := range map[string]*float64{"step": &into.Step, "user_turn": &into.UserTurn, "agent_turn": &into.AgentTurn} {
		if field := v.get(name); field != nil {
			if *seconds = r.number(field); *seconds < 0 {
				r.fail(field, "is %s, expected 0 or more seconds", field.text)
			}
		}
	}
}

// tables reads tables, which override existing ones: a list of rows replaces a table, a mapping
// changes it.
func (r *reader) tables(u *usage, v *value, into *startWorld) {
	if !r.checkShape(v, shapeMapping) {
		return
	}
	r.resolve(v, into.clock, false)
	r.names(u, into, v).resolve(v)
	var edits []*tableEdit
	for i := range v.fields {
		name := r.tableName(v.fields[i].position, v.fields[i].key)
		schema, ok := r.world().Table(name)
		if !ok {
			continue
		}
		if name == world.Sandbox {
			r.fail(v.fields[i].position, "sandbox holds the messages, which are not given as rows")
			continue
		}
		edit := &tableEdit{
			reader: r, usage: u, schema: schema, zone: into.zone(), rows: into.tables[name].GetRows(), relative: into.relative,
		}
		into.setTable(name, edit.apply(v.fields[i].value))
		edits = append(edits, edit)
	}
	references := &rowReferences{reader: r, world: into, rows: map[string]map[string]*worldv1.Row{}}
	for _, edit := range edits {
		references.fill(edit.schema, edit.added, edit.written)
	}
}
