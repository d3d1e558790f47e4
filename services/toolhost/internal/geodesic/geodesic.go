// Package geodesic measures the shortest way between two points on the WGS-84 ellipsoid by the
// series and the iteration of C. F. F. Karney, "Algorithms for geodesics", Journal of Geodesy 87
// (2013), to the sixth order. Its error is a few nanometres.
//
// The last digits of a distance reach messages that are compared as text. So every operation is
// done in the order of GeographicLib 2.1 for Python (MIT licence, Charles Karney), which geopy
// 2.4.1 calls, under Python 3.9. Products are converted to float64 wherever a sum follows, since Go
// may otherwise round them together on some architectures. What remains is the C library below
// Python: it rounds one or two of a thousand sines, cosines and arc tangents to the second nearest
// float, and not the same ones on all processors, where this package takes the nearest. Thus two to
// six of a thousand distances differ in their last digits, by some 1e-12 km.
package geodesic

import (
	"math"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// The ellipsoid of WGS-84: its equatorial radius in kilometres and its flattening.
const (
	equatorialRadius = 6378.137
	flattening       = 1 / float64(298.257223563) // the inverse rounded first
)

// The largest latitude and longitude that tools accept, in degrees; the smallest are their
// negatives.
const (
	MaxLatitude  = 90.0
	MaxLongitude = 180.0
)

// Point is a place on the ellipsoid: its latitude and longitude are ints, floats or bools, in
// degrees.
type Point struct {
	Latitude, Longitude python.Value
}

// CheckLatitude refuses a latitude beyond MaxLatitude with a ValueError that names the parameter.
// The value must be a number.
func CheckLatitude(name string, latitude python.Value) error {
	return checkRange(name, latitude, MaxLatitude)
}

// CheckLongitude refuses a longitude beyond MaxLongitude with a ValueError that names the
// parameter. The value must be a number.
func CheckLongitude(name string, longitude python.Value) error {
	return checkRange(name, longitude, MaxLongitude)
}

// Between returns what calculate_lat_lon_distance does: the distance in kilometres, a float. It
// checks the ranges of the coordinates. It is safe for concurrent use.
func Between(from, to Point) (python.Value, error) {
	if err := CheckLatitude("latitude_0", from.Latitude); err != nil {
		return python.Value{}, err
	}
	if err := CheckLatitude("latitude_1", to.Latitude); err != nil {
		return python.Value{}, err
	}
	if err := CheckLongitude("longitude_0", from.Longitude); err != nil {
		return python.Value{}, err
	}
	if err := CheckLongitude("longitude_1", to.Longitude); err != nil {
		return python.Value{}, err
	}
	latitude0, _ := from.Latitude.Number()
	longitude0, _ := from.Longitude.Number()
	latitude1, _ := to.Latitude.Number()
	longitude1, _ := to.Longitude.Number()
	return python.Float(Distance(latitude0, longitude0, latitude1, longitude1)), nil
}

// Distance returns the distance in kilometres of two points, given in degrees: latitudes of -90 to
// 90, any finite longitudes. It is safe for concurrent use.
func Distance(latitude0, longitude0, latitude1, longitude1 float64) float64 {
	return newEllipsoid(equatorialRadius, flattening).distance(latitude0+0, wrap(longitude0), latitude1+0, wrap(longitude1))
}

func checkRange(name string, v python.Value, limit float64) error {
	f, ok := v.Number()
	if !ok {
		whole, isInt := v.AsBigInt()
		if !isInt {
			return &python.Exception{Type: "TypeError", Text: "must be real number, not " + v.TypeName()}
		}
		f = math.Inf(whole.Sign())
	}
	switch {
	case f < -limit:
		return &python.Exception{Type: "ValueError", Text: "Parameter '" + name + "' is smaller than its valid range minimum of " + python.FormatFloat(-limit) + "."}
	case f > limit:
		return &python.Exception{Type: "ValueError", Text: "Parameter '" + name + "' is larger than its valid range maximum of " + python.FormatFloat(limit) + "."}
	}
	return nil
}
