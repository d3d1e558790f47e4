package celexpr

import (
	"math"

	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// assumedSize is the number of items or characters that a cost estimate assumes for a value of a
// trace.
const assumedSize = 100

// sizes estimates the sizes of values that are only known at evaluation.
type sizes struct {
	// unknown disables assumptions.
	unknown bool
}

// EstimateSize returns the assumed size of a value, or nil.
func (s sizes) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	if s.unknown {
		return nil
	}
	return &checker.SizeEstimate{Max: assumedSize}
}

// EstimateCallCost estimates a call that iterates over values of unknown size. It leaves other
// calls to the defaults.
func (s sizes) EstimateCallCost(function, _ string, _ *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	if !s.unknown || !iterates(function) {
		return nil
	}
	return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Min: 1, Max: math.MaxUint64}}
}

// iterates reports whether a function iterates over its arguments. CEL counts such a call as one
// step or by the outermost size, and not at all if the types are dynamic.
func iterates(function string) bool {
	switch function {
	case operators.Equals, operators.NotEquals, operators.In, operators.OldIn, operators.Add,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		"size", "string", "bytes", "int", "uint", "double", "bool", "timestamp", "duration":
		return true
	}
	return false
}

// costs counts the steps of functions that iterate over their arguments.
type costs struct{}

// CallCost returns the steps of a call, or nil if CEL's own count is right.
func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if !iterates(function) {
		return nil
	}
	total := uint64(1)
	for _, arg := range args {
		if _, list := arg.(traits.Lister); list && function == operators.Add {
			continue // CEL concatenates lists without iterating
		}
		total += walkCost(arg)
	}
	return &total
}

// walkCost returns the approximate number of steps to iterate over a value.
func walkCost(value ref.Val) uint64 {
	total := uint64(1)
	switch v := value.(type) {
	case types.String:
		total += uint64(len(v) / 10)
	case types.Bytes:
		total += uint64(len(v) / 10)
	case traits.Mapper:
		for each := v.Iterator(); each.HasNext() == types.True && total <= maxCost; {
			key := each.Next()
			total += walkCost(key) + walkCost(v.Get(key))
		}
	case traits.Lister:
		for each := v.Iterator(); each.HasNext() == types.True && total <= maxCost; {
			total += walkCost(each.Next())
		}
	}
	return total
}
