package expression

import "testing"

// parse is a source and the result of Python 3.11, empty for an exception.
type parse struct{ source, want string }

func check(t *testing.T, tests []parse) {
	t.Helper()
	for _, test := range tests {
		if got := parsed(test.source, map[string]string{"FN_CALL_DELIMITER": "<<function>>"}); got != test.want {
			t.Errorf("Parse(%q): got %s, want %s", test.source, got, test.want)
		}
	}
}

func TestParseLiteral(t *testing.T) {
	check(t, []parse{
		// What is no Python, or none that has a value here.
		{"f(a=g(5km))", ""}, {"f(a=5km)", ""}, {"f(a=1__0)", ""}, {"f(a=0x)", ""}, {"f(a=0b12)", ""}, {"f(a=09)", ""}, {"f(a=1e)", ""}, {"f(a=1.5.5)", ""},
		{"f(a=g(010))", ""}, {`f(a='\x1')`, ""}, {`f(a=g('\x1'))`, ""}, {`f(a=g('\u12'))`, ""}, {`f(a='\U00110000')`, ""}, {`f(a='\N{NO SUCH NAME}')`, ""},
		{`f(a='\N')`, ""}, {`f(a=b'\x1')`, ""}, {"f(a=b'é')", ""}, {"f(a='a' b'b')", ""}, {"f(a=b'a' f'{1}')", ""}, {"f(a=ub'a')", ""}, {"f(a=f'a{b!}}')", ""},
		{"f(a=f'{x(}')", ""}, {"f(a=f'{')", ""}, {"f(a=f'}')", ""}, {"f(a=f'{}')", ""}, {"f(a=f'{ }')", ""}, {"f(a=f'{!r}')", ""}, {"f(a=f'{1!z}')", ""},
		{"f(a=f'{1!r }')", ""}, {"f(a=f'{*a}')", ""}, {"f(a=f'{a b}')", ""}, {"f(a=f'{lambda x: 1}')", ""}, {"f(a=f'{1:{2:{3}}}')", ""}, {"f(a=f'{1#}')", ""},
		{`f(a=f'{a[\'b\']}')`, ""}, {`f(a=f'{"a}')`, ""}, {"f(a=f'{(]}')", ""}, {"f(a=g(f'a{b!}}'))", ""}, {"1.f()", ""}, {"2f()", ""}, {"f(a=$)", ""},
		{"f(a=g(a=1, b))", ""}, {"f(a=g(**a, *b))", ""}, {"f(a=g(x for x in y, 1))", ""}, {"f(a={1: 2, 3})", ""}, {"f(a={1, 2: 3})", ""}, {"f(a=(*b))", ""},
		{"f(a=[*b for b in c])", ""}, {"f(a={**b for b in c})", ""}, {"f(a=lambda *: 1)", ""}, {"f(a=lambda a=1, b: 1)", ""}, {"f(a=lambda **a, b: 1)", ""},
		{"f(a=lambda /, a: 1)", ""}, {"f(a=x[])", ""}, {"f(a=1 == not 2)", ""}, {"f(a=- not 1)", ""}, {"f(a=1 if 2)", ""}, {"f(a=b.None)", ""},
		{"f(a=b:=1)", ""}, {"f(a=[b=1])", ""}, {"f(a=·)", ""}, {"f(a=a b)", ""},
		// Numbers.
		{"f(a=1_000, b=0x_ff, c=0b1_1, d=0o17, e=00, g=1_0.5_0, h=.5, i=5., j=09.5, k=1E5, l=0X1F)", "f({'a': 1000, 'b': 255, 'c': 3, 'd': 15, 'e': 0, 'g': 10.5, 'h': 0.5, 'i': 5.0, 'j': 9.5, 'k': 100000.0, 'l': 31})"},
		{"f(a=1if 1else 2, b=0xfor 1)", "f({'a': 1, 'b': 15})"},

		{"f(a=0j**-1)", ""}, {"f(a=1j/0)", ""}, {"f(a=1j//1)", ""},
		{"f(a=1j<2)", ""},
		// Texts, bytes and formatted texts.

		{"f(a='\\d\\101\\0\\x41\\a', b=r'\\x1', c='\\ud83d', d='a\\\nb')", `f({'a': '\\dA\x00A\x07', 'b': '\\x1', 'c': '\ud83d', 'd': 'ab'})`},
		{`f(a=u'a' 'b', b=U'c', c=R'\')`, ""},

		{"f(a=f'{1+1}{None}{[1, (2,), {}]}{1.0}{FN_CALL_DELIMITER}', b=f'{1 + 1 = }', c=f'{2:}')", "f({'a': '2None[1, (2,), {}]1.0<<function>>', 'b': '1 + 1 = 2', 'c': '2'})"},
		{"f(a=f'{x}')", ""},
		{`f(a=f'{1 != 2}{1 <= 2}{"a:b"}{(lambda: 1) is None}{ {1: 2}[1] }')`, "f({'a': 'TrueTruea:bFalse2'})"}, {"f(a='a'b'b')", ""},

		{"f(a=f'{\"\"\"a\nb\"\"\"}')", ""},
	})
}

