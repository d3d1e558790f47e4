package geodesic

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/vectortest"
)

// tolerance is how far a distance may be from the vector's, in kilometres.
const tolerance = 1e-9

// tally counts the outcomes of comparing with a vector file.
type tally struct {
	cases, inexact, others int
	worst                  float64
}

// check compares the distance of arguments that have passed the type checks with the vector's content.
func (n *tally) check(t *testing.T, line int, args *python.Dict, content string, isException bool) {
	t.Helper()
	n.cases++
	get := func(name string) python.Value {
		value, _ := args.Get(name)
		return value
	}
	distance, err := Between(
		Point{Latitude: get("latitude_0"), Longitude: get("longitude_0")},
		Point{Latitude: get("latitude_1"), Longitude: get("longitude_1")})
	if isException || err != nil {
		if err == nil || err.Error() != content {
			t.Errorf("line %d: Between(%s) = %v, %v, want %s", line, python.Repr(args.Value()), python.Repr(distance), err, content)
		}
		return
	}
	got, _ := distance.AsFloat()
	want, err := strconv.ParseFloat(content, 64)
	if err != nil {
		t.Fatalf("line %d: %v", line, err)
	}
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("line %d: Between(%s) = %v, want %s", line, python.Repr(args.Value()), got, content)
	}
	if got != want {
		n.inexact++
		n.worst = max(n.worst, math.Abs(got-want))
	}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	var n tally
	vectortest.Lines(t, vectortest.Dir(t, "tools/geodesic.jsonl"), func(line int, raw []byte) {
		vector, err := python.ParseJSON(raw)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		c, _ := vector.AsDict()
		content, _ := c.Get("content")
		exception, _ := c.Get("exception")
		n.check(t, line, c, python.Text(content), !exception.IsNone())
	})
	t.Logf("geodesic.jsonl: %d cases, %d within %g km but not identical, by at most %g", n.cases, n.inexact, tolerance, n.worst)
}

func TestCallVectors(t *testing.T) {
	t.Parallel()
	var n tally
	vectortest.Lines(t, vectortest.Dir(t, "tools/calls/calculate_lat_lon_distance.jsonl"), func(line int, raw []byte) {
		var c struct {
			Arguments, Content string
			Exception          *string
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		if c.Exception != nil && !strings.HasPrefix(*c.Exception, "ValueError: ") {
			n.others++ // binding and type checks
			return
		}
		args, err := python.ParseJSON(c.Arguments)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		dict, _ := args.AsDict()
		n.check(t, line, dict, c.Content, c.Exception != nil)
	})
	t.Logf("calls/calculate_lat_lon_distance.jsonl: %d cases, %d not identical, and %d that fail in binding or type checks", n.cases, n.inexact, n.others)
}
