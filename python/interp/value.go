package interp

import (
	"math/big"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// A Python value is one of these Go values: nil (None), bool, int, *big.Int (only beyond 64 bits),
// float64, string (WTF-8), or a pointer to a type of this file or of table.go. Values live as long
// as their run, which one goroutine executes.
type (
	list  struct{ items []any }
	tuple struct{ items []any }

	// rangeValue is a range object.
	rangeValue struct{ start, stop, step int }

	// slice is the subscript low:high:step.
	slice struct{ low, high, step any }

	// function is the value of a def or lambda.
	function struct {
		code     *syntax.Function
		defaults []any // by parameter; absent without a default
		closure  *frame
	}

	// builtin is a function of this package, or a bound method.
	builtin struct {
		name string
		self any
		call native
	}

	// tool is a function of the host.
	tool struct{ name string }

	module struct {
		name    string
		members map[string]any
	}

	// class is a type.
	class struct {
		name      string // qualified, unless builtin
		base      *class
		construct native // constructor; nil if a program cannot create instances
		methods   map[string]native
		// attributes are constants and functions of the type itself.
		attributes map[string]any
		// enum is nil unless the class is an enumeration of the program.
		enum *enumeration
	}

	// exception is an instance of an exception class.
	exception struct {
		class *class
		args  []any
		cause error // error of the host, if the host raised it
	}

	// view is the result of a dict's keys(), values() or items().
	view struct {
		of   *dict
		kind viewKind
	}
)

// native is the Go function of a builtin.
type native func(*arguments) any

type viewKind uint8

const (
	viewKeys viewKind = iota
	viewValues
	viewItems
)

// absentType is the type of absent, the value of an unassigned variable or a missing argument.
type absentType struct{}

var absent any = absentType{}

// orDefault returns an argument, or a default if it is absent.
func orDefault(v, otherwise any) any {
	if v == absent {
		return otherwise
	}
	return v
}

// typeName returns the name of a value's type.
func typeName(v any) string {
	switch v := v.(type) {
	case nil, bool, int, *big.Int, float64, string:
		return python.ValueOf(v).TypeName()
	case *list:
		return "list"
	case *tuple:
		return "tuple"
	case *dict:
		return "dict"
	case *set:
		if v.frozen {
			return "frozenset"
		}
		return "set"
	case *rangeValue:
		return "range"
	case *slice:
		return "slice"
	case *function, *tool:
		return "function"
	case *builtin:
		return "builtin_function_or_method"
	case *module:
		return "module"
	case *class:
		return "type"
	case *exception:
		return v.class.short()
	case *view:
		return [...]string{"dict_keys", "dict_values", "dict_items"}[v.kind]
	case object:
		return v.kind().short()
	case iterator:
		return v.name()
	case syntax.EllipsisType:
		return "ellipsis"
	default:
		return "object"
	}
}

// short returns the name without its module.
func (c *class) short() string { return c.name[strings.LastIndexByte(c.name, '.')+1:] }

// isSubclass reports whether a class is another one or derives from it.
func (c *class) isSubclass(other *class) bool {
	for ; c != nil; c = c.base {
		if c == other || c.enum != nil && c.enum.mixin.isSubclass(other) {
			return true
		}
	}
	return false
}

// truth reports whether a value is true in a condition. NOT_GIVEN and absent are false.
func truth(v any) bool {
	switch v := plain(v).(type) {
	case nil, absentType, *notGivenType:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *list:
		return len(v.items) > 0
	case *tuple:
		return len(v.items) > 0
	case *dict:
		return v.live > 0
	case *set:
		return v.live > 0
	case *rangeValue:
		return v.length() > 0
	case *view:
		return v.of.live > 0
	case *timedelta:
		return *v != timedelta{}
	default:
		return true
	}
}

// length returns the number of items.
func (s *rangeValue) length() int {
	switch {
	case s.step > 0 && s.start < s.stop:
		return int((uint64(s.stop)-uint64(s.start)-1)/uint64(s.step)) + 1
	case s.step < 0 && s.start > s.stop:
		return int((uint64(s.start)-uint64(s.stop)-1)/(-uint64(s.step))) + 1
	default:
		return 0
	}
}

// at returns the item at an index within the range.
func (s *rangeValue) at(i int) int { return s.start + i*s.step }

// isSame reports whether two values are the same object. Strings and numbers are the same if they
// have one type and are equal.
func isSame(x, y any) bool {
	switch x := x.(type) {
	case *big.Int:
		y, ok := y.(*big.Int)
		return ok && x.Cmp(y) == 0
	case *tuple:
		y, ok := y.(*tuple)
		return ok && (x == y || len(x.items)+len(y.items) == 0)
	case *builtin:
		y, ok := y.(*builtin)
		return ok && x.name == y.name && x.self == nil && y.self == nil
	case *tool:
		y, ok := y.(*tool)
		return ok && x.name == y.name
	default:
		return x == y
	}
}
