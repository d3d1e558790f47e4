// Package pack loads packs of scenarios: directories or zip files with YAML files in which authors
// describe scenarios, worlds, tables, tools and measures. docs/scenarios.md describes the format.
package pack

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/packs"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// ManifestFile is the optional file that describes a pack.
const ManifestFile = "pack.yaml"

// yamlEnding is the ending of the YAML files of a pack.
const yamlEnding = ".yaml"

// These are the files of a pack besides its scenarios.
const (
	toolsFile       = "tools.yaml"
	measureFolder   = "measures"
	catalogueWire   = "catalogue.binpb"
	catalogueJSON   = "catalogue.json"
	worldFolder     = "worlds"
	recordingFolder = "recordings"
)

// DefaultBackend is the default backend of tools. The name is the original's.
const DefaultBackend = "DEFAULT"

// Options define what the scenarios of a pack may use, and who is asked for tools.
type Options struct {
	scenario.Options

	// ListTools requests the tools of a pack's tool server. Nil disables requests, so packs need files
	// with the lists.
	ListTools func(server Server) ([]*toolsv1.Tool, error)
	// RefreshTools requests the tools even if the pack contains the list.
	RefreshTools bool
	// Backend is the preferred backend of tools with several. Empty means DefaultBackend.
	Backend string
	// Skip reports whether a scenario of a YAML file need not be read, by its name. Mistakes in it are
	// not found, so it is for packs that are known to be valid. Nil reads all.
	Skip func(name string) bool
}

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
	// Scenarios are sorted by name. Skipped is the number of those that Options skipped.
	Scenarios []Loaded
	Skipped   int
}

// Load reads a pack: scenarios in *.yaml at the top of fsys, worlds in worlds/*.yaml, shared
// answers in recordings/*.yaml, scenarios in canonical form in catalogue.binpb or catalogue.json,
// tables in schema.yaml, tools in tools/*.py, measures and extractors in measures/*.py, texts of
// tools in tools.yaml, and the manifest in pack.yaml.
//
// It collects the mistakes of all files up to a limit. The error is then of type document.Errors,
// and there is no other result. Scenarios may share rows of their starting tables, so rows must not
// be changed in place. Load has no state and is safe for concurrent use.
func Load(fsys fs.FS, opts Options) (*Pack, error) {
	return load(fsys, opts, defaultLimits())
}

func load(fsys fs.FS, opts Options, limits limits) (*Pack, error) {
	l := newLoader(fsys, opts, limits)
	l.sums = make(map[string][sha256.Size]byte)
	pack := &Pack{}
	l.loadManifest(&pack.Manifest)
	l.loadMeasures()
	tables := len(l.mistakes)
	l.loadSchema()
	settled := len(l.mistakes)
	l.loadWorlds()
	l.loadServers(pack.Servers)
	l.loadModules(pack.Servers)
	l.optional(toolsFile, l.shared.ReadTexts)
	l.each(recordingFolder, l.shared.ReadRecordings)
	l.loadScenarios()
	l.loadCatalogues()
	slices.SortStableFunc(l.loaded, func(a, b Loaded) int { return cmp.Compare(a.name(), b.name()) })
	l.mistakes = append(l.mistakes, duplicates(l.loaded)...)
	if settled > tables { // without its tables, the pack cannot be judged
		l.mistakes[tables].Follow = len(l.mistakes) - settled
		l.mistakes = l.mistakes[:settled]
	}
	if len(l.mistakes) > 0 {
		return nil, l.mistakes.AtMost(limits.mistakes)
	}
	pack.Digest, pack.Tables, pack.Modules, pack.Backends = l.digest(), l.shared.Tables, l.modules, l.shared.Backends
	pack.Restated, pack.ToolServers, pack.Scenarios, pack.Skipped = l.restated, l.servers, l.loaded, l.skipped
	if l.rejectRecordings(pack.Scenarios); len(l.mistakes) > 0 {
		return nil, l.mistakes.AtMost(limits.mistakes)
	}
	return pack, nil
}

// loader reads the files of a pack.
type loader struct {
	packFiles

	opts Options
	// shared holds the parts that all scenarios of the pack have in common.
	shared *scenario.Shared
	// restated are the built-in tables in the pack's schema.
	restated []*worldv1.TableSchema
	// modules and servers are the pack's tools.
	modules  []*setupv1.ToolModule
	servers  []*setupv1.ToolServer
	loaded   []Loaded
	skipped  int
	mistakes document.Errors
	// seeds and extensions are the scenarios of YAML files.
	seeds      seeds
	extensions []*extension
}

func newLoader(fsys fs.FS, opts Options, limits limits) *loader {
	return &loader{
		packFiles: packFiles{fsys: fsys, limits: limits, budget: limits.rows.Part()}, opts: opts, shared: scenario.NewShared(opts.Options),
		seeds: seeds{map[string]document.Section{}, map[string]bool{}, map[string]scenario.Extended{}},
	}
}

// each calls read for every .yaml file of a folder by name, except the pack's own files. It keeps
// the recorded mistakes.
func (l *loader) each(folder string, read func(r *document.Reader, data []byte)) {
	names, mistakes := l.list(folder, yamlEnding)
	l.mistakes = append(l.mistakes, mistakes...)
	for _, name := range names {
		if name != ManifestFile && name != toolsFile && name != form.SchemaFile {
			l.file(name, read)
		}
	}
}

