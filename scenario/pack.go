package scenario

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/packs"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// These are the files of a pack besides its scenarios.
const (
	packFile        = "pack.yaml"
	toolsFile       = "tools.yaml"
	measureFolder   = "measures"
	catalogueWire   = "catalogue.binpb"
	catalogueJSON   = "catalogue.json"
	worldFolder     = "worlds"
	toolFolder      = "tools"
	recordingFolder = "recordings"
)

// Pack is a loaded pack of scenarios.
type Pack struct {
	Manifest

	// Digest is the hex SHA-256 of the names and contents of its files. A directory and its archive
	// have the same digest.
	Digest string
	// Tables are the tables that the pack declares, as in setups. Restated are the built-in tables in
	// its schema, which only the phone's pack has.
	Tables, Restated []*worldv1.TableSchema
	// Modules are the files of the pack's tools. Backends lists the backends of its tools except
	// DefaultBackend.
	Modules  []*setupv1.ToolModule
	Backends []string
	// ToolServers are the pack's tool servers with their tools.
	ToolServers []*setupv1.ToolServer
	// Scenarios are sorted by name.
	Scenarios []Loaded
}

// LoadPack reads a pack: scenarios in *.yaml at the top of fsys, worlds in worlds/*.yaml, shared
// answers in recordings/*.yaml, scenarios in canonical form in catalogue.binpb or catalogue.json,
// tables in schema.yaml, tools in tools/*.py, measures and extractors in measures/*.py, texts of
// tools in tools.yaml, and the manifest in pack.yaml.
//
// It collects the mistakes of all files up to a limit. The error is then of type Errors, and there
// is no other result. Scenarios may share rows of their starting tables, so rows must not be
// changed in place. LoadPack has no state and is safe for concurrent use.
func LoadPack(fsys fs.FS, opts Options) (*Pack, error) {
	return loadPack(fsys, opts, defaultLimits())
}

func loadPack(fsys fs.FS, opts Options, limits limits) (*Pack, error) {
	opts.zones, opts.phones = &sync.Map{}, &sync.Map{}
	l := &loader{packFiles: packFiles{fsys: fsys, usage: &usage{limits: limits}, sums: make(map[string][sha256.Size]byte)}, opts: opts}
	pack := &Pack{}
	l.loadManifest(&pack.Manifest)
	l.loadMeasures()
	l.loadSchema()
	l.loadWorlds()
	l.loadServers(pack.Servers)
	l.loadModules(pack.Servers)
	l.loadTools()
	l.loadRecordings()
	l.loadScenarios()
	l.loadCatalogues()
	slices.SortStableFunc(l.loaded, func(a, b Loaded) int { return cmp.Compare(a.name(), b.name()) })
	l.mistakes = append(l.mistakes, duplicates(l.loaded)...)
	if len(l.mistakes) > 0 {
		return nil, l.mistakes.AtMost(limits.mistakes)
	}
	pack.Digest, pack.Tables, pack.Modules, pack.Backends = l.digest(), l.declared, l.modules, l.opts.backends
	pack.Restated, pack.ToolServers, pack.Scenarios = l.restated, l.servers, l.loaded
	if l.rejectRecordings(pack.Scenarios); len(l.mistakes) > 0 {
		return nil, l.mistakes.AtMost(limits.mistakes)
	}
	return pack, nil
}

// loader holds the parts of a pack.
type loader struct {
	packFiles

	opts Options
	// declared are the pack's tables, restated the built-in ones in its schema. schema holds the
	// declared tables with the built-in ones.
	declared   []*worldv1.TableSchema
	restated   []*worldv1.TableSchema
	schema     *world.Schema
	worlds     map[string]*startWorld
	recordings map[string][]*setupv1.RecordedAnswer
	// modules are the pack's tools, which opts contains. backend is the preferred backend, empty if
	// none of the tools has it.
	modules []*setupv1.ToolModule
	servers []*setupv1.ToolServer
	backend string
	// measures holds the files of the pack's measures, which opts contains.
	measures []*evaluationv1.MeasureModule
	texts    []*setupv1.ToolDescription
	loaded   []Loaded
	mistakes document.Errors
}

