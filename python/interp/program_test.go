package interp

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
)

// programWriter writes random programs. Most of them end without an exception.
type programWriter struct {
	r     *rand.Rand
	out   strings.Builder
	depth int
	texts bool                // print the texts of exceptions
	names map[string][]string // variables by type
	next  int
}

func (w *programWriter) pick(options ...string) string { return options[w.r.IntN(len(options))] }

func (w *programWriter) line(format string, args ...any) {
	w.out.WriteString(strings.Repeat("    ", w.depth))
	fmt.Fprintf(&w.out, format+"\n", args...)
}

// randomProgram returns a program that prints its values and the types of its exceptions. If texts
// is set, it also prints the texts of exceptions.
func randomProgram(seed uint64, texts bool) string {
	w := &programWriter{texts: texts, r: rand.New(rand.NewPCG(seed, 1)), names: make(map[string][]string)}
	w.line("a, b, s, t, l, m, d, e, x = 3, -2, 'hello World', 'a,b,,c', [3, 1, 2], ['x', 'yy', ''], {'k': 1, 'j': 2}, {1, 5, 3}, 2.5")
	w.names = map[string][]string{"int": {"a", "b"}, "str": {"s", "t"}, "list": {"l"}, "texts": {"m"}, "dict": {"d"}, "set": {"e"}, "float": {"x"}}
	for range 4 + w.r.IntN(8) {
		if w.r.IntN(8) == 0 {
			w.statement(0)
			continue
		}
		w.block(0, "try:")
		w.line("except Exception as err: print(%s)", w.failure())
	}
	for _, kind := range []string{"int", "str", "list", "texts", "dict", "float"} {
		w.line("print(%s)", w.names[kind][0])
	}
	return w.out.String()
}

// failure returns the expression to print for an exception. Only the interpreter raises some of
// them, and exceeds recognizes those by their texts.
func (w *programWriter) failure() string {
	if w.texts {
		return "type(err).__name__, err, err.args"
	}
	return "type(err).__name__, [part for part in ('number is too large', 'complex numbers') if part in str(err)]"
}

func (w *programWriter) kind() string {
	return w.pick("int", "int", "str", "str", "list", "texts", "dict", "set", "float", "bool")
}

func (w *programWriter) statement(level int) {
	switch n := w.r.IntN(22); {
	case n < 4:
		kind := w.kind()
		w.line("print(%s)", w.shown(kind, 3))
	case n < 8:
		kind := w.pick("int", "str", "list", "texts", "dict", "float", "set")
		w.line("%s = %s", w.pick(w.names[kind]...), w.expr(kind, 3))
	case n < 9:
		w.line("%s %s %s", w.pick(w.names["int"]...), w.pick("+=", "-=", "*=", "//=", "%=", "|=", "&=", "^="), w.expr("int", 2))
	case n < 10:
		w.line("%s += %s", w.pick(w.names["str"]...), w.expr("str", 2))
	case n < 12:
		w.change()
	case level > 2:
		w.line("print(%s)", w.shown("int", 2))
	case n < 14:
		w.block(level, "if %s:", w.expr("bool", 2))
		if w.r.IntN(2) == 0 {
			w.block(level, "elif %s:", w.expr("bool", 2))
		}
		if w.r.IntN(2) == 0 {
			w.block(level, "else:")
		}
	case n < 16:
		w.block(level, "for i in %s:", w.pick("range(3)", "range(5, 0, -2)", "list("+w.expr("list", 1)+")[:4]"))
		if w.r.IntN(4) == 0 {
			w.block(level, "else:")
		}
	case n < 17:
		name := fmt.Sprintf("n%d", w.next)
		w.next++
		w.line("%s = 0", name)
		w.line("while %s < %d:", name, 1+w.r.IntN(4))
		w.depth++
		w.line("%s += 1", name)
		if w.r.IntN(2) == 0 {
			w.line("if %s: %s", w.expr("bool", 1), w.pick("break", "continue"))
		}
		w.statement(level + 1)
		w.depth--
	case n < 19:
		w.tries(level)
	case n < 21:
		w.function(level)
	default:
		w.line("p, *q = %s", w.pick("'abc'", "[1, 2, 3]", "(4,)", w.expr("list", 1), "d.items()", "zip(l, m)"))
		w.line("print(p, q)")
	}
}

func (w *programWriter) block(level int, head string, args ...any) {
	w.line(head, args...)
	w.depth++
	for range 1 + w.r.IntN(2) {
		w.statement(level + 1)
	}
	w.depth--
}

