package celexpr

import (
	"math"

	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// assumedSize is how many items or characters a value of a trace is taken to have when the cost is
// estimated.
const assumedSize = 100

// sizes estimates the sizes of values that are only known when an expression is evaluated.
type sizes struct {
	// unknown says that nothing is assumed about them.
	unknown bool
}

// EstimateSize returns the assumed size of anything, or nil.
func (s sizes) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	if s.unknown {
		return nil
	}
	return &checker.SizeEstimate{Max: assumedSize}
}

// EstimateCallCost returns that of a call that walks through values of unknown size, and leaves the
// others to the defaults.
func (s sizes) EstimateCallCost(function, _ string, _ *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	if !s.unknown || !walks(function) {
		return nil
	}
	return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Min: 1, Max: math.MaxUint64}}
}

// walks reports whether a function walks through its arguments, which CEL counts as one step, by
// the outermost size alone or, where the types are only known at evaluation, not at all.
func walks(function string) bool {
	switch function {
	case operators.Equals, operators.NotEquals, operators.In, operators.OldIn, operators.Add,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		"size", "string", "bytes", "int", "uint", "double", "bool", "timestamp", "duration":
		return true
	}
	return false
}

// costs counts the steps of functions that walk through their arguments.
type costs struct{}

// CallCost returns the steps of a call, or nil where CEL's own count is right.
func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if !walks(function) {
		return nil
	}
	total := uint64(1)
	for _, arg := range args {
		if _, list := arg.(traits.Lister); list && function == operators.Add {
			continue // lists are joined without a walk
		}
		total += volume(arg)
	}
	return &total
}

// volume returns about how many steps it takes to walk through a value.
func volume(value ref.Val) uint64 {
	total := uint64(1)
	switch v := value.(type) {
	case types.String:
		total += uint64(len(v) / 10)
	case types.Bytes:
		total += uint64(len(v) / 10)
	case traits.Mapper:
		for each := v.Iterator(); each.HasNext() == types.True && total <= maxCost; {
			key := each.Next()
			total += volume(key) + volume(v.Get(key))
		}
	case traits.Lister:
		for each := v.Iterator(); each.HasNext() == types.True && total <= maxCost; {
			total += volume(each.Next())
		}
	}
	return total
}
