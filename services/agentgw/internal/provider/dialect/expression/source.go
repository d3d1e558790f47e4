package expression

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// How close operators bind, as Python has it.
const (
	bindSum = iota + 1
	bindProduct
	bindUnary
	bindPower
	bindAtom
)

// tool returns the name of the function that a call calls.
func (n *node) tool() string { return n.items[0].value.source(bindAtom) }

// source writes an expression as Python's ast.unparse does, in brackets where it binds less close than it has to.
func (n *node) source(bind int) string {
	own, text := n.written()
	if own < bind {
		return "(" + text + ")"
	}
	return text
}

// written returns the source without brackets around it, and how close it binds.
func (n *node) written() (bind int, text string) {
	switch n.kind {
	case nodeText:
		if value, ok := textOf(n.texts); ok {
			return bindAtom, python.Repr(value)
		}
		return bindAtom, strings.Join(n.texts, " ")
	case nodeNumber:
		if value, err := python.ParseLiteral(n.text); err == nil {
			return bindAtom, python.Repr(value)
		}
		return bindAtom, n.text
	case nodeEllipsis:
		return bindAtom, "..."
	case nodeList:
		return bindAtom, "[" + n.joined() + "]"
	case nodeTuple:
		if len(n.items) == 1 {
			return bindAtom, "(" + n.joined() + ",)"
		}
		return bindAtom, "(" + n.joined() + ")"
	case nodeSet:
		return bindAtom, "{" + n.joined() + "}"
	case nodeDict:
		return bindAtom, n.dictSource()
	case nodeUnary:
		return bindUnary, n.text + n.items[0].value.source(bindUnary)
	case nodeBinary:
		return n.binarySource()
	case nodeAttribute:
		return bindAtom, n.items[0].value.source(bindAtom) + "." + n.text
	case nodeSubscript:
		return bindAtom, n.subscriptSource()
	case nodeCall:
		return bindAtom, n.callSource()
	case nodeName:
	}
	return bindAtom, n.text
}

func (n *node) joined() string {
	items := make([]string, len(n.items))
	for i, item := range n.items {
		items[i] = item.value.source(0)
	}
	return strings.Join(items, ", ")
}

func (n *node) dictSource() string {
	var pairs []string
	for i := 0; i < len(n.items); i += 2 {
		pairs = append(pairs, n.items[i].value.source(0)+": "+n.items[i+1].value.source(0))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

func (n *node) binarySource() (bind int, text string) {
	left, right := n.items[0].value, n.items[1].value
	switch n.text {
	case "+", "-":
		return bindSum, left.source(bindSum) + " " + n.text + " " + right.source(bindProduct)
	case "**":
		return bindPower, left.source(bindAtom) + " ** " + right.source(bindUnary)
	default:
		return bindProduct, left.source(bindProduct) + " " + n.text + " " + right.source(bindUnary)
	}
}

func (n *node) subscriptSource() string {
	index := n.items[1].value
	text := index.source(0)
	if index.kind == nodeTuple && len(index.items) > 0 {
		text = strings.TrimSuffix(strings.TrimPrefix(text, "("), ")")
	}
	return n.items[0].value.source(bindAtom) + "[" + text + "]"
}

func (n *node) callSource() string {
	arguments := make([]string, 0, len(n.items)-1)
	for _, a := range n.items[1:] {
		text := a.value.source(0)
		switch a.form {
		case formNamed:
			text = a.name + "=" + text
		case formUnpacked:
			text = "**" + text
		case formPositional:
		}
		arguments = append(arguments, text)
	}
	return n.tool() + "(" + strings.Join(arguments, ", ") + ")"
}