func (w *programWriter) tries(level int) {
	w.block(level, "try:")
	w.depth++
	w.line("%s", w.pick("pass", "raise ValueError('v')", "raise KeyError('k')", "1 / 0", "[][1]", "d['zz']", "int('q')", "undefined", "s.nope", "assert a < 0, 'neg'",
		"raise TypeError", "raise RuntimeError(1, 'x')", "None + 1", "len(5)", "l.remove(99)"))
	w.depth--
	w.line("except %s as err:", w.pick("Exception", "(ValueError, KeyError)", "LookupError", "ArithmeticError", "(TypeError, NameError)"))
	w.depth++
	w.line("print(%s)", w.failure())
	w.depth--
	if w.r.IntN(2) == 0 {
		w.block(level, "else:")
	}
	if w.r.IntN(3) == 0 {
		w.block(level, "finally:")
	}
}

func (w *programWriter) function(level int) {
	name := fmt.Sprintf("f%d", w.next)
	w.next++
	switch w.r.IntN(5) {
	case 0:
		w.line("def %s(n):", name)
		w.line("    return 1 if n < 2 else n * %s(n - 1)", name)
		w.line("print(%s(%d))", name, w.r.IntN(12))
	case 1:
		w.line("def %s(n, *args, k=%s, **kw):", name, w.expr("int", 1))
		w.line("    return (n, args, k, kw)")
		w.line("print(%s(%s))", name, w.pick("1", "1, 2, 3", "1, k=2", "1, z=3", "*l", "**d", "", "n=4", "1, n=2"))
	case 2:
		w.line("def %s():", name)
		w.line("    c = %s", w.expr("int", 1))
		w.line("    def inner(step=1):")
		w.line("        nonlocal c")
		w.line("        c += step")
		w.line("        return c")
		w.line("    return inner")
		w.line("g = %s(); print(g(), g(2), g())", name)
	case 3:
		w.line("%s = lambda n, k=2: %s", name, w.pick("n * k", "[n] * k", "(n, k)", "n if k else -n"))
		w.line("print(%s(%s))", name, w.expr("int", 1))
	default:
		w.line("def %s(n):", name)
		w.depth++
		w.line("for i in range(n):")
		w.line("    if i > %d: return i", w.r.IntN(4))
		w.statement(level + 2)
		w.depth--
		w.line("print(%s(%d))", name, w.r.IntN(5))
	}
}

// change returns a statement that changes a container.
func (w *programWriter) change() {
	l, d, e := w.pick(w.names["list"]...), w.pick(w.names["dict"]...), w.pick(w.names["set"]...)
	i, n := w.expr("int", 1), w.r.IntN(4)-1
	w.line("%s", w.pick(
		fmt.Sprintf("%s.append(%s)", l, i), fmt.Sprintf("%s.insert(%d, %s)", l, n, i), fmt.Sprintf("print(%s.pop(%d))", l, n), l+".sort(reverse="+w.expr("bool", 1)+")",
		l+".reverse()", fmt.Sprintf("%s[%d] = %s", l, n, i), fmt.Sprintf("%s[%d:%d] = %s", l, n, w.r.IntN(4), w.expr("list", 1)), fmt.Sprintf("del %s[%d]", l, n),
		fmt.Sprintf("%s.extend(%s)", l, w.expr("list", 1)), fmt.Sprintf("%s[%s] = %s", d, w.expr("str", 1), i), d+".pop('k', None)", fmt.Sprintf("%s.update(%s)", d, w.expr("dict", 1)),
		fmt.Sprintf("print(%s.setdefault(%s, %s))", d, w.expr("str", 1), i), d+".popitem()", fmt.Sprintf("del %s['k']", d), fmt.Sprintf("%s.add(%s)", e, i),
		fmt.Sprintf("%s.discard(%s)", e, i), fmt.Sprintf("%s |= %s", e, w.expr("set", 1)), fmt.Sprintf("%s.remove(%s)", e, i), fmt.Sprintf("%s *= %d", l, n),
		fmt.Sprintf("%s[::2] = %s", l, w.expr("list", 1)), l+".remove("+i+")", fmt.Sprintf("print(%s.index(%s), %s.count(%s))", l, i, l, i),
	))
}

// shown returns an expression whose text does not depend on the order of a set.
func (w *programWriter) shown(kind string, depth int) string {
	if kind == "set" {
		return "sorted(" + w.expr(kind, depth) + ")"
	}
	if w.r.IntN(6) == 0 {
		return w.expand("type§any", depth)
	}
	return w.expr(kind, depth)
}

// expr returns an expression of a type, sometimes of another type.
func (w *programWriter) expr(kind string, depth int) string {
	if w.r.IntN(120) == 0 {
		kind = w.kind()
	}
	if depth <= 0 || w.r.IntN(5) == 0 {
		return w.leaf(kind)
	}
	return w.expand(w.pick(templates()[kind]...), depth-1)
}

