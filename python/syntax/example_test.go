package syntax_test

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// Walk visits every expression of a program: here it lists the functions that the program calls.
func Example() {
	program, err := syntax.Parse("for name in sorted(people):\n    send(find(name)['phone'], text='hi')\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	syntax.Walk(program.Body, func(node syntax.Expr) bool {
		if call, ok := node.(*syntax.Call); ok {
			text, _ := syntax.Unparse(call.Func)
			fmt.Println(text)
		}
		return true
	})
	_, err = syntax.Parse("x = = 1")
	fmt.Println(err)
	// Output:
	// sorted
	// send
	// find
	//   File "<input>", line 1
	//     x = = 1
	//         ^
	// SyntaxError: invalid syntax
}

// A literal is data and runs nothing.
func ExampleParseLiteral() {
	value, err := syntax.ParseLiteral("{'on': True, 'levels': [1, 2.5]}")
	fmt.Println(python.JSON(value), err)
	_, err = syntax.ParseLiteral("open('/etc/passwd')")
	fmt.Println(err)
	// Output:
	// {"on": true, "levels": [1, 2.5]} <nil>
	// not a Python literal
}
