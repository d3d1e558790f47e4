package process

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/spf13/pflag"
)

const (
	// varyingAnnotation marks flags whose value may differ between the cells of a matrix.
	varyingAnnotation = "varying"
	// nameKey names an alternative in a file. No flag is called so.
	nameKey = "name"
	// maxCells is the largest number of cells of a matrix.
	maxCells = 1000
	// maxAlternativeName is the largest length of the name of an alternative in bytes, and maxCellName
	// that of a cell: of the name of a directory.
	maxAlternativeName, maxCellName = 60, 255
)

// MarkVarying marks flags whose value may differ between the cells of a matrix. A file may list
// alternatives of those that take one value.
func MarkVarying(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, varyingAnnotation, nil) // fails for an unknown flag
	}
}

func varies(flag *pflag.Flag) bool {
	if flag == nil {
		return false
	}
	_, ok := flag.Annotations[varyingAnnotation]
	return ok
}

// Matrix is the settings of a file that have alternatives, in the order of the file. Its cells are
// all combinations.
type Matrix []Dimension

// Dimension is one setting with its alternatives.
type Dimension struct {
	// Setting is its name. Source is its FILE:LINE:COLUMN.
	Setting, Source string
	Alternatives    []Alternative
}

// Alternative is a value of a dimension, and of the settings that come with it.
type Alternative struct {
	// Name is its part of the name of a cell: letters, digits, '.', '_' and '-'.
	Name     string
	settings []entry
}

// Forms returns the alternatives as a file has them, with changed values, such as without secrets.
func (d Dimension) Forms(change func(string) string) []map[string]any {
	all := make([]map[string]any, len(d.Alternatives))
	for i, a := range d.Alternatives {
		all[i] = map[string]any{nameKey: a.Name}
		for _, e := range a.settings {
			values := slices.Clone(e.values)
			for k, value := range values {
				values[k] = change(value)
			}
			all[i][e.key] = values
			if !e.list {
				all[i][e.key] = values[0]
			}
		}
	}
	return all
}

// Cell is one combination of the alternatives of a matrix.
type Cell struct {
	// Name names it among the cells, as "agent=oracle,seed=1": the name of a directory.
	Name     string
	settings []entry
}

// Cells returns the cells. The last dimension changes fastest. A matrix without dimensions has
// one cell.
func (m Matrix) Cells() []Cell {
	cells := []Cell{{}}
	for _, d := range m {
		var next []Cell
		for _, c := range cells {
			for _, a := range d.Alternatives {
				name := strings.TrimPrefix(c.Name+","+d.Setting+"="+a.Name, ",")
				next = append(next, Cell{name, slices.Concat(c.settings, a.settings)})
			}
		}
		cells = next
	}
	return cells
}

// Settings returns the values of a cell by the names of their settings. Elements of a list are
// separated by commas.
func (c Cell) Settings() map[string]string {
	settings := make(map[string]string)
	for _, e := range c.settings {
		settings[e.key] = strings.Join(e.values, ",")
	}
	return settings
}

// Set sets the flags of a cell. The error names file, line, column and key.
func (c Cell) Set(flags *pflag.FlagSet) error {
	var errs []error
	for _, e := range c.settings {
		flag := flags.Lookup(e.key)
		if err := setFrom(flags, flag, e.source, func() error { return e.set(flags, flag) }); err != nil {
			errs = append(errs, e.reject("%s", err))
		}
	}
	return errors.Join(errs...)
}

// CopyFlags sets the flags of a set to the values and sources of those in another one that have the
// same names and are set. None counts as changed by the command line: it may be meant for another
// cell.
func CopyFlags(to, from *pflag.FlagSet) error {
	var errs []error
	from.VisitAll(func(flag *pflag.Flag) {
		target := to.Lookup(flag.Name)
		if target == nil || !IsSet(flag) {
			return
		}
		var err error
		list, isList := target.Value.(pflag.SliceValue)
		if values, ok := flag.Value.(pflag.SliceValue); ok && isList {
			err = list.Replace(values.GetSlice())
		} else {
			err = target.Value.Set(flag.Value.String())
		}
		target.Changed = false
		errs = append(errs, err, to.SetAnnotation(flag.Name, sourceAnnotation, []string{FlagSource(flag)}))
	})
	return errors.Join(errs...)
}

// matrixReader reads the dimensions of a file.
type matrixReader struct {
	path string
	// lookup returns a flag by its name, nil for an unknown one. fixed reports that the command line
	// or the environment has set it.
	lookup func(string) *pflag.Flag
	fixed  func(string) bool
	// known are the sets of all flags.
	known  []*pflag.FlagSet
	matrix Matrix
	// origin is the dimension that sets a setting.
	origin map[string]string
	errs   []error
}

// isDimension reports whether an entry lists alternatives.
func (r *matrixReader) isDimension(e *entry) bool {
	flag := r.lookup(e.key)
	if !e.list || !varies(flag) {
		return false
	}
	_, isList := flag.Value.(pflag.SliceValue)
	return !isList
}