// expand replaces §kind, §n (a small number), §m (may be negative) and §slice by random
// expressions.
func (w *programWriter) expand(template string, depth int) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(template, "§")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		n := strings.IndexFunc(rest, func(c rune) bool { return c < 'a' || c > 'z' })
		if n < 0 {
			n = len(rest)
		}
		switch kind := rest[:n]; kind {
		case "n":
			fmt.Fprint(&out, w.r.IntN(6))
		case "m":
			fmt.Fprintf(&out, "(%d)", w.r.IntN(5)-2)
		case "slice":
			out.WriteString(w.slice())
		case "spec":
			out.WriteString(w.pick("", ":>6", ":<4", ":^7", ":05", ":+", ":,", ":x", ":.1f", ":e", ":g", ":#o", ":_", ":%", ":010,", ":.3", ": d", ":b", ":c", ":s", ":*^9", ":08.2f", ":,.2f", ":.0f", ":n", "!r", "!s:>9"))
		case "any":
			out.WriteString("(" + w.shown(w.kind(), depth) + ")")
		case "plain": // within an f-string
			out.WriteString(w.pick("a", "b", "x", "a + b", "s", "len(s)", "(a, x)", "l", "a * 1000003", "x * 1e9", "t[2:]", "max(l)", "d", "a > b", "x / 7", "s.upper()"))
		default:
			out.WriteString("(" + w.expr(kind, depth) + ")")
		}
		template = rest[n:]
	}
}

// templates returns the expressions of each type.
func templates() map[string][]string {
	return map[string][]string{
		"int": {
			"§int + §int", "§int - §int", "§int * §int", "§int // §int", "§int % §int", "§int & §int", "§int | §int", "§int ^ §int", "len§str", "len§list", "len§dict", "len§set", "sum§list",
			"min(§list, default=7)", "max§list", "max(§list, key=lambda v: v % 3)", "§str.find§str", "§str.count§str", "§str.rfind§str", "§str.index§str", "§list[§m]", "§dict.get(§str, §int)", "int§float",
			"round§float", "abs§int", "-§int", "§int ** §m", "int§bool", "§int if §bool else §int", "§int and §int", "§int or §int", "~§int", "§int << §n * 12", "§int >> §n", "ord(§str[0])", "int§str",
			"§dict[§str]", "divmod(§int, §int)[1]", "sum(i * i for i in §list)", "next((v for v in §list if v > 1), 0)", "pow(§int, 3, 7)", "round(§int, §m)", "§str.find(§str, §m, §m)",
		},
		"float": {
			"§float + §int", "§float - §int", "§float * §int", "§int / §int", "§float // §int", "§float % §int", "float§int", "round(§float, §m)", "abs§float", "sum(§list, 0.5)", "§float ** 2", "-§float", "float§str",
		},
		"str": {
			"str§any", "§str + §str", "§str * §n", "§str§slice", "§str.upper()", "§str.lower()", "§str.title()", "§str.capitalize()", "§str.strip()", "§str.swapcase()", "§str.casefold()", "§str.rstrip§str",
			"§str.replace(§str, §str)", "§str.replace(§str, §str, §n)", "§str.join§texts", "f'{§plain§spec}'", "f'<{§plain§spec}>{{§n}}'", "f'{§plain§spec}{§plain=}'", "format(§any, '>8')", "format(§float, '.3g')",
			"'%s|%r' % (§int, §str)", "'%5d|%-4d|%+.2f|%x|%e' % (§int, §int, §float, abs§int, §float)", "'{} {}'.format(§int, §any)", "'{0!r:>5}-{k}'.format(§str, k=§int)", "§str[§m]", "§str.center(§n * 2)",
			"§str.ljust(§n * 2, '*')", "§str.rjust(§n * 2)", "§str.zfill(§n * 2)", "§texts[§m]", "§str or 'none'", "min§texts", "chr(97 + §int % 26)", "hex§int", "bin§int", "repr§any", "'%(k)s' % §dict",
			"'{k}'.format(**§dict)", "type§any.__name__", "§str.removeprefix('h')", "'%g %s' % (§float, §list)", "'%05.1f|%5s|%%' % (§float, §str)", "ascii§str", "§str.expandtabs(§n)", "'{0[0]}'.format§list",
		},
		"list": {
			"[§int, §int]", "sorted§list", "§list§slice", "(lambda v: v)§list", "§list + §list", "[i * §int for i in §list if i % 2]", "[i for i in §list if i > 0]", "list(range§n)", "list(range(§m, §n, §m))",
			"list(map(abs, §list))", "[len(v) for v in §texts]", "list(reversed§list)", "sorted§set", "list(§dict.values())", "§list * §n", "[*§list, §int]", "[p for p, _ in enumerate(§texts, 1)]",
			"[y for i in range(3) for y in range(i)]", "(lambda *v: list(v))(*§list)", "list(filter(None, §list))", "sorted(§list, key=lambda v: -v)", "[p if p > 1 else -p for p in §list]",
			"[v for p in zip(§list, §list) for v in p]", "sorted(§list, reverse=§bool)",
		},
		"texts": {
			"§str.split()", "§str.split(',')", "§str.split('o', 1)", "§str.split(None, 1)", "§str.rsplit('l', 1)", "§str.rsplit(None, §n)", "[§str]", "sorted(§texts, key=len)", "[§str, *§texts]", "[str(v) for v in §list]",
			"§texts§slice", "list§str", "sorted§dict", "[v.upper() for v in §texts]", "§str.splitlines()", "list(§str.partition('o'))", "list(§str.rpartition(','))", "list(map(str, §list))", "[c for c in §str if c not in 'aeiou']",
		},
		"dict": {
			"{§str: §int}", "{k: v + 1 for k, v in §dict.items()}", "dict(zip(§texts, §list))", "§dict | §dict", "{**§dict, 'z': §int}", "dict(§dict, q=§int)", "dict.fromkeys(§texts, §int)", "{str(i): i for i in §list}",
			"§dict.copy()", "dict([(§str, §int)])", "{c: s.count(c) for c in §str}",
		},
		"set": {
			"set§list", "§set | §set", "§set & §set", "§set - §set", "§set ^ §set", "{v % 3 for v in §list}", "§set.union§list", "§set.intersection§list", "§set.difference§list", "frozenset§list", "{§int}",
		},
		"bool": {
			"§int == §int", "§float == §int", "§str == §str", "§list == §list", "§dict == §dict", "§set == §set", "§any == §any", "§int < §int", "§int >= §float", "§int < §int <= §int", "not §bool", "§bool and §bool",
			"§bool or §bool", "§int in §list", "§int in §set", "§str not in §dict", "§str in §str", "§str < §str", "§list < §list", "isinstance(§any, int)", "isinstance(§any, (list, dict))", "any§list",
			"all(v > 0 for v in §list)", "§str.isdigit()", "§str.isalpha()", "§str.isupper()", "§str.istitle()", "§str.isalnum()", "§str.isspace()", "§str.startswith§str", "§str.endswith(('h', 'c'))", "bool§any",
			"§set <= §set", "§set > §set", "§int is None", "§set.issubset§list", "§str.isidentifier()", "§set.isdisjoint§set",
		},
	}
}

