// Package flagrule holds rules between the flags of a command.
package flagrule

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// needsAnnotation holds the flag without which a flag has no effect.
const needsAnnotation = "needs"

// Needs notes that flags have no effect unless another one is on or has a value.
func Needs(flags *pflag.FlagSet, needed string, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, needsAnnotation, []string{needed}); err != nil {
			panic(fmt.Sprintf("needs of --%s: %v", name, err))
		}
	}
}

// Check rejects flags of the command line that have no effect. Those of the environment and of
// a file may be meant for other commands. A needed flag that the command lacks is not missed.
func Check(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(flag *pflag.Flag) {
		needs := flag.Annotations[needsAnnotation]
		if len(needs) == 0 || !flag.Changed {
			return
		}
		if needed := flags.Lookup(needs[0]); needed != nil && isOff(needed) {
			errs = append(errs, fmt.Errorf("--%s: given, but it has no effect without --%s", flag.Name, needed.Name))
		}
	})
	return errors.Join(errs...)
}

// isOff reports whether a flag is false, empty or 0.
func isOff(flag *pflag.Flag) bool {
	text := flag.Value.String()
	return text == "" || text == "false" || text == "[]" || text == "0"
}
