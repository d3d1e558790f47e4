package python_test

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/python"
)

// Values print as Python prints them.
func Example() {
	value := python.DictOf(
		python.Item{Key: "name", Value: python.Str("Zoë's \"café\"")},
		python.Item{Key: "scores", Value: python.List(python.Float(1), python.Float(1e16), python.None(), python.Bool(true))},
	)
	fmt.Println(python.Repr(value))
	fmt.Println(python.JSON(value))
	// Output:
	// {'name': 'Zoë\'s "café"', 'scores': [1.0, 1e+16, None, True]}
	// {"name": "Zoë's \"café\"", "scores": [1.0, 1e+16, null, true]}
}

// JSON keeps the order of keys, and integers of any size.
func ExampleParseJSON() {
	value, err := python.ParseJSON(`{"b": 1180591620717411303424, "a": [true, 2.50]}`)
	fmt.Println(python.Repr(value), err)
	_, err = python.ParseJSON(`{"b": 1,}`)
	fmt.Println(err)
	// Output:
	// {'b': 1180591620717411303424, 'a': [True, 2.5]} <nil>
	// Expecting property name enclosed in double quotes: line 1 column 9 (char 8)
}
