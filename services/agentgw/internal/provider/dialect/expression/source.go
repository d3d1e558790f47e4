package expression

import "strings"

// overflow is how infinity is written: as a number that is too large.
const overflow = "1e309"

// source writes an expression as Python's ast.unparse does, in brackets where it binds less close than it has to; ok is false where that
// fails.
func (n *node) source(least bind) (text string, ok bool) {
	w := writer{}
	w.node(n, least)
	return w.String(), !w.failed
}

// writer writes expressions.
type writer struct {
	strings.Builder
	// inside says that this stands in a formatted text, where no backslash may stand.
	inside bool
	failed bool
}

// node writes an expression, in brackets where it binds less close than it has to.
func (w *writer) node(n *node, least bind) {
	own := n.binds()
	if own < least {
		w.WriteString("(")
		defer w.WriteString(")")
	}
	switch n.kind {
	case nodeName:
		w.WriteString(n.text)
	case nodeConstant:
		w.constant(n)
	case nodeJoined:
		w.joined(n)
	case nodeList, nodeTuple, nodeSet:
		w.display(n, own < least)
	case nodeDict:
		w.dict(n)
	case nodeUnary:
		if w.WriteString(n.text); own == bindNot {
			w.WriteString(" ")
		}
		w.node(n.child(0), own)
	case nodeBinary, nodeBoolean, nodeCompare, nodeConditional:
		w.operands(n, own)
	case nodeLambda:
		w.lambda(n)
	case nodeComprehension:
		w.comprehension(n)
	case nodeNamed:
		w.node(n.child(0), bindAtom)
		w.WriteString(" := ")
		w.node(n.child(1), bindAtom)
	case nodeStarred:
		w.WriteString("*")
		w.node(n.child(0), bindBitOr)
	case nodeAwait, nodeYield:
		w.WriteString(n.text)
		for _, item := range n.items {
			w.WriteString(" ")
			w.node(item.value, bindAtom)
		}
	case nodeAttribute:
		w.node(n.child(0), bindAtom)
		if of := n.child(0); of.kind == nodeConstant && of.value.whole != nil {
			w.WriteString(" ") // a dot behind it would be part of the number
		}
		w.WriteString("." + n.text)
	case nodeSubscript:
		w.subscript(n)
	case nodeSlice:
		w.slice(n)
	case nodeCall:
		w.call(n)
	case nodeFormatted:
	}
}

// binds says how close an expression binds.
func (n *node) binds() bind {
	switch n.kind {
	case nodeNamed:
		return bindNamed
	case nodeTuple:
		if len(n.items) > 0 {
			return bindTuple
		}
	case nodeYield:
		return bindYield
	case nodeConditional, nodeLambda:
		return bindTest
	case nodeBoolean:
		if n.text == "or" {
			return bindOr
		}
		return bindAnd
	case nodeUnary:
		if n.text == "not" {
			return bindNot
		}
		return bindUnary
	case nodeCompare:
		return bindCompare
	case nodeBinary:
		if n.text == "**" {
			return bindPower
		}
		return binds(n.text)
	case nodeAwait:
		return bindAwait
	case nodeName, nodeConstant, nodeJoined, nodeFormatted, nodeList, nodeSet, nodeDict, nodeComprehension, nodeStarred, nodeAttribute,
		nodeSubscript, nodeSlice, nodeCall:
	}
	return bindAtom
}

func (w *writer) constant(n *node) {
	w.WriteString(n.text) // u, if anything
	switch v := n.value; {
	case v.kind == kindThing:
		w.WriteString("...")
	case v.kind == kindText && w.inside:
		escaped, quotes := quoted(v.text, allQuotes, false)
		w.WriteString(quotes[0] + escaped + quotes[0])
	default:
		var b strings.Builder
		if !v.repr(&b) {
			w.failed = true
		}
		if v.kind == kindFloat || v.kind == kindComplex {
			w.WriteString(strings.ReplaceAll(b.String(), "inf", overflow))
		} else {
			w.WriteString(b.String())
		}
	}
}

// items writes expressions between commas; with a comma behind a single one where single says so.
func (w *writer) items(n *node, single bool) {
	for i, item := range n.items {
		if i > 0 {
			w.WriteString(", ")
		}
		w.node(item.value, bindTest)
	}
	if single && len(n.items) == 1 {
		w.WriteString(",")
	}
}

