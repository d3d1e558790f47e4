package interp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// clockHost is a host with a clock.
type clockHost struct{ testHost }

func (*clockHost) Now() float64 { return 1717243200.25 }

func (*clockHost) Zone() *time.Location {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	return zone
}

// fileOf prepares a file and returns its last function.
func fileOf(tb testing.TB, source string) (*Program, *syntax.Def) {
	tb.Helper()
	file, err := syntax.ParseFile(source)
	if err != nil {
		tb.Fatalf("%s: %v", source, err)
	}
	def, ok := file.Body[len(file.Body)-1].(*syntax.Def)
	if !ok {
		tb.Fatalf("%s: the last statement is no function", source)
	}
	return NewLibrary(Names{}).Prepare(file), def
}

// callFile calls the last function of a file and returns what it prints, and its exception.
func callFile(tb testing.TB, source string) (output, exception string) {
	tb.Helper()
	program, def := fileOf(tb, source)
	_, outcome := program.Call(tb.Context(), def, nil, &clockHost{})
	if outcome.Err != nil {
		return outcome.Output, outcome.Err.Error()
	}
	return outcome.Output, ""
}

// moduleHead imports what the expressions of testdata/modules.txt use.
const moduleHead = `import datetime as dt
import enum, json, math, re
from datetime import date, datetime, timedelta, timezone
from enum import Enum, IntEnum, StrEnum, auto
class C(Enum):
    R = 'r'
    G = 1
class S(str, Enum):
    R = 'r'
    LONG = 'long text'
class I(int, Enum):
    A = 1
class N(IntEnum):
    A = 1
    B = 5
    ALSO = 5
class T(StrEnum):
    A = 'a'
    B = auto()
class A(Enum):
    X = auto()
    Y = auto()
    Z = 7
    W = auto()
`

// moduleProgram returns a file that prints the value of an expression, or its exception's type.
func moduleProgram(x string) string {
	return moduleHead + "def run():\n    try:\n        print(repr(" + x + "))\n    except Exception as e:\n        print(type(e).__name__)\n"
}

// moduleExpressions returns the expressions of testdata/modules.txt.
func moduleExpressions(tb testing.TB) (expressions []string) {
	tb.Helper()
	data, err := os.ReadFile("testdata/modules.txt")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			expressions = append(expressions, line)
		}
	}
	return expressions
}

// randomPattern returns a regular expression of random parts.
func randomPattern(random *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "c", ".", `\w`, `\d`, `\b`, "^", "$", "[ab]", "[^a]", `[\w-]`, "é", " ", `\s`, "(?=a)", "(?!b)", "(?<=a)", "(?<!c)", `\1`}
	repeats := []string{"", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}?", "*+", "?+"}
	groups := []string{"(%s)", "(%s)", "(?:%s)", "(?>%s)", "(?i:%s)", "(%s|b)"}
	var out strings.Builder
	for range 1 + random.IntN(3) {
		part := atoms[random.IntN(len(atoms))]
		if depth > 0 && random.IntN(3) == 0 {
			part = strings.Replace(groups[random.IntN(len(groups))], "%s", randomPattern(random, depth-1), 1)
		}
		out.WriteString(part + repeats[random.IntN(len(repeats))])
		if random.IntN(6) == 0 {
			out.WriteString("|")
		}
	}
	return out.String()
}

// randomExpressions returns expressions with random regular expressions, numbers, times and
// durations.
func randomExpressions(n int) (expressions []string) {
	random := rand.New(rand.NewPCG(*seed, 0))
	for range n {
		pattern, text := strconv.Quote(randomPattern(random, 2)), ""
		for range random.IntN(12) {
			text += []string{"a", "b", "c", "1", " ", "é", "A"}[random.IntN(7)]
		}
		text = strconv.Quote(text)
		expressions = append(expressions,
			"[re.findall("+pattern+", "+text+"), re.sub("+pattern+", '<\\\\g<0>>', "+text+"), re.split("+pattern+", "+text+")]",
			"[(m.span(), m.groups(), m.lastindex) for p in (re.search, re.match, re.fullmatch) for m in [p("+pattern+", "+text+")] if m]")
		expressions = append(expressions, fmt.Sprintf("[f(%v) for f in (math.sin, math.cos, math.tan, math.atan, math.exp, math.sinh, math.cosh, math.tanh, math.expm1)] + "+
			"[f(%v) for f in (math.log, math.log2, math.log10, math.log1p, math.sqrt)] + [f(%v) for f in (math.asin, math.acos, math.atanh)] + [math.atan2(%[1]v, %[3]v), math.hypot(%[1]v, %[2]v)]",
			random.NormFloat64()*50, random.ExpFloat64()*100, 2*random.Float64()-1))
		seconds, step := random.Int64N(4e9)-1e9, random.NormFloat64()*1e7
		expressions = append(expressions,
			fmt.Sprintf("[datetime.fromtimestamp(%d.%06d), datetime.fromtimestamp(%[1]d).timestamp(), datetime.utcfromtimestamp(%[1]d).strftime('%%c %%j %%U %%W %%V %%G')]", seconds, random.IntN(1e6)),
			fmt.Sprintf("[timedelta(seconds=%v), timedelta(days=%[1]v) / 7, timedelta(%[1]v) * 0.3, str(timedelta(milliseconds=%[1]v)), timedelta(hours=%[1]v).total_seconds()]", step),
			fmt.Sprintf("[datetime(%d, %d, %d, %d, %d) + timedelta(seconds=%v)]", 1+random.IntN(9998), 1+random.IntN(12), 1+random.IntN(28), random.IntN(24), random.IntN(60), step))
	}
	return expressions
}

// TestModulesDiffer compares the expressions of testdata/modules.txt, and random ones, with Python
// 3.11. CI needs it.
func TestModulesDiffer(t *testing.T) {
	t.Parallel()
	const reference = "python3.11"
	if err := exec.CommandContext(t.Context(), reference, "--version").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s: %v, CI needs it", reference, err)
		}
		t.Skipf("%s: %v", reference, err)
	}
	fixed := moduleExpressions(t)
	expressions := append(slices.Clip(fixed), randomExpressions(*programs/5)...)
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	for _, x := range expressions {
		if err := encoder.Encode(moduleProgram(x) + "run()\n"); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), reference, "-W", "ignore", "testdata/run.py")
	command.Stdin = &input
	command.Env = append(os.Environ(), "TZ=America/New_York")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", reference, err)
	}
	results := json.NewDecoder(bytes.NewReader(output))
	differ := 0
	for i, x := range expressions {
		var want struct{ Output, Exception string }
		if err := results.Decode(&want); err != nil {
			t.Fatal(err)
		}
		printed, exception := callFile(t, moduleProgram(x))
		switch got := printed + exception; {
		case got == want.Output+want.Exception || exceeds(got):
		case i < len(fixed):
			t.Errorf("%s: got %q, want %q", x, got, want.Output+want.Exception)
		default: // groups of repetitions that match nothing
			differ++
			t.Logf("%s: got %q, want %q", x, got, want.Output+want.Exception)
		}
	}
	if n := len(expressions) - len(fixed); float64(differ) > max(2, maxDifferShare*float64(n)) {
		t.Errorf("got %d random expressions that differ, want at most %v of %d", differ, maxDifferShare, n)
	}
}
