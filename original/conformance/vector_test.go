package conformance

import (
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

// vectors returns the vector files that match a pattern.
func vectors(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(vectortest.Dir(t, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("vectors %s: got %d files and %v, want some", pattern, len(files), err)
	}
	return files
}

// TestDecodeVectors decodes the first lines of every file of every kind. TestLongConformance of e2e
// runs them all.
func TestDecodeVectors(t *testing.T) {
	const firstLines = 50
	worlds, err := readWorlds(vectortest.Dir(t, "tools/worlds.json"))
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := readScenarios(vectortest.Dir(t, scenariosFile))
	if err != nil {
		t.Fatal(err)
	}
	toolCaseOf := func(decode func([]byte) (*toolCase, error)) func(*testing.T, line) error {
		return func(t *testing.T, l line) error {
			t.Helper()
			c, err := decode(l.raw)
			if err != nil {
				return err
			}
			if _, ok := worlds[c.world]; !ok {
				t.Errorf("line %d: no world %q", l.number, c.world)
			}
			for _, made := range c.calls {
				if _, err := made.message(0, c.sender); err != nil && !c.unchecked {
					return err
				}
			}
			return nil
		}
	}
	for _, test := range []struct {
		pattern string
		decode  func(*testing.T, line) error
	}{
		{"tools/calls/*.jsonl", toolCaseOf(decodeCall)},
		{"tools/parallel.jsonl", toolCaseOf(decodeParallel)},
		{"tools/raw_source.jsonl", toolCaseOf(decodeCall)},
		{"trajectories/*.jsonl", func(_ *testing.T, l line) error { _, err := decodeTrajectory(scenarios.Scenario, l); return err }},
		{"evaluation/*.jsonl", func(_ *testing.T, l line) error { _, err := decodeScoringCase(l); return err }},
	} {
		t.Run(test.pattern, func(t *testing.T) {
			cases := 0
			for _, file := range vectors(t, test.pattern) {
				vectortest.Lines(t, file, func(number int, raw []byte) {
					if number > firstLines {
						return
					}
					cases++
					if err := test.decode(t, line{number: number, raw: raw}); err != nil {
						t.Errorf("%s:%d: %v", file, number, err)
					}
				})
			}
			t.Logf("%d cases decoded", cases)
		})
	}
}

// TestDetectVectorKinds detects the kind of every file in the folders that this package runs.
func TestDetectVectorKinds(t *testing.T) {
	for _, pattern := range []string{"tools/*.jsonl", "tools/calls/*.jsonl", "trajectories/*.jsonl", "evaluation/*.jsonl"} {
		for _, file := range vectors(t, pattern) {
			if _, err := detectKind(file); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPureVectors runs the kinds that need no service.
func TestPureVectors(t *testing.T) {
	runner := New(Services{}, Config{Parallel: 2, MaxDifferences: 3})
	files := append(vectors(t, "euroeval/*.jsonl"), vectors(t, "tools/repr.jsonl")...)
	for _, name := range append(files, vectors(t, "tools/dict_literal.jsonl")...) {
		report, err := runner.File(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if report.Differ > 0 || report.Cases == 0 {
			t.Errorf("%s: got %d of %d cases that differ, want none: %+v", name, report.Differ, report.Cases, report.Differences)
		}
		t.Logf("%s: %d cases", filepath.Base(name), report.Cases)
	}
}
