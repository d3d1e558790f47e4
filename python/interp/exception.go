package interp

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

// exceptionTree holds the exception classes that a program can name.
var exceptionTree = newExceptionTree()

func newExceptionTree() map[string]*class {
	tree := make(map[string]*class)
	for _, family := range [][]string{
		{"", "BaseException"},
		{"BaseException", "Exception", "SystemExit", "KeyboardInterrupt", "GeneratorExit"},
		{"Exception", "ArithmeticError", "AssertionError", "AttributeError", "EOFError", "ImportError", "LookupError", "MemoryError", "NameError", "OSError",
			"RuntimeError", "StopIteration", "SyntaxError", "TypeError", "ValueError", "Warning", "BufferError", "ReferenceError", "SystemError", regexError},
		{"ArithmeticError", "FloatingPointError", "OverflowError", "ZeroDivisionError"},
		{"ImportError", "ModuleNotFoundError"},
		{"LookupError", "IndexError", "KeyError"},
		{"NameError", "UnboundLocalError"},
		{"OSError", "ConnectionError", "FileExistsError", "FileNotFoundError", "InterruptedError", "PermissionError", "TimeoutError"},
		{"RuntimeError", "NotImplementedError", "RecursionError"},
		{"SyntaxError", "IndentationError"},
		{"IndentationError", "TabError"},
		{"ValueError", "UnicodeError", "json.decoder.JSONDecodeError"},
		{"Warning", "DeprecationWarning", "FutureWarning", "RuntimeWarning", "UserWarning"},
	} {
		for _, name := range family[1:] {
			tree[name] = &class{name: name, base: tree[family[0]]}
		}
	}
	tree["EnvironmentError"], tree["IOError"] = tree["OSError"], tree["OSError"]
	return tree
}

// exceptionClass returns an exception class by name, nil if it is unknown.
func exceptionClass(name string) *class { return exceptionTree[name] }

// newException is the constructor of all exception classes.
func newException(a *arguments) any {
	c, ok := a.self.(*class)
	if !ok {
		panic(raise("TypeError", "no exception"))
	}
	if len(a.named) > 0 {
		panic(raise("TypeError", "%s() takes no keyword arguments", c.short()))
	}
	a.allocItems(1 + len(a.positional))
	return &exception{class: c, args: slices.Clone(a.positional)}
}

// exceptionText returns str(e).
func (m *machine) exceptionText(e *exception) string {
	if m.stack++; m.stack > limit.StackDepth {
		m.stack--
		panic(tooDeep())
	}
	defer func() { m.stack-- }()
	switch {
	case len(e.args) == 0:
		return ""
	case len(e.args) == 1 && e.cause == nil && e.class.isSubclass(exceptionClass("KeyError")):
		return m.repr(e.args[0])
	case len(e.args) == 1:
		return m.str(e.args[0])
	case len(e.args) == 2 && e.class.isSubclass(exceptionClass("OSError")):
		return m.osErrorText(e)
	default:
		return m.repr(&tuple{e.args})
	}
}

func (m *machine) osErrorText(e *exception) string {
	number := m.str(e.args[0])
	text := m.str(e.args[1])
	return "[Errno " + number + "] " + text
}

// exceptionAttribute returns e.name, nil if the attribute is missing.
func exceptionAttribute(e *exception, name string) any {
	switch name {
	case "args":
		return &tuple{slices.Clone(e.args)}
	case "__class__":
		return e.class
	case "value":
		if e.class.name == "StopIteration" && len(e.args) > 0 {
			return e.args[0]
		}
	case "msg":
		return messageOf(e)
	}
	return nil
}

// messageOf returns the text of an exception of json or re without its position, nil for others.
func messageOf(e *exception) any {
	mark := map[string]string{"json.decoder.JSONDecodeError": ": line ", regexError: " at position "}[e.class.name]
	if mark == "" || len(e.args) == 0 {
		return nil
	}
	if text, ok := e.args[0].(string); ok && strings.Contains(text, mark) {
		return text[:strings.LastIndex(text, mark)]
	}
	return e.args[0]
}
