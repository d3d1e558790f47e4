// Package limit is the one table of what a Python program and its data may be and use.
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

// Limits of a run. A run that exceeds one of them ends with TimeoutError or MemoryError, which no
// program can catch; beyond Calls and Depth it raises RecursionError, beyond Bits and Digits an
// exception.
const (
	// Steps is how many statements and expressions a run may evaluate. What a builtin does counts
	// too, by the items it looks at.
	Steps = 200_000
	// ArgumentSteps takes the place of Steps where only the arguments of a call are computed.
	ArgumentSteps = 50_000
	// ArgumentMemory takes the place of Memory there.
	ArgumentMemory = 1 << 20
	// CallSteps is what a call of a tool counts.
	CallSteps = 1000
	// Memory is how many bytes of texts and containers a run may make in all, whether it keeps them
	// or not.
	Memory = 8 << 20
	// ItemSize is about what an item of a container takes in memory.
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
	// Data is how deep they may nest in literals and JSON that no program reads. Python's own limit
	// depends on the stack in use and lies a little below 1000.
	Data = 950
	// Calls is how many calls may be open: Python's own limit.
	Calls = 1000
	// Stack is how deep the expressions and statements of all open calls may nest.
	Stack = 20_000
)
