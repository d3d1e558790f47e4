// Package geodesic computes the shortest distance between two points on the WGS-84 ellipsoid. It
// uses the series of sixth order and the iteration of C. F. F. Karney, "Algorithms for geodesics",
// Journal of Geodesy 87 (2013). The error is a few nanometres.
//
// Messages contain all digits of a distance and are compared as text. The order of operations is
// therefore that of GeographicLib 2.1 for Python (MIT licence, Charles Karney), which geopy 2.4.1
// calls, with Python 3.9. Products are converted to float64 before a sum, because Go may otherwise
// fuse both on some architectures. Sines, cosines and arc tangents are rounded to the nearest
// float. The C library below Python sometimes rounds to the second nearest, depending on the
// processor. A few distances therefore differ from the original's in their last digits.
package geodesic

import (
	"math"

	"github.com/toolsandbox/toolsandbox/python"
)

// These are the equatorial radius in kilometres and the flattening of WGS-84.
const (
	equatorialRadius = 6378.137
	flattening       = 1 / float64(298.257223563) // 1 divided by the rounded inverse flattening
)

// These are the largest latitude and longitude that tools accept, in degrees. The smallest are
// their negatives.
const (
	MaxLatitude  = 90.0
	MaxLongitude = 180.0
)

// Point is a point on the ellipsoid. Latitude and longitude are ints, floats or bools, in degrees.
type Point struct {
	Latitude, Longitude python.Value
}

// CheckLatitude returns a ValueError that names the parameter if a latitude is outside -MaxLatitude
// to MaxLatitude. The value must be a number.
func CheckLatitude(name string, latitude python.Value) error {
	return checkRange(name, latitude, MaxLatitude)
}

// CheckLongitude returns a ValueError that names the parameter if a longitude is outside
// -MaxLongitude to MaxLongitude. The value must be a number.
func CheckLongitude(name string, longitude python.Value) error {
	return checkRange(name, longitude, MaxLongitude)
}

// Between implements calculate_lat_lon_distance: it returns the distance in kilometres, a float. It
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

// Distance returns the distance between two points in kilometres. Latitudes are -90 to 90 degrees,
// longitudes any finite number of degrees. It is safe for concurrent use.
func Distance(latitude0, longitude0, latitude1, longitude1 float64) float64 {
	return newEllipsoid(equatorialRadius, flattening).distance(latitude0+0, wrapLongitude(longitude0), latitude1+0, wrapLongitude(longitude1))
}

func checkRange(name string, v python.Value, limit float64) error {
	f, ok := v.Number()
	if !ok {
		integer, isInt := v.AsBigInt()
		if !isInt {
			return &python.Exception{Type: "TypeError", Text: "must be real number, not " + v.TypeName()}
		}
		f = math.Inf(integer.Sign())
	}
	switch {
	case f < -limit:
		return &python.Exception{Type: "ValueError", Text: "Parameter '" + name + "' is smaller than its valid range minimum of " + python.FormatFloat(-limit) + "."}
	case f > limit:
		return &python.Exception{Type: "ValueError", Text: "Parameter '" + name + "' is larger than its valid range maximum of " + python.FormatFloat(limit) + "."}
	}
	return nil
}
