package celexpr

import (
	"cmp"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// sortedAdapter is CEL's default type adapter with sorted map keys. CEL iterates over maps in
// random order, so results of loops would be random.
type sortedAdapter struct{}

// NativeToValue implements types.Adapter.
func (o sortedAdapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case map[string]any:
		return sortedMap{types.NewStringInterfaceMap(o, v)}
	case []any:
		return types.NewDynamicList(o, v)
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// sortedMap is a map with sorted keys.
type sortedMap struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (m sortedMap) Iterator() traits.Iterator {
	var keys []ref.Val
	for each := m.Mapper.Iterator(); each.HasNext() == types.True; {
		keys = append(keys, each.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(sortedAdapter{}, keys).Iterator()
}

// sortMapLiterals also sorts the keys of map literals.
func sortMapLiterals(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if written, ok := node.(interpreter.InterpretableConstructor); ok && written.Type() == types.MapType {
		return mapLiteral{written}, nil
	}
	return node, nil
}

// mapLiteral is a map literal of an expression.
type mapLiteral struct {
	interpreter.InterpretableConstructor
}

// Exec implements interpreter.InterpretableV2.
func (m mapLiteral) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	result := m.InterpretableConstructor.Exec(frame)
	if mapper, ok := result.(traits.Mapper); ok {
		return sortedMap{mapper}
	}
	return result
}

// Eval implements interpreter.Interpretable.
func (m mapLiteral) Eval(values interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(values))
}

// compareKeys orders map keys. Keys of different types are ordered by type name.
func compareKeys(a, b ref.Val) int {
	if order := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); order != 0 {
		return order
	}
	if comparer, ok := a.(traits.Comparer); ok {
		if order, ok := comparer.Compare(b).(types.Int); ok {
			return int(order)
		}
	}
	return 0
}
