package interp

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// attack is the body of a function that tries to exceed a limit with a module or an enumeration,
// with the start of what ends it, empty for anything.
type attack struct{ body, want string }

const (
	steps  = "TimeoutError: more than 200000 steps"
	memory = "MemoryError: more than 8388608 bytes"
)

func hostileFiles() []attack {
	return slices.Concat(regexAttacks(), numberAttacks(), timeAttacks(), otherAttacks())
}

func regexAttacks() []attack {
	return []attack{
		{"re.match(r'(a+)+$', 'a' * 5000 + 'b')", steps},
		{"re.match(r'(a|a)*$', 'a' * 5000 + 'b')", steps},
		{"re.match(r'(a|aa)+$', 'a' * 5000 + 'b')", steps},
		{"re.search(r'(.*)*x', 'a' * 5000)", steps},
		{"re.match(r'(?:a?){30}a{30}', 'a' * 30)", steps},
		{"re.search(r'(?=(a+)+$)b', 'a' * 5000 + 'b')", steps},
		{"re.search(r'(x+x+)+y', 'x' * 5000)", steps},
		{"re.search(r'(?:(?:(?:a*)*)*)*b', 'a' * 5000)", steps},
		{"re.search(r'(a*)*\\1b', 'a' * 5000)", steps},
		{"re.search(r'(?>(a|b)*)c', 'ab' * 500000)", ""},
		{"re.search(r'((a)|b)*', 'ab' * 500000)", memory},
		{"re.findall(r'a*b', 'a' * 100000)", steps},
		{"re.findall('', 'a' * 1000000)", ""},
		{"re.sub('', 'x' * 1000, 'a' * 100000)", memory},
		{"re.sub('a', r'\\g<0>' * 1000, 'a' * 10000)", ""},
		{"x = 'a'\n    while True: x = re.sub('a', 'aa', x)", ""},
		{"re.sub('a', lambda m: 'x' * 1000, 'a' * 100000)", ""},
		{"re.split('', 'a' * 1000000)", ""},
		{"re.compile('(' * 5000 + ')' * 5000)", "RecursionError"},
		{"re.compile('a|' * 16000)", ""},
		{"re.compile('(?:' + 'a{1000}' * 1000 + '){1000}').match('a' * 100000)", ""},
		{"re.compile('a{99999999999}')", "OverflowError"},
		{"re.compile('((((((((((a{1000}){1000}){1000}){1000}){1000}){1000}){1000}){1000}){1000}){1000})').match('a' * 100000)", ""},
		{"re.compile('(?:){1000000}').match('')", ""},
		{"re.compile('(?:a?){1000000}').match('')", ""},
		{"while True: re.compile('a' * 1000)", memory},
		{"i = 0\n    while True:\n        re.compile('a' * 100 + str(i))\n        i += 1", ""},
		{"re.search('a', 'b' * 8000000)", ""},
		{"for i in range(1000): re.search('x', 'b' * 10000)", ""},
		{"re.escape('.' * 5000000)", memory},
		{"p = re.compile('a')\n    while True: p.match('a')", steps},
		{"m = re.match('a*', 'a' * 100000)\n    while True: m.span()", steps},
		{"list(re.finditer('a', 'a' * 1000000))", ""},
		{"re.search('(?i)' + 'k' * 1000, '\\u212a' * 100000)", ""},
		{"p = re.compile('[' + '\\u0100-\\u0200' * 1000 + 'z]*')\n    while True: p.match('z' * 10000)", steps},
	}
}

func numberAttacks() []attack {
	return []attack{
		{"math.factorial(10 ** 9)", "MemoryError: the number is too large"},
		{"math.factorial(10 ** 30)", "MemoryError: the number is too large"},
		{"math.factorial(5000)", "MemoryError: the number is too large"},
		{"while True: math.factorial(1000)", ""},
		{"math.comb(10 ** 6, 5 * 10 ** 5)", "MemoryError: the number is too large"},
		{"math.comb(10 ** 30, 10 ** 29)", "MemoryError: the number is too large"},
		{"math.perm(10 ** 5)", "MemoryError: the number is too large"},
		{"math.prod([10 ** 1000] * 1000)", "MemoryError: the number is too large"},
		{"math.lcm(*range(1, 20000))", ""},
		{"x = 10 ** 4000\n    while True: math.isqrt(x)", ""},
		{"x = 10 ** 4000\n    while True: math.gcd(x, x - 1)", ""},
		{"math.fsum([0.1] * 100000)", ""},
		{"math.hypot(*[1.0] * 100000)", ""},
		{"math.ldexp(1.0, 10 ** 30)", "OverflowError"},
		{"while True: math.pow(1.1, 0.123456789)", steps},
		{"while True: math.sin(1e300)", steps},
	}
}

