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

// Distance returns the distance between two points in kilometres. Latitudes are -90 to 90 degrees,
// longitudes any finite number of degrees. It is safe for concurrent use.
func Distance(latitude0, longitude0, latitude1, longitude1 float64) float64 {
	return newEllipsoid(equatorialRadius, flattening).distance(latitude0+0, wrapLongitude(longitude0), latitude1+0, wrapLongitude(longitude1))
}
