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

// startWorld is the state in which scenarios start. Worlds and scenarios share tables and rows,
// which nobody changes: a change makes new ones.
type startWorld struct {
	clock  *setupv1.Clock
	tables map[string]*worldv1.Table
	schema *world.Schema
	// relative are the cells that move with the clock.
	relative relativeCells
	broken   bool // has mistakes, which are reported at the world's own file
}

// clone returns a copy that may be changed.
func (w *startWorld) clone() *startWorld {
	return &startWorld{
		clock: proto.CloneOf(w.clock), tables: maps.Clone(w.tables), schema: w.schema, relative: maps.Clone(w.relative), broken: w.broken,
	}
}

// emptyWorld returns a world without rows and without a time.
func emptyWorld(schema *world.Schema) *startWorld {
	w := &startWorld{clock: &setupv1.Clock{}, tables: map[string]*worldv1.Table{}, schema: schema, relative: relativeCells{}}
	for _, table := range schema.Stored() {
		w.put(table.Name, nil)
	}
	return w
}

// put replaces the rows of a table.
func (w *startWorld) put(name string, rows []*worldv1.Row) {
	w.tables[name] = &worldv1.Table{Name: name, Rows: rows}
}

// versions returns the starting tables: one version each, from the first message on.
func (w *startWorld) versions() []*worldv1.Table {
	out := make([]*worldv1.Table, 0, len(w.tables))
	for _, table := range w.schema.Stored() {
		out = append(out, w.tables[table.Name])
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
	*usage

	// files are the contents of worlds: as documents, all of them together would take many times
	// the memory.
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
		r := &reader{file: file, schema: l.schema}
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

// build returns the named world, which has a file.
func (w *worldReader) build(name string) *startWorld {
	if built, ok := w.built[name]; ok {
		return built
	}
	r := w.readers[name]
	out := emptyWorld(r.world())
	w.building = append(w.building, name)
	if doc := r.object(w.document(name), worldForm()); doc != nil {
		if base := doc.get("extends"); r.want(base, shapeText) {
			out = w.extend(r, base)
		}
		r.text(doc.get("notes"))
		r.clock(doc.get("clock"), out.clock)
		r.move(out, doc.get("clock"))
		r.tables(w.usage, doc.get("tables"), out)
		w.countRows(r, doc, out)
	}
	w.building = w.building[:len(w.building)-1]
	out.broken = out.broken || len(r.errors) > 0
	w.built[name] = out
	return out
}

// document returns what is in a world's file; nil after a mistake, and after a limit of the pack
// has been passed.
func (w *worldReader) document(name string) *value {
	data, ok := w.files[name]
	if !ok || w.stopped {
		return nil
	}
	return w.readers[name].only(data, "world")
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
	return emptyWorld(r.world())
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
	for name, seconds := range map[string]*float64{"step": &into.Step, "user_turn": &into.UserTurn, "agent_turn": &into.AgentTurn} {
		if given := v.get(name); given != nil {
			if *seconds = r.number(given); *seconds < 0 {
				r.fail(given, "is %s, expected 0 or more seconds", given.text)
			}
		}
	}
}

// tables reads tables over the ones that are there: a list of rows replaces a table, a mapping
// changes it.
func (r *reader) tables(u *usage, v *value, into *startWorld) {
	if !r.want(v, shapeMapping) {
		return
	}
	r.resolve(v, into.clock)
	r.names(u, into, v).resolve(v)
	var edits []*tableEdit
	for i := range v.fields {
		name := r.tableName(v.fields[i].place, v.fields[i].key)
		schema, ok := r.world().Table(name)
		if !ok {
			continue
		}
		if name == world.Sandbox {
			r.fail(v.fields[i].place, "sandbox holds the messages, which are not given as rows")
			continue
		}
		edit := &tableEdit{
			reader: r, usage: u, schema: schema, zone: into.zone(), rows: into.tables[name].GetRows(), relative: into.relative,
		}
		into.put(name, edit.apply(v.fields[i].value))
		edits = append(edits, edit)
	}
	references := &rowReferences{reader: r, world: into, rows: map[string]map[string]*worldv1.Row{}}
	for _, edit := range edits {
		references.fill(edit.schema, edit.added, edit.written)
	}
}
