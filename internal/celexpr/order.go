package celexpr

import (
	"cmp"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// ordered reads values as CEL does by default, but for maps: their keys come in order. CEL leaves
// that to chance, and with it what a loop over a map gives.
type ordered struct{}

// NativeToValue implements types.Adapter.
func (o ordered) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case map[string]any:
		return orderedMap{types.NewStringInterfaceMap(o, v)}
	case []any:
		return types.NewDynamicList(o, v)
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// orderedMap is a map whose keys come in order.
type orderedMap struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (m orderedMap) Iterator() traits.Iterator {
	var keys []ref.Val
	for each := m.Mapper.Iterator(); each.HasNext() == types.True; {
		keys = append(keys, each.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(ordered{}, keys).Iterator()
}

// orderedMaps lets a map that is written out come in order too.
func orderedMaps(planned interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if written, ok := planned.(interpreter.InterpretableConstructor); ok && written.Type() == types.MapType {
		return writtenMap{written}, nil
	}
	return planned, nil
}

// writtenMap is a map that is written out in an expression.
type writtenMap struct {
	interpreter.InterpretableConstructor
}

// Exec implements interpreter.InterpretableV2.
func (m writtenMap) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	result := m.InterpretableConstructor.Exec(frame)
	if made, ok := result.(traits.Mapper); ok {
		return orderedMap{made}
	}
	return result
}

// Eval implements interpreter.Interpretable.
func (m writtenMap) Eval(values interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(values))
}

// compareKeys orders keys of a map, those of different types by the names of these.
func compareKeys(a, b ref.Val) int {
	if order := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); order != 0 {
		return order
	}
	if known, ok := a.(traits.Comparer); ok {
		if order, ok := known.Compare(b).(types.Int); ok {
			return int(order)
		}
	}
	return 0
}
