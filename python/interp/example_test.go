package interp_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// stock is what a program may call: one function of the host.
type stock map[string]int64

func (s stock) Callable(name string) bool { return name == "in_stock" }

func (s stock) Call(_ string, positional []python.Value, _ *python.Dict) (python.Value, error) {
	item, _ := positional[0].AsStr()
	n, ok := s[item]
	if !ok {
		return python.None(), &python.Exception{Type: "LookupError", Text: "no item " + python.Repr(positional[0])}
	}
	return python.Int(n), nil
}

// A program calls functions of its host, and catches their exceptions.
func Example() {
	program, err := syntax.Parse(`
total = 0
for item in ['apple', 'fig', 'pear']:
    try:
        total += in_stock(item)
    except LookupError as error:
        print('skipped:', error)
print(f'{total} pieces')
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome := interp.Run(context.Background(), program, stock{"apple": 3, "pear": 4})
	fmt.Print(outcome.Output)
	fmt.Println(outcome.Err)
	// Output:
	// skipped: no item 'fig'
	// 7 pieces
	// <nil>
}

// An endless program ends at a limit, which it cannot catch.
func ExampleRun_limit() {
	program, err := syntax.Parse(`
try:
    while True:
        pass
except:
    print('never')
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome := interp.Run(context.Background(), program, stock{})
	exception, _ := errors.AsType[*python.Exception](outcome.Err)
	fmt.Printf("%q %s\n", outcome.Output, exception.Type)
	// Output:
	// "" TimeoutError
}
