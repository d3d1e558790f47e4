// Package secretkey reads the keys of hosted services from the environment, or from files that it
// names.
package secretkey

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/bom"
)

// FileSuffix ends the name of the variable that names a key's file.
const FileSuffix = "_FILE"

// Lookup returns the key in the variable name, or in the file that name and FileSuffix name; empty
// without either. White space around a key and a byte order mark before it do not count. The error
// names the variable and the file, and does not repeat the key.
func Lookup(getenv func(string) string, name string) (string, error) {
	if text := strings.TrimSpace(getenv(name)); text != "" {
		key, err := parse([]byte(text))
		if err != nil {
			return "", fmt.Errorf("the key in %s %w", name, err)
		}
		return key, nil
	}
	path := getenv(name + FileSuffix)
	if path == "" {
		return "", nil
	}
	return File(name+FileSuffix, path)
}

// File returns the key in the file that source, a variable or a flag, names. White space around the
// key and a byte order mark before it do not count. The error names source and the file.
func File(source, path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", source, err)
	}
	key, err := parse(raw)
	if err == nil && key == "" {
		err = errors.New("is missing: the file is empty")
	}
	if err != nil {
		return "", fmt.Errorf("the key in %s, %s, %w", source, path, err)
	}
	return key, nil
}

// parse returns the key of a text, empty for a blank one. The error continues a sentence about the
// key.
func parse(raw []byte) (string, error) {
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		return "", errors.New("is UTF-16: save the file as UTF-8")
	}
	key := strings.TrimSpace(string(bom.Trim(bytes.TrimSpace(raw))))
	for i, r := range []rune(key) {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("has %U as its character %d: expected printable ASCII without blanks, on one line", r, i+1)
		}
	}
	if n := len(key); n > 1 && key[0] == key[n-1] && strings.ContainsRune("\"'`", rune(key[0])) {
		return "", errors.New("stands in quotes: remove them")
	}
	return key, nil
}
