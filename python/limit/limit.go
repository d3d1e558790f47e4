// Package limit lists the limits of Python programs and their data.
package limit

// Limits of the source. SourceBytes beyond them does not compile.
const (
	// SourceBytes is the longest source in bytes.
	SourceBytes = 1 << 15
	// Nesting is how deep expressions and statements may nest.
	Nesting = 500
	// BracketDepth is how deep brackets may nest: Python's own limit.
	BracketDepth = 200
	// IndentDepth is how deep blocks may nest: Python's own limit.
	IndentDepth = 99
	// Locals is how many variables a function may have: each call reserves room for them.
	Locals = 200
)

// Limits of a run. Exceeding one ends the run with TimeoutError or MemoryError, which no program
// can catch. Exceeding CallDepth or ValueDepth raises RecursionError, and exceeding IntBits or
// IntDigits an exception.
const (
	// Steps is the number of statements and expressions that a run may evaluate. Builtins count too,
	// by the items they process.
	Steps = 200_000
	// ArgumentSteps replaces Steps when only the arguments of a call are evaluated.
	ArgumentSteps = 50_000
	// ArgumentMemory replaces Memory then.
	ArgumentMemory = 1 << 20
	// CallSteps is the number of steps of a tool call.
	CallSteps = 1000
	// Memory bounds the bytes of all texts and containers that a run creates, even if it drops them.
	Memory = 8 << 20
	// ItemSize is the approximate memory of an item of a container.
	ItemSize = 64
	// OutputBytes is how many bytes a run may print.
	OutputBytes = 1 << 18
	// IntBits is the size of the largest int: about IntDigits decimal digits.
	IntBits = 14_280
	// IntDigits is the longest decimal integer that is converted from and to text.
	IntDigits = 4300
	// ValueDepth is how deep lists and dicts may nest where they are printed, compared, hashed or
	// converted.
	ValueDepth = 200
	// DataDepth is the nesting limit of lists and dicts in literals and JSON outside of programs.
	// Python's own limit depends on the used stack and is slightly below 1000.
	DataDepth = 950
	// CallDepth is how many calls may be open: Python's own limit.
	CallDepth = 1000
	// StackDepth is the nesting limit of expressions and statements over all open calls.
	StackDepth = 20_000
)
