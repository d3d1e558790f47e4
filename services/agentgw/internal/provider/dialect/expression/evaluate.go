package expression

import (
	"strings"
)

const (
	// maxBits bounds the integers that operators make.
	maxBits = 1 << 17
	// maxBytes bounds what all operators of one call make, in about the bytes that it takes to print it.
	maxBytes = 1 << 20
	// builtinBytes is what looking for a name of Python's own counts in a loop.
	builtinBytes = 64
)

// evaluator computes values. It has failed where Python raises an exception, where it would run code, and where a value would become too
// large; what it returns then counts for nothing.
type evaluator struct {
	names  map[string]string
	failed bool
	// made counts the bytes that operators made and that loops go through.
	made int64
	// scope is that of the innermost comprehension, nil outside of all.
	scope *scope
}

func (e *evaluator) fail() object {
	e.failed = true
	return object{}
}

// spend says whether a value of so many bytes may still be made.
func (e *evaluator) spend(bytes int64) bool {
	e.made += min(bytes, maxBytes+1)
	e.failed = e.failed || e.made > maxBytes
	return !e.failed
}

// value computes an expression.
func (e *evaluator) value(n *node) object {
	if e.failed || e.scope != nil && !e.spend(1) { // in a loop each part is computed again and again
		return object{}
	}
	switch n.kind {
	case nodeName:
		return e.name(n.text)
	case nodeConstant:
		return e.looked(n.value)
	case nodeJoined:
		return e.joined(n)
	case nodeList:
		return sequence(kindList, e.items(n))
	case nodeTuple:
		return sequence(kindTuple, e.items(n))
	case nodeSet:
		return e.set(e.items(n))
	case nodeDict:
		return e.dict(n)
	case nodeUnary:
		return e.unary(n.text, e.value(n.child(0)))
	case nodeBinary:
		left := e.value(n.child(0))
		return e.binary(n.text, left, e.value(n.child(1)))
	case nodeBoolean:
		return e.boolean(n)
	case nodeCompare:
		return e.comparison(n)
	case nodeConditional:
		if e.truth(e.value(n.child(1))) {
			return e.value(n.child(0))
		}
		return e.value(n.child(2))
	case nodeLambda:
		return e.lambda(n)
	case nodeNamed:
		return e.value(n.child(1))
	case nodeAttribute:
		return e.attribute(e.value(n.child(0)), n.text)
	case nodeSubscript:
		return e.subscript(e.value(n.child(0)), n.child(1))
	case nodeCall:
		return e.call(n)
	case nodeComprehension:
		return e.comprehension(n)
	case nodeFormatted, nodeStarred, nodeAwait, nodeYield, nodeSlice:
	}
	return e.fail()
}

// items computes those of a list, a tuple or a set.
func (e *evaluator) items(n *node) []object {
	items := make([]object, 0, len(n.items))
	for _, item := range n.items {
		if item.value.kind == nodeStarred {
			items = append(items, e.iterated(e.value(item.value.child(0)))...)
		} else {
			items = append(items, e.value(item.value))
		}
	}
	return items
}

// iterated returns what a loop would go through.
func (e *evaluator) iterated(o object) []object {
	var items []object
	e.each(o, func(item object) { items = append(items, item) })
	return items
}

// looked is a value that stands in the source or in a variable. In a loop it counts as often as it is looked at: what is done with it may take
// time that grows with its size.
func (e *evaluator) looked(o object) object {
	if e.scope != nil {
		e.spend(o.size())
	}
	return o
}

func (e *evaluator) set(items []object) object {
	o := object{kind: kindSet, table: &table{}}
	for _, item := range items {
		o.table.set(e.hash(item), item, object{})
	}
	return o
}

func (e *evaluator) hash(key object) string {
	hash, ok := key.hash()
	if !ok || e.scope != nil && key.real != key.real { // a NaN is equal to itself alone
		e.fail()
	}
	return hash
}

func (e *evaluator) dict(n *node) object {
	o := object{kind: kindDict, table: &table{}}
	for i := 0; i < len(n.items) && !e.failed; i++ {
		if n.items[i].form != formUnpacked {
			key := e.value(n.child(i))
			i++
			o.table.set(e.hash(key), key, e.value(n.child(i)))
			continue
		}
		other := e.value(n.child(i))
		if other.kind != kindDict || !e.spend(other.size()) {
			return e.fail()
		}
		o.table.add(other.table)
	}
	return o
}