// add adds a dimension.
func (r *matrixReader) add(e *entry) {
	d := Dimension{Setting: e.key, Source: e.source}
	if len(e.items) == 0 {
		r.errs = append(r.errs, e.reject("an empty list given, expected %s, or a list of alternatives", valueOf(r.lookup(e.key))))
	}
	for _, item := range e.items {
		if a, err := r.alternative(e.key, item); err != nil {
			r.errs = append(r.errs, err)
		} else {
			d.Alternatives = append(d.Alternatives, a)
		}
	}
	names := make(map[string]bool)
	for i, a := range d.Alternatives {
		if own := a.settings[0]; names[a.Name] {
			r.errs = append(r.errs, own.reject("another alternative is called %s: give this one a name, as {name: other, %s: %s}", a.Name, e.key, strings.Join(own.values, ",")))
		}
		names[a.Name] = true
		for _, s := range a.settings {
			if other, taken := r.origin[s.key]; taken && other != e.key {
				r.errs = append(r.errs, s.reject("alternatives of %s set it, too", other))
			}
			r.origin[s.key] = e.key
		}
		d.Alternatives[i].settings = slices.DeleteFunc(a.settings, func(s entry) bool { return s.key != e.key && r.fixed(s.key) })
	}
	if !r.fixed(e.key) {
		r.matrix = append(r.matrix, d)
	}
	if cells := r.matrix.count(); cells > maxCells {
		r.errs = append(r.errs, e.reject("%d combinations given, expected at most %d", cells, maxCells))
	}
	if length := r.matrix.longest(); length > maxCellName {
		r.errs = append(r.errs, e.reject("with it a combination has a name of %d bytes, expected at most %d, as a directory's: give alternatives shorter names", length, maxCellName))
	}
}

// longest returns the length of the longest name of a cell in bytes.
func (m Matrix) longest() int {
	length := 0
	for _, d := range m {
		longest := 0
		for _, a := range d.Alternatives {
			longest = max(longest, len(a.Name))
		}
		length += len(",") + len(d.Setting) + len("=") + longest
	}
	return max(0, length-len(","))
}

func (m Matrix) count() int {
	n := 1
	for _, d := range m {
		n *= len(d.Alternatives)
	}
	return n
}

// alternative reads an element of a list: a value of the setting, or a mapping of settings with
// one of that name.
func (r *matrixReader) alternative(setting string, node ast.Node) (Alternative, error) {
	own := entry{key: setting, source: position(r.path, node.GetToken())}
	var pairs []*ast.MappingValueNode
	switch mapping := node.(type) {
	case *ast.MappingNode:
		pairs = mapping.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{mapping}
	default:
		if own.add(node); own.problem != "" {
			return Alternative{}, own.reject("%s given, expected %s, or a mapping of settings, as {%s: …, temperature: 0}", own.problem, valueOf(r.lookup(setting)), setting)
		}
		return newAlternative(r.lookup(setting), []entry{own}, "")
	}
	settings, name, found := []entry{own}, "", false
	for _, value := range pairs {
		e := newEntry(r.path, value)
		flag := r.lookup(e.key)
		_, takesList := listOf(flag)
		switch {
		case e.problem != "":
			return Alternative{}, e.reject("%s given, expected a value", e.problem)
		case e.key == nameKey:
			if name = strings.Join(e.values, ","); unsafe.MatchString(name) || len(name) > maxAlternativeName || name == "" {
				return Alternative{}, e.reject("%q given, expected 1 to %d letters, digits, '.', '_' and '-'", name, maxAlternativeName)
			}
		case flag == nil:
			return Alternative{}, unknown(&e, r.known...)
		case !varies(flag):
			return Alternative{}, e.reject("one value holds for all alternatives: set it at the top of the file")
		case e.list && (!takesList || e.key == setting):
			return Alternative{}, e.reject("a list given, expected %s", valueOf(flag))
		case e.key == setting:
			settings[0], found = e, true
		default:
			settings = append(settings, e)
		}
	}
	if !found {
		return Alternative{}, own.reject("a mapping without %[1]s given, expected {%[1]s: …, temperature: 0}", setting)
	}
	return newAlternative(r.lookup(setting), settings, name)
}

func listOf(flag *pflag.Flag) (list pflag.SliceValue, ok bool) {
	if flag == nil {
		return nil, false
	}
	list, ok = flag.Value.(pflag.SliceValue)
	return list, ok
}

// unsafe is what the name of an alternative does not contain.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// newAlternative names an alternative after its value, unless it has a name.
func newAlternative(flag *pflag.Flag, settings []entry, name string) (Alternative, error) {
	own := settings[0]
	if name == "" {
		value := strings.Join(own.values, ",")
		if name = strings.Trim(unsafe.ReplaceAllString(value, "-"), "-"); name == "" || len(name) > maxAlternativeName {
			return Alternative{}, own.reject("%q names no directory: give it a name, as {name: none, %s: %q}", value, flag.Name, value)
		}
	}
	return Alternative{name, settings}, nil
}
