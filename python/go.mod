module github.com/toolsandbox/toolsandbox/python

go 1.26.0

// Prints the difference of two values in tests.
require github.com/google/go-cmp v0.7.0
