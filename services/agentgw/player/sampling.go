package player

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// maxStops and maxStop are the largest number of stop sequences and their characters, as in the
	// proto.
	maxStops, maxStop = 16, 200
)

// SetSampling sets at which texts a model ends its answer, and the seed by which it samples. Nil
// leaves both to the provider. The error names the flag, whose name begins with prefix, and the
// providers that take it.
func SetSampling(p *agentgwv1.Player, prefix string, stop []string, seed *int64) error {
	stopFlag, seedFlag := "--"+prefix+"stop", "--"+prefix+"model-seed"
	if len(stop) > 0 {
		if err := takes(p, stopFlag, func(spec *provider.Spec) bool { return spec.TakesStop }); err != nil {
			return err
		}
	}
	if seed != nil {
		if err := takes(p, seedFlag, func(spec *provider.Spec) bool { return spec.TakesSeed }); err != nil {
			return err
		}
	}
	if len(stop) > maxStops {
		return fmt.Errorf("%s: given %d times, expected at most %d", stopFlag, len(stop), maxStops)
	}
	for _, text := range stop {
		if n := len([]rune(text)); n < 1 || n > maxStop {
			return fmt.Errorf("%s: a text of %d characters given, expected 1 to %d", stopFlag, n, maxStop)
		}
	}
	if seed != nil && (*seed < 0 || *seed > math.MaxInt32) {
		return fmt.Errorf("%s: %d given, expected 0 to %d", seedFlag, *seed, math.MaxInt32)
	}
	if model := p.GetModel(); model != nil {
		model.Stop = stop
		if seed != nil {
			model.Seed = proto.Int64(*seed)
		}
	}
	return nil
}

// takes returns an error if a player is no model, or one of a provider that does not take a flag.
func takes(p *agentgwv1.Player, flag string, taken func(*provider.Spec) bool) error {
	if p.GetModel() == nil {
		return fmt.Errorf("%s: given, but player %q is no model", flag, p.GetName())
	}
	var names []string
	for _, spec := range providers.All(nil) {
		if taken(&spec) {
			names = append(names, spec.Name)
		}
		if spec.Name == p.GetModel().GetProvider() && taken(&spec) {
			return nil
		}
	}
	return fmt.Errorf("%s: given, but %s takes none; these do: %s", flag, p.GetModel().GetProvider(), strings.Join(names, ", "))
}
