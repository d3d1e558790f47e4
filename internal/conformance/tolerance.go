package conformance

import (
	"math"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

const (
	// distanceTolerance is how far distances may lie apart, in km.
	distanceTolerance = 1e-9
	// conversionTolerance is how far converted amounts may lie apart, in relation to their size.
	conversionTolerance = 1e-12
)

// closeResult reports whether a number that a tool computes is near enough to the original's.
func closeResult(tool string, want, got float64) bool {
	switch tool {
	case "calculate_lat_lon_distance":
		return math.Abs(want-got) <= distanceTolerance
	case "unit_conversion":
		return math.Abs(want-got) <= conversionTolerance*math.Abs(want)
	default:
		return false
	}
}

// closeContent reports whether what was printed agrees with the original's, up to what the tool's
// result may differ by.
func closeContent(want answer, got string) bool {
	if want.content == got {
		return true
	}
	tool, _, _, ok := parseTrace(want.trace)
	if !ok {
		return false
	}
	w, wantErr := strconv.ParseFloat(want.content, 64)
	g, gotErr := strconv.ParseFloat(got, 64)
	return wantErr == nil && gotErr == nil && closeResult(tool, w, g)
}

// closeTrace says the same of a tool trace.
func closeTrace(want, got []string) bool {
	wantTool, wantArguments, wantResult, ok := parseTrace(want)
	if !ok {
		return false
	}
	gotTool, gotArguments, gotResult, ok := parseTrace(got)
	return ok && wantTool == gotTool && wantArguments == gotArguments && closeResult(wantTool, wantResult, gotResult)
}

// parseTrace returns the parts of a single trace with a number as its result.
func parseTrace(traces []string) (tool, arguments string, result float64, ok bool) {
	if len(traces) != 1 {
		return "", "", 0, false
	}
	value, err := python.ParseJSON(traces[0])
	if err != nil {
		return "", "", 0, false
	}
	trace, ok := value.AsDict()
	if !ok {
		return "", "", 0, false
	}
	name, _ := trace.Get("tool_name")
	given, _ := trace.Get("arguments")
	returned, _ := trace.Get("result")
	tool, named := name.AsStr()
	result, numeric := returned.Number()
	return tool, python.Repr(given), result, named && numeric
}