// boolean computes and, or: the value of the last operand that counts.
func (e *evaluator) boolean(n *node) object {
	var last object
	for i, item := range n.items {
		last = e.value(item.value)
		if i < len(n.items)-1 && e.truth(last) == (n.text == "or") {
			break
		}
	}
	return last
}

// truth says whether a value counts as true.
func (e *evaluator) truth(o object) bool {
	switch o.kind {
	case kindBool, kindInt:
		return o.whole.Sign() != 0
	case kindFloat, kindComplex:
		return o.real != 0 || o.imag != 0
	case kindText, kindBytes:
		return o.text != ""
	case kindList, kindTuple:
		return len(o.items) > 0
	case kindDict, kindSet:
		return o.table.len() > 0
	case kindThing:
		if o.span != nil {
			return o.span.holds(o.span[0])
		}
		if o.text == "" && o.generator == nil {
			e.fail()
		}
		return true
	case kindNone:
	}
	return false
}

// lambda is a thing, if the defaults of its parameters have values.
func (e *evaluator) lambda(n *node) object {
	for _, parameter := range n.items[:len(n.items)-1] {
		if parameter.value != nil {
			e.value(parameter.value)
		}
	}
	return thing("")
}

// call computes the few calls of Python's own functions whose result depends on nothing else, and which JSON cannot write.
func (e *evaluator) call(n *node) object {
	var arguments []object
	for _, argument := range n.items[1:] {
		if argument.form != formPlain {
			return e.fail()
		}
		arguments = append(arguments, e.value(argument.value))
	}
	if n.child(0).kind != nodeName || e.failed {
		return e.fail()
	}
	name := n.child(0).text
	switch {
	case (name == "set" || name == "frozenset") && len(arguments) == 0:
		return e.set(nil)
	case (name == "set" || name == "frozenset") && len(arguments) == 1 && arguments[0].kind == kindSet:
		return arguments[0]
	case (name == "set" || name == "frozenset") && len(arguments) == 1:
		return e.set(e.iterated(arguments[0]))
	case (name == "bytes" || name == "bytearray" || name == "object") && len(arguments) == 0:
		return thing("")
	case name == "range" && len(arguments) > 0 && len(arguments) < 4:
		for i, argument := range arguments {
			if argument.whole == nil || i == 2 && argument.whole.Sign() == 0 {
				return e.fail()
			}
		}
		return object{kind: kindThing, span: spanOf(arguments)}
	default:
		return e.fail()
	}
}

// joined computes a formatted text. How values are formatted beyond their conversion is not understood.
func (e *evaluator) joined(n *node) object {
	if source, ok := n.source(bindTest); !ok || e.scope != nil && !e.spend(int64(len(source))) {
		return e.fail() // as the original evaluates what it has written
	}
	var b strings.Builder
	for _, item := range n.items {
		part := item.value
		if part.kind == nodeConstant {
			b.WriteString(part.value.text)
			continue
		}
		if len(part.items) > 1 && len(part.child(1).items) > 0 {
			return e.fail()
		}
		e.print(&b, e.value(part.child(0)), part.text)
	}
	e.spend(int64(b.Len()))
	return text(b.String())
}

// print writes a value: as itself, or converted with r or a.
func (e *evaluator) print(b *strings.Builder, o object, conversion string) {
	switch {
	case e.failed || !e.spend(o.size()):
	case o.kind == kindText && (conversion == "" || conversion == "s"):
		b.WriteString(o.text)
	case conversion == "a":
		var repr strings.Builder
		if !o.repr(&repr) {
			e.fail()
		}
		for _, c := range characters(repr.String()) {
			b.WriteString(asciiText(c))
		}
	case !o.repr(b):
		e.fail()
	}
}

// name returns a variable that the source may use, or something of Python's own.
func (e *evaluator) name(name string) object {
	for s := e.scope; s != nil; s = s.outer {
		if value, ok := s.variables[name]; ok {
			if value == nil {
				return e.fail()
			}
			return e.looked(*value)
		}
	}
	if value, ok := e.names[name]; ok {
		return e.looked(text(value))
	}
	if e.scope != nil && !e.spend(builtinBytes) {
		return object{}
	}
	switch {
	case name == "__debug__":
		return truth(true)
	case name == "EnvironmentError" || name == "IOError":
		return thing("OSError")
	case strings.Contains(builtins, " "+name+" "):
		return thing(name)
	default:
		return e.fail()
	}
}
