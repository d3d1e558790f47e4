package interp

// object is a value of a type of a module or of an enumeration.
type object interface {
	kind() *class
	// attribute returns a data attribute, absent if there is none.
	attribute(m *machine, name string) any
	repr(m *machine) string
	str(m *machine) string
}

// ordered is an object that is compared and hashed by its value.
type ordered interface {
	object
	// order compares with another value. ok is false if the two are never equal. Values that are
	// unequal but in no order raise an exception if the order is wanted.
	order(m *machine, other any, wanted bool) (order int, ok bool)
	hash() any
}

// calculable is an operand with operators of its own, on either side.
type calculable interface {
	// calculate returns x op y, absent if the operator does not take these operands.
	calculate(m *machine, op string, x, y any) any
}

// formattable is an object with format specifications of its own.
type formattable interface {
	format(m *machine, spec string) string
}

// subscriptable is an object that takes a subscript.
type subscriptable interface {
	item(m *machine, index any) any
}