func timeAttacks() []attack {
	return []attack{
		{"timedelta(days=10 ** 4000)", "OverflowError"},
		{"timedelta(days=1) * 10 ** 4000", "OverflowError"},
		{"timedelta(1) * 1e308", "OverflowError"},
		{"timedelta(1) / 5e-324", "OverflowError"},
		{"timedelta(1) / 10 ** 4000", ""},
		{"datetime.max + timedelta.max", "OverflowError"},
		{"datetime.fromtimestamp(10 ** 4000)", "OverflowError"},
		{"datetime.fromtimestamp(253402400000)", "ValueError"},
		{"datetime.fromtimestamp(-62135596801)", "ValueError"},
		{"datetime.fromtimestamp(9e18)", "ValueError"},
		{"datetime.fromtimestamp(1e308)", "OverflowError"},
		{"datetime(9999, 12, 31, 23).timestamp()", ""},
		{"datetime(1, 1, 1).timestamp()", ""},
		{"datetime(1, 1, 1).astimezone(timezone.utc)", ""},
		{"datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=23))).astimezone(timezone.utc)", "ValueError"},
		{"datetime(10 ** 30, 1, 1)", "OverflowError"},
		{"datetime(2024, 1, 1).strftime('%c' * 100000)", ""},
		{"x = datetime(2024, 1, 1)\n    while True: x.strftime('%A' * 1000)", ""},
		{"datetime.strptime('1' * 100000, '%Y' * 1000)", "re.error: redefinition"},
		{"datetime.strptime('1' * 100000, ' ' * 100000)", "ValueError"},
		{"date.fromordinal(10 ** 30)", "OverflowError"},
		{"sorted([timedelta(i) for i in range(10000)], reverse=True)", ""},
		{"{timedelta(i): i for i in range(10000)}", ""},
	}
}

func otherAttacks() []attack {
	return []attack{
		{"json.loads('[' * 100000)", "RecursionError"},
		{"json.loads('[1,' * 100000 + ']')", ""},
		{"json.loads('1' * 100000)", ""},
		{"json.loads('\"' + 'a' * 7000000 + '\"')", memory},
		{"x = []\n    for i in range(300): x = [x]\n    json.dumps(x)", "RecursionError"},
		{"x = ''\n    while True: x = f'{x}{S.LONG}{x}'", ""},
		{"while True: list(C)", ""},
		{"while True: C('r')", steps},
		{"x = S.LONG\n    while True: x = x + S.LONG", ""},
		{"S.LONG * 10 ** 9", memory},
	}
}

// TestHostileFiles checks that each body ends within 64 MB and ten seconds, with the same answer
// twice. The memory is the sum of all allocations.
func TestHostileFiles(t *testing.T) {
	const maxBytes, maxTime = 64 << 20, 10 * time.Second
	for _, test := range hostileFiles() {
		source := moduleHead + "def run():\n    " + test.body + "\n"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, got := callFile(t, source)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		bytes := after.TotalAlloc - before.TotalAlloc
		if took > maxTime || bytes > maxBytes {
			t.Errorf("%.80s: took %v and %d bytes, want at most %v and %d", test.body, took, bytes, maxTime, maxBytes)
		}
		if strings.Contains(got, "SystemError") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%.80s: got %q, want %q", test.body, got, test.want)
		}
		if _, again := callFile(t, source); again != got {
			t.Errorf("%.80s: got %q, then %q", test.body, got, again)
		}
		t.Logf("%v %.1f MB %.80s: %.80q", took.Round(time.Microsecond), float64(bytes)/1e6, test.body, got)
	}
}

// TestClock checks that the time comes from the host, and that there is none without a clock.
func TestClock(t *testing.T) {
	for _, test := range []struct{ x, want string }{
		{"datetime.now()", "datetime.datetime(2024, 6, 1, 8, 0, 0, 250000)"},
		{"datetime.now(timezone.utc)", "datetime.datetime(2024, 6, 1, 12, 0, 0, 250000, tzinfo=datetime.timezone.utc)"},
		{"datetime.today()", "datetime.datetime(2024, 6, 1, 8, 0, 0, 250000)"},
		{"datetime.utcnow()", "datetime.datetime(2024, 6, 1, 12, 0, 0, 250000)"},
		{"date.today()", "datetime.date(2024, 6, 1)"},
		{"datetime.now().timestamp()", "1717243200.25"},
		{"datetime.now().astimezone()", "datetime.datetime(2024, 6, 1, 8, 0, 0, 250000, tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=72000), 'EDT'))"},
	} {
		if got, exception := callFile(t, moduleHead+"def run():\n    print(repr("+test.x+"))\n"); got != test.want+"\n" {
			t.Errorf("%s: got %s%s, want %s", test.x, got, exception, test.want)
		}
	}
	for _, x := range []string{"datetime.now()", "date.today()", "datetime.fromtimestamp(0)", "datetime(2024, 1, 1).timestamp()"} {
		program, def := fileOf(t, moduleHead+"def run():\n    "+x+"\n")
		_, outcome := program.Call(context.Background(), def, nil, &testHost{})
		if outcome.Err == nil || !strings.HasPrefix(outcome.Err.Error(), "RuntimeError: ") || !strings.Contains(outcome.Err.Error(), "has no clock here; take the time from the arguments") {
			t.Errorf("%s without a clock: got %v", x, outcome.Err)
		}
	}
}
