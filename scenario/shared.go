package scenario

import (
	"path"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// Shared is what the scenarios of a pack have in common. A pack sets measures, tables, worlds,
// tools, texts and recordings in this order. Then Build and Adopt are safe for concurrent use.
type Shared struct {
	Options

	// Tables are the tables that the pack declares. Schema holds them with the built-in ones.
	Tables []*worldv1.TableSchema
	Schema *world.Schema

	measures   []*evaluationv1.MeasureModule
	worlds     worlds
	modules    []*setupv1.ToolModule
	servers    []*setupv1.ToolServer
	backend    string // preferred, empty if none of the tools has it
	texts      []*setupv1.ToolDescription
	recordings map[string][]*setupv1.RecordedAnswer
}

// NewShared returns the common parts of a pack that has declared nothing.
func NewShared(opts Options) *Shared {
	opts.phones = &sync.Map{}
	return &Shared{Options: opts, Schema: world.Builtin(), recordings: map[string][]*setupv1.RecordedAnswer{}, worlds: worlds{phone: &phoneWorlds{}}}
}

// SetMeasures sets the pack's measures and extractors. The result lists the mistakes in the files.
func (s *Shared) SetMeasures(modules []*evaluationv1.MeasureModule) document.Errors {
	var mistakes document.Errors
	s.measures = modules
	s.Options, mistakes = s.withMeasures(modules)
	return mistakes
}

// Unsuited explains why a column cannot have a measure, empty if it can.
func (s *Shared) Unsuited(measure string, column world.Column) string {
	return evaluation.Unsuited(evaluation.ColumnMeasure(measure), measure, s.packMeasures.set, column)
}

// ExcludeBuiltin excludes the built-in tables and tools. A standalone pack calls it before Declare.
func (s *Shared) ExcludeBuiltin() {
	s.Tables = []*worldv1.TableSchema{world.StandaloneMarker()}
	s.Schema = world.SchemaOrBuiltin(s.Tables)
}

// Declare adds a table, or columns of a built-in one.
func (s *Shared) Declare(table *worldv1.TableSchema) error {
	tables := append(slices.Clip(s.Tables), table)
	schema, err := world.NewSchema(tables)
	if err != nil {
		return err
	}
	s.Tables, s.Schema = tables, schema
	return nil
}

// SetTools sets the pack's tools and the preferred backend, which may be empty. The result lists
// the mistakes in the modules.
func (s *Shared) SetTools(modules []*setupv1.ToolModule, servers []*setupv1.ToolServer, backend string) document.Errors {
	var mistakes document.Errors
	s.modules, s.servers = modules, servers
	s.Options, mistakes = s.withSetup(&setupv1.Setup{ToolModules: modules, ToolServers: servers, ToolBackend: backend, Schema: s.Tables})
	if s.backend = ""; slices.Contains(s.Backends, backend) {
		s.backend = backend
	}
	return mistakes
}

// ReadTexts reads the pack's texts of tools, a mapping by tool.
func (s *Shared) ReadTexts(r *document.Reader, data []byte) {
	doc := r.Only(data, "mapping by tool")
	if !r.CheckShape(doc, document.ShapeMapping) {
		return
	}
	for _, f := range doc.Fields {
		if s.isKnownTool(f.Key) {
			s.texts = append(s.texts, readText(r, f, s.shapes[f.Key]))
			continue
		}
		r.Fail(f.Position, "unknown tool %q%s", f.Key, spelling.Hint(f.Key, s.Options.Tools))
	}
}

// readText reads the texts of one tool. shape is nil if the tool has no description.
func readText(r *document.Reader, f document.Field, shape *toolShape) *setupv1.ToolDescription {
	out := &setupv1.ToolDescription{Tool: f.Key}
	v := form.ToolText().Read(r, f.Value)
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
			r.Fail(argument.Position, "%s has no argument %q%s", f.Key, argument.Key, spelling.Hint(argument.Key, shape.names))
			continue
		}
		out.Arguments = append(out.Arguments, &setupv1.ArgumentDescription{
			Name: argument.Key, Description: r.Text(argument.Value),
		})
	}
	return out
}

// ReadRecordings reads a file of shared recorded answers. Scenarios name it by its base name.
func (s *Shared) ReadRecordings(r *document.Reader, data []byte) {
	var answers []*setupv1.RecordedAnswer
	for _, item := range r.Items(r.Only(data, "list of answers")) {
		if answer := readRecording(r, item); answer != nil {
			answers = append(answers, answer)
		}
	}
	s.recordings[baseName(r.File)] = answers
}

// Build builds and checks the scenario under a name, and records its mistakes. It also returns the
// tables of its starting world without the scenario's changes. The scenario is nil if the field
// holds none.
func (s *Shared) Build(r *document.Reader, budget *Budget, f document.Field) (built *scenariov1.Scenario, base []*worldv1.Table) {
	before := len(r.Errors)
	b := &builder{
		reader: newReader(r, s.Schema, budget), worlds: s.worlds, recorded: s.recordings, sources: map[string]*document.Value{},
	}
	built = b.scenario(f)
	if built == nil {
		return nil, nil
	}
	setup := built.GetSetup()
	setup.Tools.Descriptions, setup.ToolModules, setup.ToolServers, setup.ToolBackend = s.texts, s.modules, s.servers, s.backend
	setup.Schema, built.Evaluation.Schema = s.Tables, s.Tables
	built.Evaluation.MeasureModules = s.measures
	requireConsent(built, s.requiredConsents(setup.GetTools()))
	b.report(Validate(built, s.Options), f.Value, slices.Clone(r.Errors[before:]))
	return built, b.base
}

// Adopt adds the pack's parts to a scenario in canonical form, which has its own tables, and
// returns its problems. Other programs write such scenarios, so unreachable targets are none.
func (s *Shared) Adopt(foreign *scenariov1.Scenario) []Problem {
	if setup := foreign.GetSetup(); setup != nil {
		if len(s.texts) > 0 {
			if setup.GetTools() == nil {
				setup.Tools = &setupv1.ToolSelection{}
			}
			setup.Tools.Descriptions = s.texts
		}
		if len(s.modules)+len(s.servers) > 0 {
			setup.ToolModules, setup.ToolServers, setup.ToolBackend = s.modules, s.servers, s.backend
		}
	}
	if evaluation := foreign.GetEvaluation(); evaluation != nil && len(s.measures) > 0 {
		evaluation.MeasureModules = s.measures
	}
	opts := s.Options
	opts.AllowUnreachable = true
	return Validate(foreign, opts)
}

// baseName returns the name of a file without folder and extension.
func baseName(file string) string {
	base := path.Base(file)
	return base[:len(base)-len(path.Ext(base))]
}
