package measure

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// library contains the names that measures can use: those of Python, without the world.
var library = sync.OnceValue(func() *interp.Library { return interp.NewLibrary(interp.Names{}) })

// functionName matches valid names of functions.
var functionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`)

// Compile compiles Python files of measures and extractors. The functions are in the order of the
// files and of their source. The error is source.Mistakes. The set is then incomplete.
func Compile(modules []*evaluationv1.MeasureModule) (*Set, error) {
	var functions []*Function
	var mistakes source.Mistakes
	size := 0
	for i, file := range modules {
		m := &module{file: Directory + "/" + file.GetName() + ".py", source: file.GetSource()}
		size += len(m.source)
		if size > maxSource || i >= maxModules {
			m.fail(0, "", "with this file, the pack's measures exceed %d bytes or %d files; remove or shorten files", maxSource, maxModules)
		} else {
			m.compile()
		}
		functions, mistakes = append(functions, m.functions...), append(mistakes, m.mistakes...)
	}
	if len(mistakes) == 0 {
		mistakes = duplicateNames(functions)
	}
	if len(mistakes) > 0 {
		return &Set{functions, true}, mistakes
	}
	return &Set{functions: functions}, nil
}

// module is a file of measures during compilation.
type module struct {
	file, source string
	program      *interp.Program
	functions    []*Function
	mistakes     source.Mistakes
}

// fail records a mistake at an offset of the source.
func (m *module) fail(at int, function, format string, args ...any) {
	m.mistakes.Add(m.file, m.source, at, function, format, args...)
}

// compile converts the public functions to measures and extractors.
func (m *module) compile() {
	program, defs := source.Parse(m.source, refusal, m.fail)
	if program == nil {
		return
	}
	m.program = library().Prepare(program)
	for _, s := range program.Body {
		def, ok := s.(*syntax.Def)
		if !ok {
			m.checkNames("", []syntax.Stmt{s})
			continue
		}
		m.checkNames(def.Name.ID, []syntax.Stmt{def})
		for _, x := range def.Decorators {
			m.fail(x.Offset(), def.Name.ID, "measures have no decorators; remove it")
		}
		if !strings.HasPrefix(def.Name.ID, "_") && defs[def.Name.ID] == def {
			m.functions = append(m.functions, m.convert(def))
		}
	}
	if len(m.functions) == 0 && len(m.mistakes) == 0 {
		m.fail(0, "", "there is no measure: a measure is a function whose name begins with a letter; begin those of helpers with _")
	}
	if len(m.mistakes) == 0 {
		source.Start(m.program, noHost{}, m.fail)
	}
	m.mistakes.Sort()
}

// refusal is the reason for which a module cannot be imported.
func refusal(module string) string {
	return module + " cannot be imported: measures may import " + source.Importable
}

// checkNames finds undefined names.
func (m *module) checkNames(function string, body []syntax.Stmt) {
	source.Walk(body, func(node syntax.Expr, field int) bool {
		if name, ok := node.(*syntax.Name); ok && name.Binding == syntax.BindingBuiltin && !library().Has(name.ID) {
			at := name.Offset()
			if field >= 0 {
				at = field
			}
			m.fail(at, function, "name %q is not defined; measures know their arguments and what the file defines, and no world", name.ID)
		}
		return true
	})
}

// convert converts a function to a measure or an extractor.
func (m *module) convert(def *syntax.Def) *Function {
	f, name := def.Function, def.Name.ID
	out := &Function{Name: name, File: m.file, program: m.program, def: def}
	out.Line, out.Column = source.LineColumn(m.source, def.Offset())
	switch {
	case !functionName.MatchString(name):
		m.fail(def.Offset(), name, "the name has to be up to 60 lower-case letters, digits and underscores; begin those of helpers with _")
	case library().Has(name):
		m.fail(def.Offset(), name, "%s means something in Python already; rename the function", name)
	}
	if f.Doc == "" {
		m.fail(def.Offset(), name, `there is no docstring; write """What it compares.""" below the first line`)
	}
	var params []string
	plain := f.Args < 0 && f.Kwargs < 0 && f.PositionalOnly == 0 && f.Positional == len(f.Params)
	for _, p := range f.Params {
		params = append(params, p.Name)
		plain = plain && p.Default == nil
	}
	switch {
	case plain && slices.Equal(params, []string{wantedName, foundName}):
		m.checkMeasure(def, out)
	case plain && slices.Equal(params, []string{toolName, argumentsName, resultName}):
		out.Kind = Extractor
		if !isList(f.Returns) {
			m.fail(def.Offset(), name, "an extractor gives a list of alternatives; write -> List[Dict[str, Any]]")
		}
	default:
		m.fail(def.Offset(), name, "takes (%s), expected (wanted, found) of a measure, or (tool_name, arguments, result) of an extractor, "+
			"without defaults; begin the names of helpers with _", strings.Join(params, ", "))
	}
	return out
}

// These are the names of parameters.
const (
	wantedName, foundName               = "wanted", "found"
	toolName, argumentsName, resultName = "tool_name", "arguments", "result"
)

// checkMeasure checks the signature of a measure.
func (m *module) checkMeasure(def *syntax.Def, out *Function) {
	f, name := def.Function, def.Name.ID
	if word, ok := f.Returns.(*syntax.Name); !ok || word.ID != "float" && word.ID != "bool" {
		m.fail(def.Offset(), name, "a measure gives a number from 0 to 1; write -> float, or -> bool for one that gives True or False")
	}
	wanted, wantedOK := m.hint(def, &f.Params[0])
	found, foundOK := m.hint(def, &f.Params[1])
	if wantedOK && foundOK && (wanted.rows != found.rows || wanted.cell != found.cell) {
		m.fail(def.Offset(), name, "wanted and found have different types; both are the cells of one column, or both the rows of a table")
	}
	out.Kind, out.cell, out.wantedNull, out.foundNull = Cells, wanted.cell, wanted.null, found.null
	if wanted.rows {
		out.Kind = Rows
	}
}

// hint is the type of a parameter of a measure.
type hint struct {
	rows bool
	cell world.Kind
	null bool
}

// hint parses the type of a parameter.
func (m *module) hint(def *syntax.Def, p *syntax.Param) (h hint, ok bool) {
	const expected = "write %s: float, str or bool for cells, perhaps in Optional[…], Any for cells of any type, or List[Dict] for the rows of a table"
	if p.Hint == nil {
		m.fail(def.Offset(), def.Name.ID, "%s has no type; "+expected, p.Name, p.Name)
		return h, false
	}
	parts, ok := source.UnionTypes(p.Hint, nil)
	types := 0
	for _, alternative := range parts {
		switch alternative := alternative.(type) {
		case *syntax.Constant:
			ok = ok && alternative.Value == nil
			h.null = true
			continue
		case *syntax.Name:
			kind, known := cellTypes()[alternative.ID]
			h.cell, ok = kind, ok && known
			h.null = h.null || alternative.ID == "Any"
		default:
			h.rows = isList(alternative)
			ok = ok && h.rows
		}
		types++
	}
	if !ok || types != 1 || h.rows && h.null {
		m.fail(p.Hint.Offset(), def.Name.ID, "the type of %s is none of a measure; "+expected, p.Name, p.Name)
		return h, false
	}
	return h, true
}

// cellTypes returns the types of cells by type hint.
func cellTypes() map[string]world.Kind {
	return map[string]world.Kind{"float": world.KindNumber, "str": world.KindText, "bool": world.KindBool, "Any": 0}
}

// isList reports whether a hint is a list type.
func isList(hint syntax.Expr) bool {
	if of, ok := hint.(*syntax.Subscript); ok {
		hint = of.X
	}
	name, ok := hint.(*syntax.Name)
	return ok && (name.ID == "List" || name.ID == "list")
}
