package sweep

import (
	"errors"
	"fmt"
	"strings"

	"buf.build/go/protovalidate"

	"github.com/toolsandbox/toolsandbox/internal/process"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// CheckID validates a sweep's id from a flag or an argument.
func CheckID(name, id string) error {
	err := protovalidate.Validate(&orchestratorv1.CancelSweepRequest{SweepId: id})
	broken, ok := errors.AsType[*protovalidate.ValidationError](err)
	switch {
	case err == nil:
		return nil
	case !ok || len(broken.Violations) == 0:
		return fmt.Errorf("check %s: %w", name, err)
	}
	return process.UsageErrorf("%s: %q given, expected %s", name, id, characters(broken.Violations[0].RuleValue.String()))
}

// characters describes a pattern of one character class with a length, such as ^[a-z]{1,9}$, in
// words.
func characters(pattern string) string {
	set, bounds, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "}$"), "{")
	minimum, maximum, between := strings.Cut(bounds, ",")
	if !ok || !between {
		return "a match of " + pattern
	}
	return fmt.Sprintf("%s to %s characters of %s", minimum, maximum, set)
}
