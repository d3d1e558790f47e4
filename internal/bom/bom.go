// Package bom removes UTF-8 byte order marks. Editors on Windows and some proxies write them before
// a text. Whoever reads a text of people or of a server removes the mark where it reads the bytes.
package bom

import (
	"bytes"
	"os"
)

// mark is U+FEFF in UTF-8.
var mark = []byte("\ufeff")

// Trim returns data without a leading byte order mark.
func Trim(data []byte) []byte { return bytes.TrimPrefix(data, mark) }

// ReadFile returns the content of a file without a leading byte order mark. The error is that of
// os.ReadFile.
func ReadFile(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	return Trim(data), err
}