func (w *programWriter) slice() string {
	return w.pick("[1:]", "[:2]", "[::-1]", "[-2:]", "[1:-1]", "[::2]", "[5:1]", "[-1:0:-1]", "[:]", "[10:]", "[2::-2]")
}

func (w *programWriter) leaf(kind string) string {
	switch kind {
	case "int":
		return w.pick(w.pick(w.names["int"]...), "0", "1", "2", "-1", "7", "10", "255", "1000000", "True", "123456789012345678901")
	case "float":
		return w.pick("x", "0.5", "1.0", "-2.75", "1e10", "3.14159", "1e-7", "0.1", "1e300", "1234567.891", "-0.0", "2e16")
	case "str":
		return w.pick(w.pick(w.names["str"]...), "''", "'a'", "'12'", "'Été'", "'k'", "'it\\'s'", "'  pad '", "'x\\ny'", "'日本'", "'ABC def'", "'1.5'", "'o'")
	case "list":
		return w.pick("l", "[]", "[1, 2, 3]", "[5]", "[0, -1]", "[2, 2]")
	case "texts":
		return w.pick("m", "[]", "['b', 'a']", "['k']")
	case "dict":
		return w.pick("d", "{}", "{'k': 5, 'a': 0}")
	case "set":
		return w.pick("e", "set()", "{1, 2}", "{3, 5, 7}")
	default:
		return w.pick("True", "False", "None", "(a > b)")
	}
}

// TestDefects tells panics of the interpreter itself from an error of the host: they are an
// exception of the program, which alone is to blame.
func TestDefects(t *testing.T) {
	infinity := new(big.Float).SetInf(false)
	var none []int
	at := 0
	for _, defect := range []func(){
		func() { new(big.Float).Sub(infinity, infinity) }, func() { new(big.Int).Div(big.NewInt(1), new(big.Int)) }, func() { none[at]++ },
	} {
		failure := recoverPanic(defect)
		got, ok := errors.AsType[*python.Exception](new(machine).outcomeError(failure))
		if !ok || got.Type != "SystemError" || got.Text == "" {
			t.Errorf("panic %v: got %v, want a SystemError", failure, got)
		}
	}
	lost := errors.New("the host is lost")
	if err := new(machine).outcomeError(recoverPanic(func() { panic(lost) })); !errors.Is(err, lost) {
		t.Errorf("error of the host: got %v, want %v", err, lost)
	}
}
