package interp

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/python/limit"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// hostileSources returns sources that try to exceed a limit or to escape, by name.
func hostileSources() map[string]string {
	all := make(map[string]string)
	for _, sources := range []map[string]string{consumingSources(), growingSources(), largeSources(), escapingSources()} {
		maps.Copy(all, sources)
	}
	return all
}

// consumingSources consume time, memory or output in a loop.
func consumingSources() map[string]string {
	return map[string]string{
		"endless loop":            "while True: pass",
		"endless loop with work":  "x = 0\nwhile True:\n    x += 1",
		"endless output":          "while True: print('x' * 1000)",
		"endless calls":           "while True: echo(1)",
		"endless list":            "x = []\nwhile True: x.append(x)",
		"endless extend":          "x = [1]\nwhile True: x.extend(x)",
		"endless dict":            "d = {}\ni = 0\nwhile True:\n    d[i] = i\n    i += 1",
		"nested loops":            "for a in range(10**6):\n    for b in range(10**6):\n        pass",
		"loop over a large range": "for a in range(10**9): pass",
		"text doubling":           "x = 'x'\nwhile True: x = x + x",
		"text doubling in place":  "x = 'x'\nwhile True: x += x",
		"text repetition":         "x = 'x' * 10**9",
		"text repetition, huge":   "x = 'x' * 10**1000",
		"empty repetition":        "x = '' * 10**9",
		"list repetition":         "x = [0] * 10**9",
		"list doubling":           "x = [0]\nwhile True: x = x + x",
		"tuple doubling":          "x = (0,)\nwhile True: x = x + x",
		"tuple repetition":        "x = (0,) * 10**9",
		"replace":                 "x = 'a'\nwhile True: x = x.replace('a', 'aaaaaaaaaaaaaaaa')",
		"replace of nothing":      "x = 'a' * 10000\nx = x.replace('', x)",
		"join":                    "x = 'ab'\nwhile True: x = x.join(x)",
		"split":                   "x = 'a ' * 10**6\nwhile True: y = x.split()",
		"format width":            "print('{:999999999}'.format(1))",
		"format precision":        "print(f'{1.5:.999999999f}')",
		"percent width":           "print('%999999999d' % 1)",
		"padding":                 "print('a'.rjust(10**9))",
		"f-string doubling":       "x = 'x'\nwhile True: x = f'{x}{x}'",
		"template doubling":       "x = 'x'\nwhile True: x = '{0}{0}'.format(x)",
		"upper":                   "x = 'x' * 10**6\nwhile True: x = x.upper()",
		"slices":                  "x = list(range(10000))\nwhile True: y = x[:]",
		"text slices":             "x = 'x' * 10000\nwhile True: y = x[1:]",
		"compared dicts":          "x = {i: 0 for i in range(20000)}\nx.pop(0)\ny = {-i: 0 for i in range(1, 20000)}\nwhile True: x == y",
		"equal texts":             "x, y = 'x' * 2**20 + 'y', 'x' * 2**20 + 'y'\nx = [x] * 5000\nwhile True: x.count(y)",
		"equal texts, identity":   "x, y = 'x' * 2**21 + 'y', 'x' * 2**21 + 'y'\nwhile True: x is y",
		"cut texts":               "x = 'x' * 2**22\nwhile True: '%.1s' % x",
		"lengths of texts":        "x = 'x' * 2**22\nwhile True:\n    try: ord(x)\n    except TypeError: pass",
		"text subscripts":         "x = 'x' * 100000\nwhile True: y = x[1]",
	}
}

