package geodesic

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/python"
)

// The vectors' C library does not always round to the nearest float. This share of a file's
// distances may differ, by this many kilometres.
const (
	tolerance         = 4e-12
	maxDifferentShare = 0.01
)

// vectorCounts counts the results of comparing with a vector file.
type vectorCounts struct {
	distances, rounded, raised int
}

// check compares the text of a distance with the vector's content.
func (n *vectorCounts) check(t *testing.T, line int, args *python.Dict, content string) {
	t.Helper()
	get := func(name string) float64 {
		value, _ := args.Get(name)
		number, _ := value.Number()
		return number
	}
	n.distances++
	got := Distance(get("latitude_0"), get("longitude_0"), get("latitude_1"), get("longitude_1"))
	if python.FormatFloat(got) == content {
		return
	}
	want, err := strconv.ParseFloat(content, 64)
	if err != nil {
		t.Fatalf("line %d: %v", line, err)
	}
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("line %d: Distance(%s) = %v, want %s", line, python.Repr(args.Value()), got, content)
		return
	}
	n.rounded++
	t.Logf("line %d: Distance(%s) = %v, want %s: rounded otherwise", line, python.Repr(args.Value()), got, content)
}

// finish logs the counts and fails if too many distances differ.
func (n *vectorCounts) finish(t *testing.T, file string) {
	t.Helper()
	t.Logf("%s: %d distances of which %d are rounded otherwise, and %d calls that raise", file, n.distances, n.rounded, n.raised)
	if limit := maxDifferentShare * float64(n.distances); float64(n.rounded) > limit {
		t.Errorf("%s: %d distances are rounded otherwise, want at most %g", file, n.rounded, limit)
	}
}

func TestVectors(t *testing.T) {
	var n vectorCounts
	vectortest.Lines(t, vectortest.Dir(t, "tools/geodesic.jsonl"), func(line int, raw []byte) {
		vector, err := python.ParseJSON(raw)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		c, _ := vector.AsDict()
		content, _ := c.Get("content")
		exception, _ := c.Get("exception")
		if !exception.IsNone() {
			n.raised++
			return
		}
		n.check(t, line, c, python.Text(content))
	})
	n.finish(t, "geodesic.jsonl")
}

func TestCallVectors(t *testing.T) {
	var n vectorCounts
	vectortest.Lines(t, vectortest.Dir(t, "tools/calls/calculate_lat_lon_distance.jsonl"), func(line int, raw []byte) {
		var c struct {
			Arguments, Content string
			Exception          *string
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		if c.Exception != nil {
			n.raised++
			return
		}
		args, err := python.ParseJSON(c.Arguments)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		dict, _ := args.AsDict()
		n.check(t, line, dict, c.Content)
	})
	n.finish(t, "calls/calculate_lat_lon_distance.jsonl")
}

func TestDistance(t *testing.T) {
	tests := []struct {
		name                                         string
		latitude0, longitude0, latitude1, longitude1 float64
		want                                         float64
	}{
		{"same place", 20.001, 0, 20.001, 0, 0},
		{"poles", 90, 12, -90, -7, 20003.931458625444},
		{"along the equator", 0, 0, 0, 90, 10018.754171394621},
		{"opposite on the equator", 0, 0, math.Copysign(0, -1), 180, 20003.931458625444},
		{"city", -20.53615535824339, -21.202891116126807, -20.536789327808368, -21.206657879790498, 0.3990492592969253},
		{"tiny", -85.21736278342831, -23.701695368765854, -85.21736278354781, -23.701695369041275, 1.3590547027264424e-08},
		{"next float", 38.49651724080934, 96.22083779400117, 38.49651724080935, 96.22083779400117, 7.069288649822943e-13},
		{"opposite", -56.55084194530532, 45.16583488534161, 56.55084194531193, -134.8341651146574, 20003.931458624713},
		{"almost opposite", -64.26261703988264, 101.03607880338808, 64.24940940162129, -78.97907329587358, 20002.440060004104},
		{"opposite near the equator", 0.05310243700471999, 43.16771355228752, -0.05310313871836914, -136.83228644771248, 20003.93138103397},
		{"end of the cut", 0.7008479444293363, 0, -0.7008479444292856, 179.09346495906817, 19936.595830557577},
		{"pole", -90, -178.8594441651153, -57.38197686604575, 101.44542159499002, 3639.5136425582605},
		{"meridian", -82.63768635115042, 7.786184563719246, -63.319419589379805, 7.786184563719247, 2155.6968035715963},
		{"both sides of 180", 7.744985722405289, -180, -30.277397841484223, 180, 4207.3126552986505},
		{"same latitude", 39.535207466858736, -43.28240536113131, 39.535207466858736, 167.23220614708447, 10716.607531561},
		{"whole turns", 7.744985722405289, 540, -30.277397841484223, -900, 4207.3126552986505},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, swapped := range []bool{false, true} {
				a, b, c, d := test.latitude0, test.longitude0, test.latitude1, test.longitude1
				if swapped {
					a, b, c, d = c, d, a, b
				}
				if got := Distance(a, b, c, d); got != test.want {
					t.Errorf("Distance(%v, %v, %v, %v) = %v, want %v", a, b, c, d, got, test.want)
				}
			}
		})
	}
}