func TestParseOperator(t *testing.T) {
	check(t, []parse{
		// What is true.
		{"f(a=not 1, b=not '', c=not not [], d=not None)", "f({'a': False, 'b': True, 'c': False, 'd': True})"},
		{"f(a=1 and 2, b=0 and 2, c='' or 'x', d=None or [] or (), e=1 and 0 or 3)", "f({'a': 2, 'b': 0, 'c': 'x', 'd': [], 'e': 3})"},
		{"f(a='a' or x, b=0 and x)", "f({'a': 'a', 'b': 0})"},
		{"f(a=1 == 1.0, b=True == 1, c='1' == 1, d=[1] == (1,), e=(1, [2]) == (1, [2]), g={1: 2} == {True: 2.0}, h={1, 2} == {2, 1}, i=None == 0)", "f({'a': True, 'b': True, 'c': False, 'd': False, 'e': True, 'g': True, 'h': True, 'i': False})"},
		{"f(a=1 < 2 < 3, b=3 > 2 > 2, c=1 < 0 < x, d='a' < 'b', e=[1, 2] < [1, 3], g=(1,) < (1, 0), h=2**70 > 1e21, i=1 != 1.0, j=1 <= 1 >= 1)", "f({'a': True, 'b': False, 'c': False, 'd': True, 'e': True, 'g': True, 'h': True, 'i': False, 'j': True})"},
		{"f(a=1e400-1e400 == 1e400-1e400, b=1 < 1e400, c=1e400-1e400 < 1, d=2**53+1 == 2.0**53)", "f({'a': False, 'b': True, 'c': False, 'd': False})"},
		{"f(a='a' in 'bac', b='' in '', c=1 in [1.0], d=1 not in (2,), e='a' in {'a': 1}, g=(1,) in {(1,)}, h=2 in {1, 2})", "f({'a': True, 'b': True, 'c': True, 'd': True, 'e': True, 'g': True, 'h': True})"},
		{"f(a=None is None, b=1 is None, c=True is not None, d=1 is True, e=... is Ellipsis, g=[] is [], h=print is print, i=1 is 2)", "f({'a': True, 'b': False, 'c': True, 'd': False, 'e': True, 'g': False, 'h': True, 'i': False})"},
		{"f(a='x' if 1 else x, b=x if '' else 'y', c=1 if 0 else 2 if 0 else 3)", "f({'a': 'x', 'b': 'y', 'c': 3})"}, {"f(a=(b := 2))", "f({'a': 2})"},
		{"f(a=1 < 'a')", ""}, {"f(a=[1] < [None])", ""}, {"f(a=1 in 'a')", ""}, {"f(a=1 in 1)", ""}, {"f(a=[] in {})", ""}, {"f(a={} < {})", ""},
		{"f(a=not x)", ""},
		// Subscripts and slices.
		{"f(a='abc'[0], b='aéb'[-2], c=[1, 2][True], d=(1, 2)[-1], e={'a': 1, 1: 2}['a'], g={1: 2}[1.0], h={(1, 2): 3}[1, 2], i=[[1]][0][0])", "f({'a': 'a', 'b': 'é', 'c': 2, 'd': 2, 'e': 1, 'g': 2, 'h': 3, 'i': 1})"},
		{"f(a='abcd'[1:3], b='abcd'[::-1], c=[1, 2, 3][-2:], d=(1, 2, 3)[::2], e='aé漢'[1:], g='abc'[5:], h='abc'[:None], i=[1, 2, 3][10**30::-2], j='abc'[-10**30:2], k='abc'[2:0:-1], l='abcdef'[True:4:2])", "f({'a': 'bc', 'b': 'dcba', 'c': [2, 3], 'd': [1, 3], 'e': 'é漢', 'g': '', 'h': 'abc', 'i': [3, 1], 'j': 'ab', 'k': 'cb', 'l': 'bd'})"},
		{"f(a='abc'[3])", ""}, {"f(a=[][0])", ""}, {"f(a={}[1])", ""}, {"f(a={}[[]])", ""}, {"f(a='abc'['a'])", ""}, {"f(a='abc'[1.0])", ""},
		{"f(a=[1][::0])", ""}, {"f(a=1[0])", ""}, {"f(a={1}[0])", ""}, {"f(a=[1][10**30])", ""}, {"f(a='abc'[:x])", ""}, {"f(a=None[0])", ""},
		{"f(a=[1, 2][0, 1])", ""},
		// Operators, and what is unpacked.
		{"f(a=6 & 3, b=6 | 1, c=6 ^ 3, d=~5, e=1 << 70, g=-5 >> 1, h=5 >> 10**30, i=True & False, j=True | 2, k=~True, l=0 << 10**30, m=-1 << 3)", "f({'a': 2, 'b': 7, 'c': 5, 'd': -6, 'e': 1180591620717411303424, 'g': -3, 'h': 0, 'i': False, 'j': 3, 'k': -2, 'l': 0, 'm': -8})"},
		{"f(a=1 << -1)", ""}, {"f(a=1.0 | 1)", ""}, {"f(a=1.0 << 1)", ""}, {"f(a=~1.5)", ""}, {"f(a=1 @ 2)", ""},
		{"f(a={1: 2} | {1: 3, 4: 5})", "f({'a': {'1': 3, '4': 5}})"}, {"f(a={1} | {2})", "no JSON"},
		{"f(a={1, 2} & {2, 3} == {2}, b={1, 2} - {2} == {1}, c={1} ^ {2} == {1, 2})", "f({'a': True, 'b': True, 'c': True})"},
		{"f(a={**{'a': 1}, 'b': 2, **{'a': 3}})", "f({'a': {'a': 3, 'b': 2}})"}, {"f(a=[*[1], *'ab', *(2,), *{3: 4}])", "f({'a': [1, 'a', 'b', 2, 3]})"},
		{"f(a=(*[1], 2))", "f({'a': [1, 2]})"}, {"f(a={*[1]})", "no JSON"}, {"f(a=[*1])", ""}, {"f(a={**[1]})", ""},
		{"f(a={True: 1, 1: 2}, b={1: 'a', '1': 'b', 1.0: 'c'})", "f({'a': {'true': 2}, 'b': {'1': 'b'}})"},
		{"f(a={print: 2})", "no JSON"}, {"f(a={[1]: 2})", ""},

		{"f(a='%s %s' % 'x')", ""}, {"f(a='a' % 'x')", ""}, {"f(a='%d' % 'x')", ""}, {"f(a='%' % 1)", ""}, {"f(a='%s')", "f({'a': '%s'})"},
		{"f(a=(1,) + (2,), b=(1,) * 2)", "f({'a': [1, 2], 'b': [1, 1]})"}, {"f(a=(1,) + [2])", ""}, {"f(a={} + {})", ""}, {"f(a='a' * 1.0)", ""},
		{"f(a=1 + None)", ""},
		{"f(a=0**0, b=(-1)**10**30, c=1**10**30, d=2.0**0.5, e=10**-5, g=1.1**10, h=7.5%-2)", "f({'a': 1, 'b': 1, 'c': 1, 'd': 1.4142135623730951, 'e': 1e-05, 'g': 2.5937424601000023, 'h': -0.5})"},
		{"f(a=10.0**400)", ""}, {"f(a=10**400*1.0)", ""},
	})
}