// display writes a list, a tuple or a set.
func (w *writer) display(n *node, bracketed bool) {
	opening, closing := "(", ")"
	switch {
	case n.kind == nodeList:
		opening, closing = "[", "]"
	case n.kind == nodeSet:
		opening, closing = "{", "}"
	case bracketed || len(n.items) > 0:
		opening, closing = "", ""
	}
	w.WriteString(opening)
	w.items(n, n.kind == nodeTuple)
	w.WriteString(closing)
}

func (w *writer) dict(n *node) {
	w.WriteString("{")
	key := true
	for i, item := range n.items {
		if i > 0 && key {
			w.WriteString(", ")
		}
		switch {
		case item.form == formUnpacked:
			w.WriteString("**")
			w.node(item.value, bindBitOr)
			continue
		case key:
			w.node(item.value, bindTest)
			w.WriteString(": ")
		default:
			w.node(item.value, bindTest)
		}
		key = !key
	}
	w.WriteString("}")
}

// operands writes what stands around operators.
func (w *writer) operands(n *node, own bind) {
	if n.kind == nodeConditional {
		w.node(n.child(0), bindTest+1)
		w.WriteString(" if ")
		w.node(n.child(1), bindTest+1)
		w.WriteString(" else ")
		w.node(n.child(2), bindTest)
		return
	}
	for i, item := range n.items {
		operator, least := n.text, own
		switch {
		case n.kind == nodeCompare:
			operator, least = item.name, own+1
		case n.kind == nodeBoolean:
			least = min(own+bind(min(i, int(bindAtom)))+1, bindAtom) // as in the original, each binds closer than the one before
		case (n.text == "**") == (i == 0):
			least++
		}
		if i > 0 {
			w.WriteString(" " + operator + " ")
		}
		w.node(item.value, least)
	}
}

func (w *writer) lambda(n *node) {
	last := len(n.items) - 1
	w.WriteString("lambda")
	for i, item := range n.items[:last] {
		w.WriteString(" ")
		switch item.form {
		case formSlash:
			w.WriteString("/")
		case formStar:
			w.WriteString("*")
		case formUnpacked:
			w.WriteString("**")
		}
		if w.WriteString(item.name); item.value != nil {
			w.WriteString("=")
			w.node(item.value, bindTest)
		}
		if i < last-1 {
			w.WriteString(",")
		}
	}
	w.WriteString(": ")
	w.node(n.child(last), bindTest)
}

func (w *writer) comprehension(n *node) {
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}[n.text]
	w.WriteString(n.text)
	for i, item := range n.items {
		switch item.form {
		case formPlain:
			if i > 0 {
				w.WriteString(": ")
			}
			w.node(item.value, bindTest)
		case formFor:
			w.WriteString(" for ")
			w.node(item.value, bindTuple)
		case formAsync:
			w.WriteString(" async for ")
			w.node(item.value, bindTuple)
		case formIn:
			w.WriteString(" in ")
			w.node(item.value, bindTest+1)
		case formIf:
			w.WriteString(" if ")
			w.node(item.value, bindTest+1)
		}
	}
	w.WriteString(closing)
}

func (w *writer) subscript(n *node) {
	w.node(n.child(0), bindAtom)
	w.WriteString("[")
	if index := n.child(1); index.kind == nodeTuple && len(index.items) > 0 {
		w.items(index, true)
	} else {
		w.node(index, bindTest)
	}
	w.WriteString("]")
}

func (w *writer) slice(n *node) {
	for i, part := range n.items {
		if i == 1 || i == 2 && part.value != nil {
			w.WriteString(":")
		}
		if part.value != nil {
			w.node(part.value, bindTest)
		}
	}
}

// call writes a call: first the arguments without names, as Python's tree has them.
func (w *writer) call(n *node) {
	w.node(n.child(0), bindAtom)
	w.WriteString("(")
	separator := ""
	for _, named := range []bool{false, true} {
		for _, a := range n.items[1:] {
			if (a.form != formPlain) != named {
				continue
			}
			w.WriteString(separator)
			separator = ", "
			switch a.form {
			case formNamed:
				w.WriteString(a.name + "=")
			case formUnpacked:
				w.WriteString("**")
			}
			w.node(a.value, bindTest)
		}
	}
	w.WriteString(")")
}
