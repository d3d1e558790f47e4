package source_test

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/python/source"
)

// Parse checks a file of functions that a host calls.
func ExampleParse() {
	const text = `import os

def greet(name: str) -> str:
    return "Hello " + name
`
	var mistakes source.Mistakes
	refuse := func(module string) string { return module + " is not there" }
	_, functions := source.Parse(text, refuse, func(at int, function, format string, args ...any) {
		mistakes.Add("greet.py", text, at, function, format, args...)
	})
	fmt.Println(len(functions), functions["greet"].Name.ID)
	fmt.Println(mistakes)
	// Output:
	// 1 greet
	// greet.py:1:1: file: os is not there
}
