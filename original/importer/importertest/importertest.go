// Package importertest reads the original's scenarios from the vectors, for tests.
package importertest

import (
	"os"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/original/importer"
)

// Scenarios returns the original's scenarios.
func Scenarios(t *testing.T) *importer.Scenarios {
	t.Helper()
	path := vectortest.Dir(t, "scenarios.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := importer.Read(path, raw)
	if err != nil {
		t.Fatal(err)
	}
	return scenarios
}
