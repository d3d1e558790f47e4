// Package limit lists the limits of Python programs and their data.
package limit

// Limits of the source. Source beyond them does not compile.
const (
	// Source is the longest source in bytes.
	Source = 1 << 15
	// Nesting is how deep expressions and statements may nest.
	Nesting = 500
	// Brackets is how deep brackets may nest: Python's own limit.
	Brackets = 200
	// Indents is how deep blocks may nest: Python's own limit.
	Indents = 99
	// Locals is how many variables a function may have: each call reserves room for them.
	Locals = 200
)

// Limits of a run. Exceeding one ends the run with TimeoutError or MemoryError, which no program
// can catch. Exceeding Calls or Depth raises RecursionError, and exceeding Bits or Digits an
// exception.
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
	// Output is how many bytes a run may print.
	Output = 1 << 18
	// Bits is the size of the largest int: about Digits decimal digits.
	Bits = 14_280
	// Digits is the longest decimal integer that is converted from and to text.
	Digits = 4300
	// Depth is how deep lists and dicts may nest where they are printed, compared, hashed or
	// converted.
	Depth = 200
	// Data is the nesting limit of lists and dicts in literals and JSON outside of programs. Python's
	// own limit depends on the used stack and is slightly below 1000.
	Data = 950
	// Calls is how many calls may be open: Python's own limit.
	Calls = 1000
	// Stack is the nesting limit of expressions and statements over all open calls.
	Stack = 20_000
)
