package vector

import (
	"os"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/importer"
	"github.com/toolsandbox/toolsandbox/internal/vectortest"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/translate"
)

// TestGuardrailsOfImportedScenarios derives the guardrails of the original's scenarios as they are
// imported: they are those that the original derived.
func TestGuardrailsOfImportedScenarios(t *testing.T) {
	path := vectortest.Dir(t, "scenarios.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	imported, err := importer.Read(path, data)
	if err != nil {
		t.Fatal(err)
	}
	recorded := scenarios(t)
	for _, name := range recorded.Names() {
		milestones, minefields, err := recorded.Graphs(name)
		if err != nil {
			t.Fatal(err)
		}
		scenario, err := imported.Scenario(name, "")
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := translate.Compile(scenario.GetEvaluation())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		differences := append(CompareGuardrails(compiled.Milestones, milestones.Guardrails),
			CompareGuardrails(compiled.Minefields, minefields.Guardrails)...)
		for _, difference := range differences {
			t.Errorf("%s: %s", name, difference)
		}
	}
}