func TestParseSource(t *testing.T) {
	check(t, []parse{
		// What JSON cannot write.
		{"f(a=print)", "no JSON"}, {"f(a=len)", "no JSON"}, {"f(a=Ellipsis)", "no JSON"},
		{"f(a=Exception)", "no JSON"}, {"f(a=IOError)", "no JSON"}, {"f(a=json.dumps)", "no JSON"}, {"f(a='a'.upper)", "no JSON"},
		{"f(a=[[].append])", "no JSON"}, {"f(a={'b': str.join})", "no JSON"}, {"f(a=[range(3)])", "no JSON"}, {"f(a=[set()])", "no JSON"},
		{"f(a={'b': set([1])})", "no JSON"}, {"f(a=[frozenset('ab')])", "no JSON"}, {"f(a=lambda: 1)", "no JSON"},
		{"f(a=[lambda x, /, y=1, *z, k, **w: x])", "no JSON"}, {"f(a=lambda x=x: 1)", ""}, {"f(a=lambda x, x: 1)", ""}, {"f(a=1 or (yield))", ""}, {"f(a=1 if 1 else (await x))", ""}, {"f(a=1 or [x async for x in y])", ""}, {"f(a=1 or f(x=1, x=2))", ""}, {"f(a=__debug__)", "f({'a': True})"},
		{"f(a=print or x)", "no JSON"},
		{"f(a=not print, b=print == print, c=print == len, d=print == 1)", "f({'a': False, 'b': True, 'c': False, 'd': False})"}, {"f(a=print + 1)", ""},
		{"f(a=json.x)", ""}, {"f(a='a'.x)", ""}, {"f(a=[range()])", ""}, {"f(a=[range('a')])", ""}, {"f(a=[range(1, 2, 0)])", ""}, {"f(a=[set(1)])", ""},
		{"f(a=[set([[]])])", ""}, {"f(a=[x()])", ""}, {"f(a=[set(x)])", ""}, {"f(a=(yield))", ""}, {"f(a=(await 1))", ""}, {"f(*[1])", ""},
		{"f(a=print, b=x)", ""},
		// Calls within calls, as Python writes them.
		{"f(a=g(2**-1, -2**2, (-2)**2, 2**3**2, (2**3)**2))", "f({'a': 'g(2 ** (-1), -2 ** 2, (-2) ** 2, 2 ** 3 ** 2, (2 ** 3) ** 2)'})"},

		{`f(a=g(f'a', f'{x}' 'y', f'', rf'\n{x}'))`, `f({'a': "g(f'a', f'{x}y', f'', f'\\\\n{x}')"})`},

		{`f(a=g(f'''{'a'}"{"b"}'''))`, `f({'a': 'g(f\'\'\'{\'a\'}"{\'b\'}\'\'\')'})`}, {`f(a=g(f'''{"it's"}"'''))`, `f({'a': 'g(f\'\'\'{"it\'s"}"\'\'\')'})`},
		{"f(a=g(f'''{\"\"\"a\nb\"\"\"}'''))", `f({'a': 'g(f\'\'\'{"""a\nb"""}\'\'\')'})`},

		{"f(a=g(*a, b=1, *c, **d))", "f({'a': 'g(*a, *c, b=1, **d)'})"},

		{"f(a=g(a == b, a < b < c, not x, a not in b, a is not b, not a == b, (not a) == b))", "f({'a': 'g(a == b, a < b < c, not x, a not in b, a is not b, not a == b, (not a) == b)'})"},
		{"f(a=g({**a}, {**a | b, 1: 2}, {*a, 1}, [*a], (*a,)))", "f({'a': 'g({**a}, {**a | b, 1: 2}, {*a, 1}, [*a], (*a,))'})"},
		{"f(a=g(b if c else d, (b if c else d) if e else f, b if c else d if e else f, (b or c) if d else e))", "f({'a': 'g(b if c else d, (b if c else d) if e else f, b if c else d if e else f, b or c if d else e)'})"},
		{"f(a=g(x=lambda: 1, y=lambda x, /, y=1, *, z, w=2, **k: (x, y), z=lambda *a: lambda: 1))", "f({'a': 'g(x=lambda: 1, y=lambda x, /, y=1, *, z, w=2, **k: (x, y), z=lambda *a: lambda: 1)'})"},
		{"f(a=g(a or b and c, (a or b) and c, a and (b and c), a or b or not c, not (a and b)))", "f({'a': 'g(a or (b and c), (a or b) and c, a and (b and c), a or b or (not c), not (a and b))'})"},
		{"f(a=g(a | b & c ^ d, (a | b) & c, a << 1 >> 2, ~a, -(-1), a @ b, a-(b-c), a/b/c, -a**b, (-a)**b, a**-b))", "f({'a': 'g(a | b & c ^ d, (a | b) & c, a << 1 >> 2, ~a, --1, a @ b, a - (b - c), a / b / c, -a ** b, (-a) ** b, a ** (-b))'})"},

		{"f(a=g(x for x in y))", "f({'a': 'g((x for x in y))'})"}, {"f(a=g((x for x in y), 1))", "f({'a': 'g((x for x in y), 1)'})"},
		{"f(a=g((b := 1), c := 2, d=(e := 3)))", "f({'a': 'g((b := 1), (c := 2), d=(e := 3))'})"},

		{"f(a=g((b, c), (b,), (), {1}, {1: 2, }, [1, ], ..., None))", "f({'a': 'g((b, c), (b,), (), {1}, {1: 2}, [1], ..., None)'})"},
		{"f(a=g(x)(y).z[0](w))", "f({'a': 'g(x)(y).z[0](w)'})"},
		{"f(a=(g)(1), b=(lambda: 1)(), c='a'.join([b]), d=(a + b).c())", `f({'a': 'g(1)', 'b': '(lambda: 1)()', 'c': "'a'.join([b])", 'd': '(a + b).c()'})`},
		{`f(a=g(f"{f'{x}'}", f'''{f"{'a'}"}'''))`, `f({'a': 'g(f"{f\'{x}\'}", f"""{f"{\'a\'}"}""")'})`},
	})
}

