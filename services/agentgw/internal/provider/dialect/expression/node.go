package expression

// nodeKind is what a node is.
type nodeKind uint8

const (
	nodeName      nodeKind = iota + 1
	nodeConstant           // a literal without parts
	nodeJoined             // a formatted text: constants and formatted values
	nodeFormatted          // the value, then how it is formatted, if the source says so; its text is the conversion
	nodeList
	nodeTuple
	nodeSet
	nodeDict // pairs of keys and values in turn, or unpacked values
	nodeUnary
	nodeBinary
	nodeBoolean // operands of and, or
	nodeCompare // the first operand, then the others under their operators
	nodeConditional
	nodeLambda        // the parameters, then what it returns
	nodeComprehension // the item, in a dict key and value, then the clauses; its text is the bracket
	nodeNamed         // a name and the value that it gets
	nodeStarred
	nodeAwait
	nodeYield // at most one value; its text is the words
	nodeAttribute
	nodeSubscript // the value, then what stands between the brackets
	nodeSlice     // three parts, nil where they are missing
	nodeCall      // the function, then the arguments
)

// form is how an item stands in its node.
type form uint8

const (
	formPlain    form = iota
	formNamed         // an argument with its name; a parameter, with its default if it has one
	formUnpacked      // behind two stars
	formStar          // a parameter behind a star, or a star alone
	formSlash         // the slash between parameters
	formFor           // what a loop assigns to
	formAsync         // the same, of an asynchronous one
	formIn            // what a loop goes through
	formIf            // a condition of a loop
)

// item is a part of a node. The name is that of an argument or a parameter, or an operator.
type item struct {
	form  form
	name  string
	value *node
}

// node is an expression.
type node struct {
	kind nodeKind
	// text is a name, an operator, or u for a text with that prefix.
	text  string
	value object // of a constant
	items []item
}

func (n *node) add(values ...*node) *node {
	for _, value := range values {
		n.items = append(n.items, item{value: value})
	}
	return n
}

func (n *node) child(i int) *node { return n.items[i].value }

// target says whether something can be assigned to; stars too where starred says so.
func (n *node) target(starred bool) bool {
	switch n.kind {
	case nodeTuple, nodeList:
		for _, item := range n.items {
			if !item.value.target(starred) {
				return false
			}
		}
		return true
	case nodeStarred:
		return starred && n.child(0).kind != nodeStarred && n.child(0).target(starred)
	default:
		return n.single()
	}
}

// single says whether one value can be assigned to something.
func (n *node) single() bool {
	return n.kind == nodeName || n.kind == nodeAttribute || n.kind == nodeSubscript
}

// compiles says whether Python evaluates an expression that it has parsed: names of arguments and parameters differ, and what belongs to a
// function does not stand outside of one.
func (n *node) compiles(within bool) bool {
	if n.kind == nodeAwait || n.kind == nodeYield && !within {
		return false
	}
	names := make(map[string]bool)
	for i, item := range n.items {
		within := within && (n.kind != nodeComprehension || item.form == formIn)
		repeated := item.name != "" && names[item.name] && n.kind != nodeCompare
		body := n.kind == nodeLambda && i == len(n.items)-1
		if repeated || item.form == formAsync || item.value != nil && !item.value.compiles(within || body) {
			return false
		}
		names[item.name] = true
	}
	return true
}

// bind is how close an operator binds, as Python has it.
type bind uint8

const (
	bindNamed bind = iota + 1
	bindTuple
	bindYield
	bindTest
	bindOr
	bindAnd
	bindNot
	bindCompare
	bindBitOr
	bindBitXor
	bindBitAnd
	bindShift
	bindSum
	bindProduct
	bindUnary
	bindPower
	bindAwait
	bindAtom
)

// binds says how close an operator between two values binds, 0 if it is none of arithmetic.
func binds(operator string) bind {
	switch operator {
	case "|":
		return bindBitOr
	case "^":
		return bindBitXor
	case "&":
		return bindBitAnd
	case "<<", ">>":
		return bindShift
	case "+", "-":
		return bindSum
	case "*", "/", "//", "%", "@":
		return bindProduct
	default:
		return 0
	}
}
