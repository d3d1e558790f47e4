package regex_test

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/python/regex"
)

// work adds up the steps of matches. A meter that panics ends a match.
type work int

func (w *work) Work(steps int) { *w += work(steps) }
func (w *work) Grow(int)       {}

// Match returns positions in the text, two for each group.
func Example() {
	expression, err := regex.Compile(`(?P<who>\w+) has (\d+) days`, regex.IgnoreCase)
	if err != nil {
		fmt.Println(err)
		return
	}
	const text = "So Ada HAS 12 days."
	var steps work
	groups := expression.Match(text, 0, len(text), regex.Search, true, &steps)
	who, _ := expression.Group("who")
	fmt.Println(text[groups[2*who]:groups[2*who+1]], text[groups[4]:groups[5]], steps > 0)
	_, err = regex.Compile("(a", 0)
	fmt.Println(err)
	// Output:
	// Ada 12 true
	// missing ), unterminated subpattern at position 0
}