// TestParseBuiltin checks calls of builtin functions and methods within an argument.
func TestParseBuiltin(t *testing.T) {
	check(t, []parse{
		{"f(a=[str(x) for x in [1]], b=['a'.upper()], c=[int('5')], d=f'{3:>5}', e='%5d' % 1)", "f({'a': ['1'], 'b': ['A'], 'c': [5], 'd': '    3', 'e': '    1'})"},
		{"f(a=[1 in (x for x in [1])], b=[x is x for x in [[]]], c=[(y := 1, y) for x in [1]])", "f({'a': [True], 'b': [True], 'c': [[1, 1]]})"},
		{"f(a=json.loads('[1]')[0], b=[json.dumps({'a': FN_CALL_DELIMITER})])", "f({'a': 1, 'b': ['{\"a\": \"<<function>>\"}']})"},
		{"f()\n@x\ndef g(): pass", "f({})"},
		{"f(a=[open('x')])", ""}, {"f(a=[__import__('os')])", ""}, {"f(a=[print('x')])", "f({'a': [None]})"}, {"f(a=[g()])", ""},
		{"f(a=[y for y in (x := [1])])", ""}, {"f(a=[(x := 1) for x in [1]])", ""}, {"f(a=1 or g(x=1, x=2))", ""}, {"f(a=lambda x, x: 1)", ""},
	})
}

