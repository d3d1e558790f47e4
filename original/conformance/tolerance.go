package conformance

import (
	"math"
	"strconv"

	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// distanceTolerance is the largest accepted difference of distances, in km.
	distanceTolerance = 1e-9
	// conversionTolerance is the largest accepted relative difference of converted amounts.
	conversionTolerance = 1e-12
)

// closeResult reports whether a number from a tool is within the tool's tolerance of the
// original's.
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

// closeContent reports whether the content of an answer equals the original's, up to the tool's
// tolerance.
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

// closeTrace reports whether a tool trace equals the original's, up to the tool's tolerance.
func closeTrace(want, got []string) bool {
	wantTool, wantArguments, wantResult, ok := parseTrace(want)
	if !ok {
		return false
	}
	gotTool, gotArguments, gotResult, ok := parseTrace(got)
	return ok && wantTool == gotTool && wantArguments == gotArguments && closeResult(wantTool, wantResult, gotResult)
}

// parseTrace parses a single trace whose result is a number.
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
	argumentsValue, _ := trace.Get("arguments")
	returned, _ := trace.Get("result")
	tool, named := name.AsStr()
	result, numeric := returned.Number()
	return tool, python.Repr(argumentsValue), result, named && numeric
}
