package scenario

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// The files of a pack beside its scenarios.
const (
	packFile       = "pack.yaml"
	toolsFile      = "tools.yaml"
	catalogueWire  = "catalogue.binpb"
	catalogueJSON  = "catalogue.json"
	maxCatalogue   = 256 << 20
	yamlFiles      = "*.yaml"
	worldFiles     = "worlds/*.yaml"
	recordingFiles = "recordings/*.yaml"
)

// Pack is a set of scenarios that is kept together.
type Pack struct {
	// Name and Description are those of pack.yaml; empty without one.
	Name, Description string
	// Scenarios are sorted by name.
	Scenarios []Loaded
}

// LoadPack reads a pack: every *.yaml file at the top of fsys with one scenario per document, the worlds they start from in
// worlds/*.yaml, answers that they share in recordings/*.yaml, scenarios in their canonical form in catalogue.binpb or
// catalogue.json, texts of tools in tools.yaml, and the pack's name in pack.yaml. All mistakes of all files are collected:
// the error then is of type Errors and nothing else is returned. Other errors are those of fsys. LoadPack keeps no state and
// may run concurrently.
func LoadPack(fsys fs.FS, opts Options) (*Pack, error) {
	l := &loader{fsys: fsys, opts: opts}
	var mistakes Errors
	var err error
	if l.worlds, mistakes, err = loadWorlds(fsys); err != nil {
		return nil, err
	}
	l.mistakes = mistakes
	pack := &Pack{}
	for _, step := range []func() error{
		func() error { return l.describe(pack) }, l.loadTools, l.loadRecordings, l.loadScenarios, l.loadCatalogues,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(l.loaded, func(a, b Loaded) int {
		return cmp.Compare(a.Scenario.GetSetup().GetName(), b.Scenario.GetSetup().GetName())
	})
	l.mistakes = append(l.mistakes, duplicates(l.loaded)...)
	if len(l.mistakes) > 0 {
		l.mistakes.sort()
		return nil, l.mistakes
	}
	pack.Scenarios = l.loaded
	return pack, nil
}

// loader collects the parts of a pack.
type loader struct {
	fsys       fs.FS
	opts       Options
	worlds     map[string]*startWorld
	recordings map[string][]*setupv1.RecordedAnswer
	texts      []*setupv1.ToolDescription
	loaded     []Loaded
	mistakes   Errors
}

// each calls read with every file that matches a pattern, by name, and keeps the mistakes that it records.
func (l *loader) each(pattern string, read func(r *reader, data []byte)) error {
	names, err := fs.Glob(l.fsys, pattern)
	if err != nil {
		return fmt.Errorf("list scenarios: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		r := &reader{file: name}
		data, err := r.load(l.fsys)
		if err != nil {
			return fmt.Errorf("read scenarios: %w", err)
		}
		if len(r.errors) == 0 {
			read(r, data)
		}
		l.mistakes = append(l.mistakes, r.errors...)
	}
	return nil
}

// load reads the file, unless it is too big.
func (r *reader) load(fsys fs.FS) ([]byte, error) {
	info, err := fs.Stat(fsys, r.file)
	if err != nil {
		return nil, err
	}
	limit := int64(maxFile)
	if r.file == catalogueWire || r.file == catalogueJSON {
		limit = maxCatalogue
	}
	if info.Size() > limit {
		r.fail(&value{line: 1, column: 1}, "the file has %d bytes; at most %d are read", info.Size(), limit)
		return nil, nil
	}
	return fs.ReadFile(fsys, r.file)
}

// only returns the one document of a file, nil if there is none.
func (r *reader) only(data []byte, what string) *value {
	docs := r.documents(data)
	if len(docs) != 1 && len(r.errors) == 0 {
		r.fail(&value{line: 1, column: 1}, "has %d documents, expected one %s", len(docs), what)
	}
	if len(docs) != 1 {
		return nil
	}
	return docs[0]
}

func (l *loader) describe(pack *Pack) error {
	return l.each(packFile, func(r *reader, data []byte) {
		if doc := r.object(r.only(data, "description of the pack"), packForm()); doc != nil {
			pack.Name, pack.Description = r.text(doc.get("name")), r.text(doc.get("description"))
		}
	})
}

// loadTools reads what agents are told about tools, a mapping by tool.
func (l *loader) loadTools() error {
	return l.each(toolsFile, func(r *reader, data []byte) {
		doc := r.only(data, "mapping by tool")
		if !r.want(doc, shapeMapping) {
			return
		}
		for _, f := range doc.fields {
			if !l.opts.known(f.key) {
				r.fail(f.place, "unknown tool %q%s", f.key, hint(f.key, l.opts.Tools))
				continue
			}
			l.texts = append(l.texts, r.toolText(f, l.opts.shapes[f.key]))
		}
	})
}

// toolText reads the texts of one tool. shape may be nil, if the tool is not described.
func (r *reader) toolText(f field, shape *toolShape) *setupv1.ToolDescription {
	out := &setupv1.ToolDescription{Tool: f.key}
	v := r.object(f.value, toolTextForm())
	if v == nil {
		return out
	}
	if text := v.get("description"); text != nil {
		out.Description = proto.String(r.text(text))
	}
	arguments := v.get("arguments")
	if !r.want(arguments, shapeMapping) {
		return out
	}
	for _, argument := range arguments.fields {
		if shape != nil && !slices.Contains(shape.names, argument.key) {
			r.fail(argument.place, "%s has no argument %q%s", f.key, argument.key, hint(argument.key, shape.names))
			continue
		}
		out.Arguments = append(out.Arguments, &setupv1.ArgumentDescription{
			Name: argument.key, Description: r.text(argument.value),
		})
	}
	return out
}

// loadRecordings reads the answers that scenarios share.
func (l *loader) loadRecordings() error {
	l.recordings = map[string][]*setupv1.RecordedAnswer{}
	return l.each(recordingFiles, func(r *reader, data []byte) {
		doc := r.only(data, "list of answers")
		var answers []*setupv1.RecordedAnswer
		for _, item := range r.items(doc) {
			if answer := r.recording(item); answer != nil {
				answers = append(answers, answer)
			}
		}
		l.recordings[worldName(r.file)] = answers
	})
}

func (l *loader) loadScenarios() error {
	return l.each(yamlFiles, func(r *reader, data []byte) {
		if r.file == packFile || r.file == toolsFile {
			return
		}
		for _, doc := range r.documents(data) {
			before := len(r.errors)
			b := &builder{reader: r, worlds: l.worlds, recorded: l.recordings, places: map[string]*value{}}
			built := b.scenario(doc)
			if built == nil {
				continue
			}
			built.Setup.Tools.Descriptions = l.texts
			b.report(Validate(built, l.opts), doc, slices.Clone(r.errors[before:]))
			l.loaded = append(l.loaded, Loaded{
				Scenario: built, Position: Position{r.file, doc.line, doc.column}, World: b.text(doc.get("world")), Base: b.base,
			})
		}
	})
}

// loadCatalogues reads scenarios in their canonical form. They know no lines: every mistake is at the start of the file. They
// come from other programs, so targets that cannot be reached are no mistakes of somebody who could mend them.
func (l *loader) loadCatalogues() error {
	for _, form := range []struct {
		name   string
		decode func([]byte, proto.Message) error
	}{{catalogueJSON, protojson.Unmarshal}, {catalogueWire, proto.Unmarshal}} {
		if err := l.each(form.name, func(r *reader, data []byte) { l.catalogue(r, data, form.decode) }); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) catalogue(r *reader, data []byte, decode func([]byte, proto.Message) error) {
	top := &value{line: 1, column: 1}
	catalogue := &scenariov1.Catalogue{}
	if err := decode(data, catalogue); err != nil {
		r.fail(top, "is no toolsandbox.scenario.v1.Catalogue: %v", err)
		return
	}
	for i, s := range catalogue.GetScenarios() {
		if len(l.texts) > 0 && s.GetSetup() != nil {
			if s.GetSetup().GetTools() == nil {
				s.Setup.Tools = &setupv1.ToolSelection{}
			}
			s.Setup.Tools.Descriptions = l.texts
		}
		opts := l.opts
		opts.Impossible = true
		for _, problem := range Validate(s, opts) {
			at := &value{line: 1, column: 1, path: fmt.Sprintf("scenarios[%d].%s", i, problem.Path)}
			r.fail(at, "%s: %s", s.GetSetup().GetName(), problem.Reason)
		}
		l.loaded = append(l.loaded, Loaded{Scenario: s, Position: Position{r.file, 1, 1}})
	}
}

// In puts the mistakes below a path, that of the pack in which they are.
func (e Errors) In(prefix string) Errors {
	for _, mistake := range e {
		mistake.File = strings.TrimSuffix(prefix, "/") + "/" + mistake.File
	}
	return e
}