// TestParseRefused checks Python source that Parse rejects, so that the answer stays a text.
func TestParseRefused(t *testing.T) {
	check(t, []parse{
		{"f(a=1j)", ""}, {"f(a=b'x')", ""}, {"f(a='\\N{BULLET}')", ""}, {"f(a=bytes)", ""}, {"f(a=2**20000)", ""}, {"f(a=(yield))", ""}, {"f(a=g(await x))", ""},
		{"f()\nclass C: pass", ""}, {"f()\nwith a: pass", ""}, {"f()\nasync def g(): pass", ""}, {"f()\nx = yield", ""},
		{"f()\nfrom . import a", ""}, {"f()\ntry: x\nexcept* E: y", ""}, {"f()\ndel x.a", ""},
	})
}

// TestParseUnlikePython checks source that Python evaluates and Parse rejects.
func TestParseUnlikePython(t *testing.T) {
	for _, source := range []string{
		"f(a=[x for x in {1, 2}])",
		"f(a=[0 for x in range(10**5)])", "f(a=[1 for x[0] in [1]])",
		"f(a=1 << 10**9)", "f(a=2**10**9)", `f(a='\N{LINE FEED}')`, "f()\nmatch x:\n  case 1: pass",
		"f(a=[*{1, 2}])", `f(a='\N{CJK UNIFIED IDEOGRAPH-4E00}')`,
	} {
		if got := parsed(source, nil); got != "" {
			t.Errorf("Parse(%q): got %s, want nothing", source, got)
		}
	}
}
