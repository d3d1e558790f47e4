package process

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

// variablePrefix is the prefix of environment variables that set flags.
const variablePrefix = "TOOLSANDBOX_"

// FlagVariable returns the name of the environment variable of a flag.
func FlagVariable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// SetFromEnvironment sets each flag from the variable TOOLSANDBOX_<FLAG> (upper case, dashes as
// underscores) if it exists. The command line takes precedence, so call it after parsing, and once.
// Before parsing, the command line would append to list flags.
func SetFromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			return
		}
		name := FlagVariable(flag.Name)
		value, ok := lookup(name)
		if !ok {
			return
		}
		source := "environment variable " + name
		if err := setFrom(flags, flag, source, func() error { return flags.Set(flag.Name, value) }); err != nil {
			errs = append(errs, UsageErrorf("%s: %w", source, valueError(flag, value, err)))
		}
	})
	return errors.Join(errs...)
}

// FlagError explains an error of pflag and what was expected. flags are the known ones, for
// suggestions.
func FlagError(flags *pflag.FlagSet, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return UsageErrorf("--%s: %w", invalid.GetFlag().Name, valueError(invalid.GetFlag(), invalid.GetValue(), err))
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return UsageErrorf("--%s: no value given: see --help", missing.GetFlag().Name)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if nearest := spelling.Nearest(unknown.GetSpecifiedName(), names, 2); nearest != "" && unknown.GetSpecifiedShortnames() == "" {
			return UsageErrorf("%w; did you mean --%s?", err, nearest)
		}
	}
	return UsageErrorf("%w: see --help", err)
}

// decimal is the value of a flag that takes whole numbers. It rejects a decimal number with zeros
// before it, as seq -w prints: pflag takes 010 for 8.
type decimal struct{ pflag.Value }

var leadingZero = regexp.MustCompile(`^[+-]?0[0-9_]`)

// Set implements pflag.Value.
func (d decimal) Set(text string) error {
	if leadingZero.MatchString(text) {
		return strconv.ErrSyntax
	}
	return d.Value.Set(text)
}

// RejectLeadingZeros makes flags reject whole numbers with zeros before them. Other notations with
// a prefix, such as 0x10, stay.
func RejectLeadingZeros(flags *pflag.FlagSet) {
	flags.VisitAll(func(flag *pflag.Flag) {
		_, done := flag.Value.(decimal)
		if kind := flag.Value.Type(); !done && slices.Contains([]string{"int", "int32", "int64", "uint", "uint32", "uint64"}, kind) {
			flag.Value = decimal{flag.Value}
		}
	})
}

// CheckMissingValues returns an error if a flag's value is the name of the next flag.
func CheckMissingValues(flags *pflag.FlagSet) error {
	var found error
	flags.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			name, isLong := strings.CutPrefix(value, "--")
			shortName, single := strings.CutPrefix(value, "-")
			if isLong && name != "" && flags.Lookup(name) != nil || single && len(shortName) == 1 && flags.ShorthandLookup(shortName) != nil {
				found = errors.Join(found, UsageErrorf("--%s: no value given before %s", flag.Name, value))
			}
		}
	})
	return found
}

// valueError is an error about a flag's value without the parser's prefix.
func valueError(flag *pflag.Flag, value string, err error) error {
	expected := expectation(flag, value)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s given, which is out of range: expected %s", strconv.Quote(value), expected)
	case expected != "":
		return fmt.Errorf("%s given, expected %s", strconv.Quote(value), expected)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalid.Unwrap()
	}
	return err
}

// expectation describes the values of a flag with an example, "" if the flag's own error does.
func expectation(flag *pflag.Flag, value string) string {
	example := func(otherwise string) string {
		if slices.Contains([]string{"", "0", "0s", "1"}, flag.DefValue) {
			return otherwise
		}
		return flag.DefValue
	}
	switch kind := flag.Value.Type(); {
	case kind == "bool":
		return "true or false"
	case kind == "duration":
		if _, err := time.ParseDuration(value + "s"); err == nil && value != "" {
			return "a number with its unit, e.g. " + value + "s"
		}
		return "a number with its unit, e.g. " + example("30s")
	case kind == "int", kind == "int32", kind == "int64", strings.HasPrefix(kind, "uint"):
		return "a whole number, e.g. " + example("3")
	case strings.HasPrefix(kind, "float"):
		return "a number, e.g. " + example("0.5")
	case kind == "stringSlice":
		return `values separated by commas, e.g. a,b; one that has a comma or a quotation mark is quoted as "a,b"`
	case strings.Contains(kind, "|"):
		return strings.ReplaceAll(kind, "|", " or ")
	}
	return ""
}

// serviceVariable matches the variables that Kubernetes sets for services: toolsandbox-nats yields
// TOOLSANDBOX_NATS_PORT.
var serviceVariable = regexp.MustCompile(`_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)

// UnknownVariables returns a warning for each environment variable with the prefix that names no
// flag. extra are other known variables.
func UnknownVariables(environment []string, flags []string, extra ...string) []string {
	known := slices.Clone(extra)
	for _, flag := range flags {
		known = append(known, FlagVariable(flag))
	}
	var warnings []string
	for _, entry := range slices.Sorted(slices.Values(environment)) {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, variablePrefix) || slices.Contains(known, name) || serviceVariable.MatchString(name) {
			continue
		}
		warning := fmt.Sprintf("environment variable %s: no flag has this name", name)
		if nearest := spelling.Nearest(strings.TrimPrefix(name, variablePrefix), withoutPrefix(known), 2); nearest != "" {
			warning += fmt.Sprintf("; did you mean %s%s?", variablePrefix, nearest)
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

// withoutPrefix removes the common prefix, so that it does not affect the edit distance.
func withoutPrefix(variables []string) []string {
	names := make([]string, len(variables))
	for i, name := range variables {
		names[i] = strings.TrimPrefix(name, variablePrefix)
	}
	return names
}
