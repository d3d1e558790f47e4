// Package vectortest finds and reads the conformance vectors that the original program printed, for
// tests of any module.
package vectortest

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"
)

// maxLine bounds one JSON line; the longest vector line is below 2 MiB.
const maxLine = 16 << 20

// Dir returns the path of the named folder or file below the vectors directory. The directory is
// that of the environment variable TOOLSANDBOX_VECTORS or else the first `shared/vectors` found
// beside a parent of the working directory. Where neither exists the test fails under CI and is
// skipped, with the reason, elsewhere.
func Dir(tb testing.TB, name string) string {
	tb.Helper()
	if root := os.Getenv("TOOLSANDBOX_VECTORS"); root != "" {
		return filepath.Join(root, name)
	}
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatalf("find vectors: %v", err)
	}
	for {
		root := filepath.Join(dir, "shared", "vectors")
		if info, err := os.Stat(root); err == nil && info.IsDir() {
			return filepath.Join(root, name)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	if os.Getenv("CI") != "" {
		tb.Fatal("no shared/vectors folder beside a parent of the working directory: CI needs the vectors")
	}
	tb.Skip("no shared/vectors folder beside a parent of the working directory; set TOOLSANDBOX_VECTORS to run this test")
	return ""
}

// Lines calls visit for every non-empty line of a JSON Lines file, with its number from 1. The
// bytes are only valid during the call.
func Lines(tb testing.TB, path string, visit func(line int, raw []byte)) {
	tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		tb.Fatalf("read vectors: %v", err)
	}
	defer func() { _ = file.Close() }()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	line := 0
	for scanner.Scan() {
		line++
		if len(scanner.Bytes()) > 0 {
			visit(line, scanner.Bytes())
		}
	}
	if err := scanner.Err(); err != nil {
		tb.Fatalf("read vectors %s: %v", path, err)
	}
	if line == 0 {
		tb.Fatalf("read vectors %s: no line", path)
	}
}
