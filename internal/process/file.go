package process

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

// sourceAnnotation is the annotation with the source of a flag's value, unless that is the command
// line.
const sourceAnnotation = "source"

// FlagSource returns the source of a flag's value: "command line", "environment variable NAME",
// "FILE:LINE" or "default".
func FlagSource(flag *pflag.Flag) string {
	switch sources := flag.Annotations[sourceAnnotation]; {
	case len(sources) > 0:
		return sources[0]
	case flag.Changed:
		return "command line"
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
	key    string
	line   int
	values []string
	list   bool
	// problem says why the value is invalid.
	problem string
}

// SetFromFile sets flags from a YAML file that maps flag names to values, unless the command line
// or the environment has set them. Call it after SetFromEnvironment. others are flags of other
// commands that the file may set too: their values are parsed, and have no effect here. The error
// names file, line and key.
func SetFromFile(flags, others *pflag.FlagSet, path string) error {
	entries, err := readEntries(path)
	if err != nil {
		return err
	}
	var known []string
	for _, set := range []*pflag.FlagSet{flags, others} {
		set.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				known = append(known, flag.Name)
			}
		})
	}
	var errs []error
	seen := make(map[string]int)
	for _, e := range entries {
		source := fmt.Sprintf("%s:%d", path, e.line)
		reject := func(format string, args ...any) {
			errs = append(errs, UsageErrorf("%s: %s: %s", source, e.key, fmt.Sprintf(format, args...)))
		}
		if first := seen[e.key]; first > 0 {
			reject("repeats line %d", first)
			continue
		}
		seen[e.key] = e.line
		if !slices.Contains(known, e.key) {
			text := "no setting has this name"
			if nearest := spelling.Nearest(e.key, known, 2); nearest != "" {
				text += fmt.Sprintf("; did you mean %s?", nearest)
			}
			reject("%s", text)
			continue
		}
		owner := flags
		if flags.Lookup(e.key) == nil {
			owner = others
		}
		flag := owner.Lookup(e.key)
		if IsSet(flag) {
			continue
		}
		if e.problem != "" {
			reject("%s given, expected %s", e.problem, valueOf(flag))
			continue
		}
		if err := setFrom(owner, flag, source, func() error { return e.set(owner, flag) }); err != nil {
			reject("%s", err)
		}
	}
	return errors.Join(errs...)
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
		return nil, UsageErrorf("%s:%d: %s", path, syntaxError.GetToken().Position.Line, syntaxError.GetMessage())
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
				entries = append(entries, newEntry(value))
			}
		case *ast.MappingValueNode:
			entries = append(entries, newEntry(body))
		default:
			return nil, UsageErrorf("%s:%d: expected settings, as trials: 3", path, body.GetToken().Position.Line)
		}
	}
	return entries, nil
}

func newEntry(node *ast.MappingValueNode) entry {
	key := node.Key.GetToken()
	e := entry{key: strings.TrimSpace(key.Value), line: key.Position.Line}
	if list, ok := node.Value.(*ast.SequenceNode); ok {
		e.list = true
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
	if flag == nil || flag.Changed || !IsSet(flag) {
		return err
	}
	return UsageErrorf("%s: %w", FlagSource(flag), err)
}
