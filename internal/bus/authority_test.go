package bus_test

import (
	"reflect"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// TestOnlyEvaluatorHasEvaluations checks the types: only the evaluator's stores read evaluations,
// and no other store converts to the one that does.
func TestOnlyEvaluatorHasEvaluations(t *testing.T) {
	evaluations := reflect.TypeFor[bus.Evaluations]()
	for _, service := range []reflect.Type{
		reflect.TypeFor[bus.Orchestrator](), reflect.TypeFor[bus.ToolHost](), reflect.TypeFor[bus.AgentGateway](), reflect.TypeFor[bus.Evaluator](),
	} {
		_, reads := service.MethodByName("Evaluation")
		if want := service == reflect.TypeFor[bus.Evaluator](); reads != want {
			t.Errorf("%s reads evaluations: got %v, want %v", service, reads, want)
		}
		for i := range service.NumField() {
			if store := service.Field(i).Type; store != evaluations && store.ConvertibleTo(evaluations) {
				t.Errorf("%s: converts to Evaluations", store)
			}
		}
	}
}