// growingSources grow numbers and nested values.
func growingSources() map[string]string {
	many := strings.Repeat
	return map[string]string{
		"huge power":              "x = 10 ** 10 ** 10",
		"power tower":             "x = 9\nwhile True: x = x ** x",
		"huge shift":              "x = 1 << 10**9",
		"squaring":                "x = 3\nwhile True: x = x * x",
		"sum of huge ints":        "x = 1 << 14000\nwhile True: x += x",
		"huge literal":            "x = " + many("9", 60000),
		"huge int to text":        "x = int('9' * 4300)\nwhile True: y = str(x)",
		"huge int from text":      "x = int('9' * 100000)",
		"float overflow":          "x = 1e308 * 10\nprint(int(x))",
		"list of a large range":   "list(range(10**9))",
		"sum of a large range":    "sum(range(10**9))",
		"search in a large range": "print(-1 in range(10**9))",
		"sorted":                  "x = list(range(20000))\nwhile True: x = sorted(x, reverse=True)",
		"sort of equal lists":     "x = [[0] * 1000] * 1000\nsorted(x)",
		"self-containing list":    "x = []\nx.append(x)\nprint(x)\nprint(x == [x])\necho(x)",
		"self-containing dict":    "import json\nd = {}\nd['d'] = d\nprint(d)\njson.dumps(d)",
		"doubling list of lists":  "x = []\nfor i in range(100): x = [x, x]\nprint(x)",
		"doubling, as argument":   "x = []\nfor i in range(100): x = [x, x]\necho(x)",
		"doubling, compared":      "x, y = [], []\nfor i in range(100):\n    x = [x, x]\n    y = [y, y]\nprint(x == y)",
		"doubling, hashed":        "x = ()\nfor i in range(100): x = (x, x)\nd = {x: 1}",
		"doubling, hashed later":  "x = ()\nfor i in range(100): x = (x, x)\nd = {}\nd[x] = 1",
		"doubling, comprehension": "x = ()\nfor i in range(100): x = (x, x)\nd = {x: 1 for i in [1]}",
		"doubling, get":           "x = ()\nfor i in range(100): x = (x, x)\n{}.get(x)",
		"deep list":               "x = []\nfor i in range(10000): x = [x]\nprint(x)",
		"deep list, compared":     "x, y = [], []\nfor i in range(10000):\n    x = [x]\n    y = [y]\nprint(x == y)",
		"deep tuple, hashed":      "x = ()\nfor i in range(10000): x = (x,)\nd = {x: 1}",
		"deep json":               "import json\njson.loads('[' * 100000)",
		"large json":              "import json\njson.loads('[' + '0,' * 100000 + '0]')",
		"indented json":           "import json\nx = 0\nfor i in range(150): x = [x]\nwhile True: json.dumps(x, indent=16)",
		"recursion":               "def f(): return f()\nf()",
		"mutual recursion":        "def f(): return g()\ndef g(): return f()\nf()",
		"recursion by sort":       "def f(x): return sorted([1], key=f)\nf(1)",
		"lambda recursion":        "f = lambda x: x(x)\nf(f)",
	}
}

// largeSources are large or deeply nested.
func largeSources() map[string]string {
	many := strings.Repeat
	return map[string]string{
		"large calls":             "def f():\n    return 1\n    x = [" + many("1,", 30000) + "]\nwhile True: f()",
		"many variables":          "def f():\n" + many("    ", 1) + "pass\n" + manyVariables(8000) + "while True: f()",
		"many arguments":          "f(" + many("1,", 10000) + ")",
		"many unpacked arguments": "echo(*range(10**9))",
		"many named arguments":    "echo(**{str(i): i for i in range(100000)})",
		"deep brackets":           many("(", 30000) + many(")", 30000),
		"open brackets":           many("[", 60000),
		"deep signs":              "x = " + many("-", 60000) + "1",
		"deep not":                "x = " + many("not ", 15000) + "1",
		"deep powers":             "x = " + many("2**", 20000) + "2",
		"deep sum":                "x = " + many("1+", 30000) + "1",
		"deep calls":              "x = print" + many("()", 30000),
		"deep subscripts":         "x = print" + many("[0]", 20000),
		"deep attributes":         "x = print" + many(".a", 30000),
		"deep conditions":         "x = " + many("1 if 1 else ", 5000) + "1",
		"deep lambdas":            "x = " + many("lambda:", 9000) + "1",
		"deep elif":               "if 0: pass\n" + many("elif 0: pass\n", 4000),
		"deep blocks":             deepBlocks(300),
		"deep comprehensions":     many("[", 190) + "1" + many(" for x in [1]]", 190),
		"wide comprehension":      "[0" + many(" for x in range(100)", 1000) + "]",
		"many statements":         many("x=1\n", 16000),
		"many lines of nothing":   many("\n", 65000),
		"chained assignment":      many("x=", 30000) + "1",
		"nested f-strings":        many("f'{f\"{", 10000),
		"many fields":             "f'" + many("{1}", 20000) + "'",
		"1 MB of source":          many("x = 1\n", 1<<20/6),
		"1 MB in a line":          many("a", 1<<20),
	}
}