// each calls read for every .yaml file of a folder by name, except the pack's own files. It keeps
// the recorded mistakes.
func (l *loader) each(folder string, read func(r *reader, data []byte)) {
	names, mistakes := l.list(folder, ".yaml")
	l.mistakes = append(l.mistakes, mistakes...)
	for _, name := range names {
		if name != packFile && name != toolsFile && name != form.SchemaFile {
			l.file(name, read)
		}
	}
}

// file calls read for a file and keeps the recorded mistakes.
func (l *loader) file(name string, read func(r *reader, data []byte)) {
	r := newReader(name, l.schema)
	r.packMeasures = l.opts.packMeasures
	if data, ok := l.read(r); ok {
		read(r, data)
	}
	l.mistakes = append(l.mistakes, r.Errors...)
	l.stopped = l.stopped || len(l.mistakes) > l.limits.mistakes
}

// optional is file for an optional file.
func (l *loader) optional(name string, read func(r *reader, data []byte)) {
	if _, err := fs.Stat(l.fsys, name); !errors.Is(err, fs.ErrNotExist) {
		l.file(name, read)
	}
}

// sources calls keep with base name and text of every Python file in a folder.
func (l *loader) sources(folder string, keep func(r *reader, name, source string)) {
	files, mistakes := l.list(folder, ".py")
	l.mistakes = append(l.mistakes, mistakes...)
	for _, file := range files {
		l.file(file, func(r *reader, data []byte) {
			name := strings.TrimSuffix(path.Base(file), ".py")
			switch {
			case !form.DeclaredExpression.MatchString(name):
				r.Fail(document.Top(), "the name is %q, expected up to 60 lower-case letters, digits and underscores that start with a letter", document.Truncate(name))
			case !utf8.Valid(data):
				r.Fail(document.Top(), "is not UTF-8")
			default:
				keep(r, name, string(data))
			}
		})
	}
}

// loadModules reads the pack's tools and adds those of its servers.
func (l *loader) loadModules(servers []Server) {
	before := len(l.mistakes)
	builtin := packs.PhoneTools() // the tool host has them
	l.sources(toolFolder, func(_ *reader, name, source string) {
		if source != builtin[name] {
			l.modules = append(l.modules, &setupv1.ToolModule{Name: name, Source: source})
		}
	})
	if l.opts.Backend != DefaultBackend && len(l.modules) > 0 {
		l.backend = l.opts.Backend
	}
	var mistakes document.Errors
	l.opts, mistakes = l.opts.withSetup(&setupv1.Setup{ToolModules: l.modules, ToolServers: l.servers, ToolBackend: l.backend, Schema: l.declared})
	if !slices.Contains(l.opts.backends, l.backend) {
		l.backend = ""
	}
	l.mistakes = append(l.mistakes, setPositions(mistakes, servers)...)
	if len(l.mistakes) > before || len(l.servers) < len(servers) { // errors at their calls would only follow from that
		l.opts.Compile, l.opts.Known = nil, nil
	}
}

// loadTools reads the texts of tools, a mapping by tool.
func (l *loader) loadTools() {
	l.optional(toolsFile, func(r *reader, data []byte) {
		doc := r.Only(data, "mapping by tool")
		if !r.CheckShape(doc, document.ShapeMapping) {
			return
		}
		for _, f := range doc.Fields {
			if !l.opts.isKnownTool(f.Key) {
				r.Fail(f.Position, "unknown tool %q%s", f.Key, document.Hint(f.Key, l.opts.Tools))
				continue
			}
			l.texts = append(l.texts, r.toolText(f, l.opts.shapes[f.Key]))
		}
	})
}

