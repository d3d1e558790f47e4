package process

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

// sourceAnnotation is the annotation with the source of a flag's value, unless that is the command
// line.
const sourceAnnotation = "source"

// commandLine is the source of flags that the command line sets.
const commandLine = "command line"

// FlagSource returns the source of a flag's value: "command line", "environment variable NAME",
// "FILE:LINE:COLUMN" or "default".
func FlagSource(flag *pflag.Flag) string {
	switch sources := flag.Annotations[sourceAnnotation]; {
	case len(sources) > 0:
		return sources[0]
	case flag.Changed:
		return commandLine
	}
	return "default"
}

// IsSet reports whether a flag was set by the command line, the environment or a file.
func IsSet(flag *pflag.Flag) bool { return FlagSource(flag) != "default" }

// setFrom sets a flag from a source other than the command line.
func setFrom(flags *pflag.FlagSet, flag *pflag.Flag, source string, set func() error) error {
	if err := set(); err != nil {
		return err
	}
	flag.Changed = false
	return flags.SetAnnotation(flag.Name, sourceAnnotation, []string{source})
}

// entry is one setting of a file.
type entry struct {
	key string
	// source is its FILE:LINE:COLUMN.
	source string
	values []string
	list   bool
	// items are the elements of a list.
	items []ast.Node
	// problem says why the value is invalid.
	problem string
}

// reject returns an error about a setting.
func (e *entry) reject(format string, args ...any) error {
	return UsageErrorf("%s: %s: %s", e.source, e.key, fmt.Sprintf(format, args...))
}

// SetFromFile sets flags from a YAML file that maps flag names to values, unless the command line
// or the environment has set them. Call it after SetFromEnvironment. others are flags of other
// commands that the file may set too: their values are parsed, and have no effect here. It sets no
// flag of which the file lists alternatives: they are the returned matrix. The error names file,
// line, column and key.
func SetFromFile(flags, others *pflag.FlagSet, path string) (Matrix, error) {
	entries, err := readEntries(path)
	if err != nil {
		return nil, err
	}
	owner := func(key string) *pflag.FlagSet {
		if flags.Lookup(key) == nil {
			return others
		}
		return flags
	}
	given := make(map[string]bool)
	flags.VisitAll(func(flag *pflag.Flag) { given[flag.Name] = IsSet(flag) })
	matrix := matrixReader{
		path: path, lookup: func(key string) *pflag.Flag { return owner(key).Lookup(key) }, fixed: func(key string) bool { return given[key] },
		known: []*pflag.FlagSet{flags, others}, origin: make(map[string]string),
	}
	var errs []error
	seen := make(map[string]string)
	for i := range entries {
		e := &entries[i]
		flag := matrix.lookup(e.key)
		switch first := seen[e.key]; {
		case first != "":
			errs = append(errs, e.reject("repeats %s", first))
			continue
		case flag == nil || flag.Hidden:
			errs = append(errs, unknown(e, flags, others))
			continue
		}
		seen[e.key] = e.source
		switch {
		case matrix.isDimension(e):
			matrix.add(e)
		case IsSet(flag):
		case e.problem != "":
			errs = append(errs, e.reject("%s given, expected %s", e.problem, valueOf(flag)))
		default:
			if err := setFrom(owner(e.key), flag, e.source, func() error { return e.set(owner(e.key), flag) }); err != nil {
				errs = append(errs, e.reject("%s", err))
			}
		}
	}
	return matrix.matrix, errors.Join(append(errs, matrix.errs...)...)
}

// unknown returns the error of a setting that no flag has.
func unknown(e *entry, sets ...*pflag.FlagSet) error {
	var known []string
	for _, set := range sets {
		set.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				known = append(known, flag.Name)
			}
		})
	}
	text := "no setting has this name"
	if nearest := spelling.Nearest(e.key, known, 2); nearest != "" {
		text += fmt.Sprintf("; did you mean %s?", nearest)
	}
	return e.reject("%s", text)
}

// valueOf describes the values of a flag.
func valueOf(flag *pflag.Flag) string {
	if text := expectation(flag, ""); text != "" {
		return text
	}
	return "a value"
}