// escapingSources try to reach the host, or contain unusual characters.
func escapingSources() map[string]string {
	many := strings.Repeat
	return map[string]string{
		"NUL":                       "print('a\x00b')",
		"escaped NUL":               "print('a\\x00b')",
		"not UTF-8":                 "print('\xff\xfe')\xff",
		"lone surrogates":           "print('\\ud800'[0], len('\\ud800'), echo('\\udfff'))",
		"odd characters":            "x = '\u202e\U0001F600\ufeff'\nprint(x[::-1], x.upper(), x.split('\ufeff'))",
		"odd names":                 "𝒳 = 1\nprint(𝒳)",
		"load":                      "load('//x', 'y')",
		"load as a name":            "load = 1",
		"load of a file":            "load('/etc/passwd', x='y')",
		"open":                      "open('/etc/passwd').read()",
		"import os":                 "import os\nos.system('true')",
		"import by name":            "__import__('os').system('true')",
		"from":                      "from os import system\nsystem('true')",
		"eval":                      "eval('1')",
		"exec":                      "exec('x = 1')",
		"globals":                   "globals()['x']",
		"classes by attribute":      "().__class__.__bases__[0].__subclasses__()",
		"function by attribute":     "print(echo.__globals__, echo.__code__)",
		"attribute of a method":     "''.join.__self__",
		"format attribute":          "'{0.__class__}'.format(echo)",
		"getattr":                   "getattr(echo, '__globals__')",
		"hidden builtin":            "#item(1, 2)\nx = #+",
		"dir, hasattr and fail":     "print(dir([]), hasattr(1, 'x'), fail('x'))",
		"set":                       "print(set([1]))",
		"bytes":                     "print(bytes('x'))",
		"elems":                     "print('abc'.elems())",
		"assignment to None":        "None = 1\nFalse, x = 1, 2",
		"parameter None":            "def f(None): pass",
		"shadowed builtins":         "print, len = len, print\nlen(print('abc'))",
		"change during iteration":   "x = [1]\nfor y in x: x.append(y)",
		"change during iteration 2": "d = {1: 1}\nfor k in d: d[k + 1] = 1",
		"change while sorting":      "x = [2, 1]\nx.sort(key=lambda v: x.append(v) or v)",
		"tool as a value":           "x = [echo]\nprint(x, echo == echo, {echo: 1})\necho(echo)",
		"NaN keys":                  "n = float('nan')\nd = {}\nwhile True: d[n] = 1",
		"docstring only":            "'''" + many("x", 60000) + "'''",
		"only a backslash":          "\\",
		"only dots":                 many(".", 1000),
		"only semicolons":           many(";", 1000),
		"placeholders":              "\"0\"\n\"1\"(1)\n\"2\"[\"0\", 1]",
	}
}

func manyVariables(n int) string {
	var out strings.Builder
	out.WriteString("def f():\n    ")
	for i := range n {
		out.WriteString("v" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)) + "=1;")
	}
	out.WriteString("\n")
	return out.String()
}

func deepBlocks(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(strings.Repeat(" ", i) + "if 1:\n")
	}
	out.WriteString(strings.Repeat(" ", n) + "pass\n")
	return out.String()
}

// TestHostilePrograms checks that each source stays within 64 MB and ten seconds, and gives the
// same answer twice. The memory is the sum of all allocations.
func TestHostilePrograms(t *testing.T) {
	const maxBytes, maxTime = 64 << 20, 10 * time.Second
	for name, source := range hostileSources() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			got := runText(source)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if took > maxTime {
				t.Errorf("%.60q took %v, want at most %v", source, took, maxTime)
			}
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > maxBytes {
				t.Errorf("%.60q allocated %d bytes, want at most %d", source, bytes, maxBytes)
			}
			if again := runText(source); again != got {
				t.Errorf("%.60q: got %.200q, then %.200q", source, got, again)
			}
			t.Logf("%v %.1f MB: %.150q", took.Round(time.Microsecond), float64(after.TotalAlloc-before.TotalAlloc)/1e6, tail(got))
		})
	}
}

func tail(s string) string { return s[max(0, len(s)-150):] }

// TestCancelled checks that an endless program ends with the context's cause.
func TestCancelled(t *testing.T) {
	t.Parallel()
	cause := errors.New("cancelled by the test")
	for _, source := range []string{"while True: pass", "def f():\n    while True:\n        try:\n            f()\n        except BaseException:\n            pass\nf()"} {
		program, err := syntax.Parse(source)
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if outcome := Run(ctx, program, &testHost{}); !errors.Is(outcome.Err, cause) || outcome.Steps > limit.Steps/10 {
			t.Errorf("%q: got %v after %d steps, want %v soon", source, outcome.Err, outcome.Steps, cause)
		}
	}
}
