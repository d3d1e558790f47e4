// Package version holds the version of everything that is released: the program, its images, the
// chart and the Python distribution.
package version

// Version is a semantic version without the leading v of its tag. Between releases it is that of
// the next one and ends in "-dev". `make release` and the Makefile read it from this line.
const Version = "0.1.0-dev"