// set sets a flag to the values of an entry.
func (e *entry) set(flags *pflag.FlagSet, flag *pflag.Flag) error {
	list, ok := flag.Value.(pflag.SliceValue)
	switch {
	case e.list && ok:
		return list.Replace(e.values)
	case e.list && !repeatable(flag):
		return fmt.Errorf("a list given, expected %s", valueOf(flag))
	}
	for _, value := range e.values {
		if err := flags.Set(flag.Name, value); err != nil {
			return valueError(flag, value, err)
		}
	}
	return nil
}

// repeatable reports whether a flag that is no pflag list takes several values.
func repeatable(flag *pflag.Flag) bool { return flag.Value.Type() == "limits" }

// readEntries reads the settings of a file.
func readEntries(path string) ([]entry, error) {
	raw, err := bom.ReadFile(path)
	if err != nil {
		return nil, UsageErrorf("--config: %w", err)
	}
	file, err := parser.ParseBytes(raw, 0)
	if syntaxError, ok := errors.AsType[yaml.Error](err); ok {
		return nil, UsageErrorf("%s: %s", position(path, syntaxError.GetToken()), syntaxError.GetMessage())
	}
	if err != nil {
		return nil, UsageErrorf("%s: %w", path, err)
	}
	var entries []entry
	for _, document := range file.Docs {
		switch body := document.Body.(type) {
		case nil, *ast.NullNode, *ast.CommentGroupNode:
		case *ast.MappingNode:
			for _, value := range body.Values {
				entries = append(entries, newEntry(path, value))
			}
		case *ast.MappingValueNode:
			entries = append(entries, newEntry(path, body))
		default:
			return nil, UsageErrorf("%s: expected settings, as trials: 3", position(path, body.GetToken()))
		}
	}
	return entries, nil
}

// position returns FILE:LINE:COLUMN of a token.
func position(path string, at *token.Token) string {
	return fmt.Sprintf("%s:%d:%d", path, at.Position.Line, at.Position.Column)
}

func newEntry(path string, node *ast.MappingValueNode) entry {
	key := node.Key.GetToken()
	e := entry{key: strings.TrimSpace(key.Value), source: position(path, key)}
	if list, ok := node.Value.(*ast.SequenceNode); ok {
		e.list, e.items = true, list.Values
		for _, item := range list.Values {
			e.add(item)
		}
		return e
	}
	e.add(node.Value)
	return e
}

// add adds a scalar value, or records what else it is.
func (e *entry) add(node ast.Node) {
	switch value := node.(type) {
	case *ast.StringNode:
		e.values = append(e.values, value.Value)
	case *ast.LiteralNode:
		e.values = append(e.values, value.Value.Value)
	case *ast.NullNode:
		e.problem = "nothing"
	case *ast.AliasNode: // such as the pattern *_wifi without quotes, whose token is the star alone
		e.problem = "an alias (a text that begins with * needs quotes)"
	case *ast.AnchorNode:
		e.problem = "an anchor (a text that begins with & needs quotes)"
	case *ast.TagNode:
		e.problem = "a tag (a text that begins with ! needs quotes)"
	case ast.ScalarNode:
		e.values = append(e.values, strings.TrimSpace(value.GetToken().Value))
	default:
		e.problem = strconv.Quote(node.String())
	}
}

// ErrorSource prefixes an error about a flag's value with its source, unless that is the command
// line: the name of the environment variable, or file and line.
func ErrorSource(flags *pflag.FlagSet, err error) error {
	if err == nil || !errors.Is(err, ErrUsage) {
		return err
	}
	name, ok := strings.CutPrefix(err.Error(), "--")
	if !ok {
		return err
	}
	if end := strings.IndexAny(name, ":, ="); end >= 0 {
		name = name[:end]
	}
	flag := flags.Lookup(name)
	if flag == nil || !IsSet(flag) || FlagSource(flag) == commandLine {
		return err
	}
	return UsageErrorf("%s: %w", FlagSource(flag), err)
}
