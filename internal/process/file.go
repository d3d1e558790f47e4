package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

// sourceAnnotation names a flag's annotation that says who set it, unless the command line did.
const sourceAnnotation = "source"

// Source says who set a flag: "command line", "environment variable NAME" or "FILE:LINE"; it is
// "default" for a flag that nobody set.
func Source(flag *pflag.Flag) string {
	switch said := flag.Annotations[sourceAnnotation]; {
	case len(said) > 0:
		return said[0]
	case flag.Changed:
		return "command line"
	}
	return "default"
}

// Given says whether somebody set a flag: the command line, the environment or a file.
func Given(flag *pflag.Flag) bool { return Source(flag) != "default" }

// setFrom sets a flag for a source that is not the command line.
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
	// wrong says why the value is none.
	wrong string
}

// File sets flags from a YAML file that maps names of flags to values, unless the command line or
// the environment has set them: call it after Environment. known are the names that a file may
// have; those of them that are no flags here are for other commands. An error names file, line and
// key.
func File(flags *pflag.FlagSet, path string, known []string) error {
	entries, err := readEntries(path)
	if err != nil {
		return err
	}
	var errs []error
	seen := make(map[string]int)
	for _, e := range entries {
		place := fmt.Sprintf("%s:%d", path, e.line)
		refuse := func(format string, args ...any) {
			errs = append(errs, Usage("%s: %s: %s", place, e.key, fmt.Sprintf(format, args...)))
		}
		if first := seen[e.key]; first > 0 {
			refuse("given in line %d already", first)
			continue
		}
		seen[e.key] = e.line
		if !slices.Contains(known, e.key) {
			text := "no setting has this name"
			if near := spelling.Nearest(e.key, known, 2); near != "" {
				text += fmt.Sprintf("; did you mean %s?", near)
			}
			refuse("%s", text)
			continue
		}
		flag := flags.Lookup(e.key)
		if flag == nil || Given(flag) {
			continue
		}
		if e.wrong != "" {
			refuse("%s given, expected %s", e.wrong, valueOf(flag))
			continue
		}
		if err := setFrom(flags, flag, place, func() error { return e.set(flags, flag) }); err != nil {
			refuse("%s", err)
		}
	}
	return errors.Join(errs...)
}

// valueOf says what a flag takes.
func valueOf(flag *pflag.Flag) string {
	if text := expectation(flag, ""); text != "" {
		return text
	}
	return "a value"
}

// set gives a flag the values of an entry.
func (e *entry) set(flags *pflag.FlagSet, flag *pflag.Flag) error {
	many, ok := flag.Value.(pflag.SliceValue)
	switch {
	case e.list && ok:
		return many.Replace(e.values)
	case e.list && !repeatable(flag):
		return fmt.Errorf("a list given, expected %s", valueOf(flag))
	}
	for _, value := range e.values {
		if err := flags.Set(flag.Name, value); err != nil {
			return refusal(flag, value, err)
		}
	}
	return nil
}

// repeatable says whether a flag that is no list of pflag's takes several values.
func repeatable(flag *pflag.Flag) bool { return flag.Value.Type() == "limits" }

// readEntries reads the settings of a file.
func readEntries(path string) ([]entry, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, Usage("--config: %w", err)
	}
	file, err := parser.ParseBytes(raw, 0)
	if wrong, ok := errors.AsType[yaml.Error](err); ok {
		return nil, Usage("%s:%d: %s", path, wrong.GetToken().Position.Line, wrong.GetMessage())
	}
	if err != nil {
		return nil, Usage("%s: %w", path, err)
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
			return nil, Usage("%s:%d: expected settings, as trials: 3", path, body.GetToken().Position.Line)
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

// add takes a value as it is written, or notes what else is there.
func (e *entry) add(node ast.Node) {
	switch value := node.(type) {
	case *ast.StringNode:
		e.values = append(e.values, value.Value)
	case *ast.LiteralNode:
		e.values = append(e.values, value.Value.Value)
	case *ast.NullNode:
		e.wrong = "nothing"
	case ast.ScalarNode:
		e.values = append(e.values, strings.TrimSpace(value.GetToken().Value))
	default:
		e.wrong = strconv.Quote(node.String())
	}
}

// Blame says where the wrong value of a setting comes from, if that is not the command line: an
// error about the flag --NAME then begins with the name of the variable, or with file and line.
func Blame(flags *pflag.FlagSet, err error) error {
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
	if flag == nil || flag.Changed || !Given(flag) {
		return err
	}
	return Usage("%s: %w", Source(flag), err)
}