// file calls read for a file and keeps the recorded mistakes.
func (l *loader) file(name string, read func(r *document.Reader, data []byte)) {
	r := &document.Reader{File: name}
	if data, ok := l.read(r); ok {
		read(r, data)
	}
	l.addMistakes(r.Errors)
}

// addMistakes keeps mistakes. Reading stops after too many.
func (l *loader) addMistakes(mistakes document.Errors) {
	l.mistakes = append(l.mistakes, mistakes...)
	if len(l.mistakes) > l.limits.mistakes {
		l.budget.Stop()
	}
}

// optional is file for an optional file.
func (l *loader) optional(name string, read func(r *document.Reader, data []byte)) {
	if _, err := fs.Stat(l.fsys, name); !errors.Is(err, fs.ErrNotExist) {
		l.file(name, read)
	}
}

// sources calls keep with base name and text of every Python file in a folder.
func (l *loader) sources(folder string, keep func(r *document.Reader, name, source string)) {
	files, mistakes := l.list(folder, ".py")
	l.mistakes = append(l.mistakes, mistakes...)
	for _, file := range files {
		l.file(file, func(r *document.Reader, data []byte) {
			name := strings.TrimSuffix(path.Base(file), ".py")
			switch {
			case !form.DeclaredExpression.MatchString(name):
				r.Fail(document.Top(), "the name is %q, expected up to 60 lower-case letters, digits and underscores that start with a letter", spelling.Truncate(name))
			case !utf8.Valid(data):
				r.Fail(document.Top(), "is not UTF-8")
			default:
				keep(r, name, string(data))
			}
		})
	}
}

// loadMeasures reads the pack's measures and extractors.
func (l *loader) loadMeasures() {
	var modules []*evaluationv1.MeasureModule
	l.sources(measureFolder, func(r *document.Reader, name, source string) {
		if source == "" {
			r.Fail(document.Top(), "is empty, expected a function of wanted and found")
			return
		}
		modules = append(modules, &evaluationv1.MeasureModule{Name: name, Source: source})
	})
	l.mistakes = append(l.mistakes, l.shared.SetMeasures(modules)...)
}

// loadWorlds reads the pack's worlds.
func (l *loader) loadWorlds() {
	names, mistakes := l.list(worldFolder, yamlEnding)
	var files []scenario.WorldFile
	for _, name := range names {
		file := scenario.WorldFile{Reader: &document.Reader{File: name}}
		file.Data, _ = l.read(file.Reader)
		files = append(files, file)
	}
	l.shared.ReadWorlds(files, l.budget)
	for _, file := range files {
		mistakes = append(mistakes, file.Errors...)
	}
	l.mistakes = append(l.mistakes, mistakes...)
}

// loadModules reads the pack's tools and adds those of its servers.
func (l *loader) loadModules(servers []Server) {
	before := len(l.mistakes)
	builtin := packs.PhoneTools() // the tool host has them
	l.sources(form.ToolFolder, func(_ *document.Reader, name, source string) {
		if source != builtin[name] {
			l.modules = append(l.modules, &setupv1.ToolModule{Name: name, Source: source})
		}
	})
	backend := ""
	if l.opts.Backend != DefaultBackend && len(l.modules) > 0 {
		backend = l.opts.Backend
	}
	mistakes := l.shared.SetTools(l.modules, l.servers, backend)
	l.mistakes = append(l.mistakes, setPositions(mistakes, servers)...)
	if len(l.mistakes) > before || len(l.servers) < len(servers) { // errors at their calls would only follow from that
		l.shared.Compile, l.shared.Known = nil, nil
	}
}

// add stores a scenario unless there are too many.
func (l *loader) add(r *document.Reader, at *document.Value, loaded Loaded) {
	if len(l.loaded) == l.scenarios {
		l.budget.Exceed(r, at, "is one scenario too many; at most %d are read", l.scenarios)
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
		l.optional(file.name, func(r *document.Reader, data []byte) {
			count := 0
			err := file.each(data, func(s *scenariov1.Scenario) bool {
				l.canonical(r, count, s)
				count++
				return !l.budget.Stopped() && len(r.Errors) < document.MaxMistakes
			})
			if err != nil {
				r.Fail(document.Top(), "is no toolsandbox.scenario.v1.Catalogue: %v", err)
			}
		})
	}
}

// canonical checks and stores scenario i of a file in canonical form.
func (l *loader) canonical(r *document.Reader, i int, s *scenariov1.Scenario) {
	for _, problem := range l.shared.Adopt(s) {
		at := &document.Value{Line: 1, Column: 1, Path: fmt.Sprintf("scenarios[%d].%s", i, problem.Path)}
		r.Fail(at, "%s: %s", s.GetSetup().GetName(), problem.Reason)
	}
	rows := 0
	for _, table := range s.GetSetup().GetTables() {
		rows += len(table.GetRows())
	}
	l.budget.Count(r, document.Top(), rows)
	l.add(r, document.Top(), Loaded{Scenario: s, Position: r.At(document.Top())})
}