// toolText reads the texts of one tool. shape is nil if the tool has no description.
func (r *reader) toolText(f document.Field, shape *toolShape) *setupv1.ToolDescription {
	out := &setupv1.ToolDescription{Tool: f.Key}
	v := r.object(f.Value, form.ToolText())
	if v == nil {
		return out
	}
	if text := v.Get("description"); text != nil {
		out.Description = proto.String(r.Text(text))
	}
	arguments := v.Get("arguments")
	if !r.CheckShape(arguments, document.ShapeMapping) {
		return out
	}
	for _, argument := range arguments.Fields {
		if shape != nil && !slices.Contains(shape.names, argument.Key) {
			r.Fail(argument.Position, "%s has no argument %q%s", f.Key, argument.Key, document.Hint(argument.Key, shape.names))
			continue
		}
		out.Arguments = append(out.Arguments, &setupv1.ArgumentDescription{
			Name: argument.Key, Description: r.Text(argument.Value),
		})
	}
	return out
}

// loadRecordings reads the shared answers.
func (l *loader) loadRecordings() {
	l.recordings = map[string][]*setupv1.RecordedAnswer{}
	l.each(recordingFolder, func(r *reader, data []byte) {
		doc := r.Only(data, "list of answers")
		var answers []*setupv1.RecordedAnswer
		for _, item := range r.Items(doc) {
			if answer := r.recording(item); answer != nil {
				answers = append(answers, answer)
			}
		}
		l.recordings[worldName(r.File)] = answers
	})
}

// add stores a scenario unless there are too many.
func (l *loader) add(r *reader, at *document.Value, loaded Loaded) {
	if len(l.loaded) == l.scenarios {
		l.exceed(r, at, "is one scenario too many; at most %d are read", l.scenarios)
		return
	}
	l.loaded = append(l.loaded, loaded)
}

// loadCatalogues reads scenarios in canonical form. These have no lines, so a mistake is at the
// start of the file. Other programs write them, so unreachable targets are not mistakes.
func (l *loader) loadCatalogues() {
	for _, file := range []struct {
		name string
		each func([]byte, func(*scenariov1.Scenario) bool) error
	}{{catalogueJSON, eachInJSON}, {catalogueWire, eachEncoded}} {
		l.optional(file.name, func(r *reader, data []byte) {
			count := 0
			err := file.each(data, func(s *scenariov1.Scenario) bool {
				l.canonical(r, count, s)
				count++
				return !l.stopped && len(r.Errors) < document.MaxMistakes
			})
			if err != nil {
				r.Fail(document.Top(), "is no toolsandbox.scenario.v1.Catalogue: %v", err)
			}
		})
	}
}

// canonical checks and stores scenario i of a file in canonical form.
func (l *loader) canonical(r *reader, i int, s *scenariov1.Scenario) {
	if len(l.texts) > 0 && s.GetSetup() != nil {
		if s.GetSetup().GetTools() == nil {
			s.Setup.Tools = &setupv1.ToolSelection{}
		}
		s.Setup.Tools.Descriptions = l.texts
	}
	if len(l.modules)+len(l.servers) > 0 && s.GetSetup() != nil {
		s.Setup.ToolModules, s.Setup.ToolServers, s.Setup.ToolBackend = l.modules, l.servers, l.backend
	}
	l.addMeasures(s)
	opts := l.opts
	opts.AllowUnreachable = true
	for _, problem := range Validate(s, opts) {
		at := &document.Value{Line: 1, Column: 1, Path: fmt.Sprintf("scenarios[%d].%s", i, problem.Path)}
		r.Fail(at, "%s: %s", s.GetSetup().GetName(), problem.Reason)
	}
	for _, table := range s.GetSetup().GetTables() {
		l.usedRows += len(table.GetRows())
	}
	l.checkRows(r, document.Top())
	l.add(r, document.Top(), Loaded{Scenario: s, Position: r.At(document.Top())})
}
