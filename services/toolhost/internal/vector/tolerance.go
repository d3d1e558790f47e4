package vector

import (
	"math"
	"strconv"
	"strings"
)

const (
	// maxKilometers is how far a distance may be from the original's.
	maxKilometers = 1e-9
	// maxRelative is how far a converted amount may be from the original's, relative to it.
	maxRelative = 1e-12

	traceStart = `{"tool_name": "`
	resultKey  = `, "result": `
)

// agree says whether an answer is the original's: content and trace are equal, but for numbers that a tool calculates where
// these may differ a little.
func (a Answer) agree(content string, trace []string) bool {
	if len(a.Trace) != 1 || len(trace) != 1 {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(a.Trace[0], traceStart), `"`)
	wantCall, wantResult := cutResult(a.Trace[0])
	gotCall, gotResult := cutResult(trace[0])
	return wantCall == gotCall && near(name, gotResult, wantResult) && near(name, content, a.Content)
}

// cutResult splits a trace into the call and its result.
func cutResult(trace string) (call, result string) {
	at := strings.LastIndex(trace, resultKey)
	if at < 0 {
		return trace, ""
	}
	return trace[:at], strings.TrimSuffix(trace[at+len(resultKey):], "}")
}

// near says whether two texts are equal or numbers that differ no more than those of a tool may.
func near(tool, got, want string) bool {
	if got == want {
		return true
	}
	g, err := strconv.ParseFloat(got, 64)
	if err != nil {
		return false
	}
	w, err := strconv.ParseFloat(want, 64)
	if err != nil {
		return false
	}
	switch tool {
	case "calculate_lat_lon_distance":
		return math.Abs(g-w) <= maxKilometers
	case "unit_conversion":
		return math.Abs(g-w) <= maxRelative*math.Abs(w)
	default:
		return false
	}
}
