package expression

import "testing"

// What Python 3.11 makes of a source; nothing stands for an exception.
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
		{"f(a=1if 1else 2, b=0xfor 1)", "f({'a': 1, 'b': 15})"}, {"f(a=1j)", "no JSON"}, {"f(a=1+2j)", "no JSON"}, {"f(a=(-8)**0.5)", "no JSON"},
		{"f(a=1e400j)", "no JSON"}, {"f(a=010j)", "no JSON"},
		{"f(a=(1+2j).imag, b=(3).real, c=(2.5).imag, d=True.real, e=5 .denominator)", "f({'a': 2.0, 'b': 3, 'c': 0.0, 'd': 1, 'e': 1})"},
		{"f(a=1j*1j == -1, b=not 0j, c=1j is None)", "f({'a': True, 'b': True, 'c': False})"}, {"f(a=0j**-1)", ""}, {"f(a=1j/0)", ""}, {"f(a=1j//1)", ""},
		{"f(a=1j<2)", ""}, {"f(a=1j if 0 else 1)", "f({'a': 1})"},
		// Texts, bytes and formatted texts.
		{`f(a='\N{BULLET}', b='\N{latin small letter e with acute}')`, "f({'a': '•', 'b': 'é'})"},
		{"f(a='\\d\\101\\0\\x41\\a', b=r'\\x1', c='\\ud83d', d='a\\\nb')", `f({'a': '\\dA\x00A\x07', 'b': '\\x1', 'c': '\ud83d', 'd': 'ab'})`},
		{`f(a=u'a' 'b', b=U'c', c=R'\')`, ""},
		{`f(a='a' f'{1}' 'b', b=f'{{}}', c=rf'\{1}', d=f'{"x"!r}{2!s}{"é"!a}')`, `f({'a': 'a1b', 'b': '{}', 'c': '\\1', 'd': "'x'2'\\xe9'"})`},
		{"f(a=f'{1+1}{None}{[1, (2,), {}]}{1.0}{FN_CALL_DELIMITER}', b=f'{1 + 1 = }', c=f'{2:}')", "f({'a': '2None[1, (2,), {}]1.0<<function>>', 'b': '1 + 1 = 2', 'c': '2'})"},
		{`f(a=f'\N{BULLET}{1}\{2}')`, `f({'a': '•1\\2'})`}, {"f(a=f'{x}')", ""},
		{`f(a=f'{1 != 2}{1 <= 2}{"a:b"}{(lambda: 1) is None}{ {1: 2}[1] }')`, "f({'a': 'TrueTruea:bFalse2'})"}, {"f(a='a'b'b')", ""}, {"f(a=b'a' b'b')", "no JSON"},
		{`f(a=rb'\x')`, "no JSON"}, {"f(a=[b''])", "no JSON"}, {"f(a=b'ab'[0], b=b'a' == b'a', c=b'a' == 'a', d=b'a' + b'b' == b'ab', e=b'')", "no JSON"},
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
		{"f(a={True: 1, 1: 2}, b={1: 'a', '1': 'b', 1.0: 'c'})", "f({'a': {'true': 2}, 'b': {'1': 'b'}})"}, {"f(a={1j: 2})", "no JSON"},
		{"f(a={b'a': 2})", "no JSON"}, {"f(a={print: 2})", "no JSON"}, {"f(a={[1]: 2})", ""},
		{"f(a='%s' % 'x', b='%d%%' % 5, c='%s-%r' % ('a', 'b'), d='%s' % ([1, (2,)],), e='%i' % 2.9, g='a' % [], h='%s' % {'a': 1})", `f({'a': 'x', 'b': '5%', 'c': "a-'b'", 'd': '[1, (2,)]', 'e': '2', 'g': 'a', 'h': "{'a': 1}"})`},
		{"f(a='%s %s' % 'x')", ""}, {"f(a='a' % 'x')", ""}, {"f(a='%d' % 'x')", ""}, {"f(a='%' % 1)", ""}, {"f(a='%s')", "f({'a': '%s'})"},
		{"f(a=(1,) + (2,), b=(1,) * 2)", "f({'a': [1, 2], 'b': [1, 1]})"}, {"f(a=(1,) + [2])", ""}, {"f(a={} + {})", ""}, {"f(a='a' * 1.0)", ""},
		{"f(a=1 + None)", ""},
		{"f(a=0**0, b=(-1)**10**30, c=1**10**30, d=2.0**0.5, e=10**-5, g=1.1**10, h=7.5%-2)", "f({'a': 1, 'b': 1, 'c': 1, 'd': 1.4142135623730951, 'e': 1e-05, 'g': 2.5937424601000023, 'h': -0.5})"},
		{"f(a=10.0**400)", ""}, {"f(a=10**400*1.0)", ""}, {"f(a=2**20000)", "no JSON"}, {"f(a=10**4300)", "no JSON"}, {"f(a=10**4299 > 1)", "f({'a': True})"},
	})
}

func TestParseSource(t *testing.T) {
	check(t, []parse{
		// What JSON cannot write.
		{"f(a=print)", "no JSON"}, {"f(a=len)", "no JSON"}, {"f(a=Ellipsis)", "no JSON"}, {"f(a=NotImplemented)", "no JSON"}, {"f(a=bytes)", "no JSON"},
		{"f(a=Exception)", "no JSON"}, {"f(a=IOError)", "no JSON"}, {"f(a=json.dumps)", "no JSON"}, {"f(a='a'.upper)", "no JSON"},
		{"f(a=[[].append])", "no JSON"}, {"f(a={'b': str.join})", "no JSON"}, {"f(a=[range(3)])", "no JSON"}, {"f(a=[set()])", "no JSON"},
		{"f(a={'b': set([1])})", "no JSON"}, {"f(a=[frozenset('ab')])", "no JSON"}, {"f(a=[bytes()])", "no JSON"}, {"f(a=lambda: 1)", "no JSON"},
		{"f(a=[lambda x, /, y=1, *z, k, **w: x])", "no JSON"}, {"f(a=lambda x=x: 1)", ""}, {"f(a=lambda x, x: 1)", ""}, {"f(a=1 or (yield))", ""}, {"f(a=1 if 1 else (await x))", ""}, {"f(a=1 or [x async for x in y])", ""}, {"f(a=1 or f(x=1, x=2))", ""}, {"f(a=lambda: (yield))", "no JSON"}, {"f(a=__debug__)", "f({'a': True})"},
		{"f(a=print or x)", "no JSON"},
		{"f(a=not print, b=print == print, c=print == len, d=print == 1)", "f({'a': False, 'b': True, 'c': False, 'd': False})"}, {"f(a=print + 1)", ""},
		{"f(a=json.x)", ""}, {"f(a='a'.x)", ""}, {"f(a=[range()])", ""}, {"f(a=[range('a')])", ""}, {"f(a=[range(1, 2, 0)])", ""}, {"f(a=[set(1)])", ""},
		{"f(a=[set([[]])])", ""}, {"f(a=[x()])", ""}, {"f(a=[set(x)])", ""}, {"f(a=(yield))", ""}, {"f(a=(await 1))", ""}, {"f(*[1])", ""},
		{"f(a=print, b=x)", ""},
		// Calls within calls, as Python writes them.
		{"f(a=g(2**-1, -2**2, (-2)**2, 2**3**2, (2**3)**2))", "f({'a': 'g(2 ** (-1), -2 ** 2, (-2) ** 2, 2 ** 3 ** 2, (2 ** 3) ** 2)'})"},
		{`f(a=g(u'a', 'a' u'b', u'a' 'b', U'a', "it's", 'é\n'))`, `f({'a': 'g(u\'a\', \'ab\', u\'ab\', \'a\', "it\'s", \'é\\n\')'})`},
		{`f(a=g(f'a', f'{x}' 'y', f'', rf'\n{x}'))`, `f({'a': "g(f'a', f'{x}y', f'', f'\\\\n{x}')"})`},
		{`f(a=g(f'a{b!r:>{w}}', f'{x=}', f'{x:}', f'{ {1: 2}[1] }', f'{"a"}', f'{x}\n', f'{{}}{x:{y}}', f'{"it"}\'s', f'{(lambda: 1)}', f'{(yield)}', f'{a, b}'))`, `f({'a': 'g(f\'a{b!r:>{w}}\', f\'x={x!r}\', f\'{x:}\', f\'{ {1: 2}[1]}\', f"{\'a\'}", f\'{x}\\n\', f\'{{}}{x:{y}}\', f"{\'it\'}\'s", f\'{(lambda: 1)}\', f\'{(yield)}\', f\'{(a, b)}\')'})`},
		{`f(a=g(f'''{'a'}"{"b"}'''))`, `f({'a': 'g(f\'\'\'{\'a\'}"{\'b\'}\'\'\')'})`}, {`f(a=g(f'''{"it's"}"'''))`, `f({'a': 'g(f\'\'\'{"it\'s"}"\'\'\')'})`},
		{"f(a=g(f'''{\"\"\"a\nb\"\"\"}'''))", `f({'a': 'g(f\'\'\'{"""a\nb"""}\'\'\')'})`},
		{`f(a=g(rb'a', b'a' b'b', b'it\'s', b'\n\x00\xff\\"\''))`, `f({'a': 'g(b\'a\', b\'ab\', b"it\'s", b\'\\n\\x00\\xff\\\\"\\\'\')'})`},
		{"f(a=g(1e400, -1e400, 1e400j, 1_0, 0x10, 1E5, 1e16, 1j, 1.50))", "f({'a': 'g(1e309, -1e309, 1e309j, 10, 16, 100000.0, 1e+16, 1j, 1.5)'})"},
		{"f(a=g((1).real, 1 .real, 1.5.real, True.real, 'a'.b, [].b, (1j).imag))", `f({'a': "g(1 .real, 1 .real, 1.5.real, True .real, 'a'.b, [].b, 1j.imag)"})`},
		{"f(a=g(*a, b=1, *c, **d))", "f({'a': 'g(*a, *c, b=1, **d)'})"},
		{"f(a=g(x[1:2], x[::2], x[1:2, 3], x[()], x[(1, 2)], x[1,], x[*a], x[::], x[a:=1], x[...]))", "f({'a': 'g(x[1:2], x[::2], x[1:2, 3], x[()], x[1, 2], x[1,], x[*a,], x[:], x[(a := 1)], x[...])'})"},
		{"f(a=g(a == b, a < b < c, not x, a not in b, a is not b, not a == b, (not a) == b))", "f({'a': 'g(a == b, a < b < c, not x, a not in b, a is not b, not a == b, (not a) == b)'})"},
		{"f(a=g({**a}, {**a | b, 1: 2}, {*a, 1}, [*a], (*a,)))", "f({'a': 'g({**a}, {**a | b, 1: 2}, {*a, 1}, [*a], (*a,))'})"},
		{"f(a=g(b if c else d, (b if c else d) if e else f, b if c else d if e else f, (b or c) if d else e))", "f({'a': 'g(b if c else d, (b if c else d) if e else f, b if c else d if e else f, b or c if d else e)'})"},
		{"f(a=g(x=lambda: 1, y=lambda x, /, y=1, *, z, w=2, **k: (x, y), z=lambda *a: lambda: 1))", "f({'a': 'g(x=lambda: 1, y=lambda x, /, y=1, *, z, w=2, **k: (x, y), z=lambda *a: lambda: 1)'})"},
		{"f(a=g(a or b and c, (a or b) and c, a and (b and c), a or b or not c, not (a and b)))", "f({'a': 'g(a or (b and c), (a or b) and c, a and (b and c), a or b or (not c), not (a and b))'})"},
		{"f(a=g(a | b & c ^ d, (a | b) & c, a << 1 >> 2, ~a, -(-1), a @ b, a-(b-c), a/b/c, -a**b, (-a)**b, a**-b))", "f({'a': 'g(a | b & c ^ d, (a | b) & c, a << 1 >> 2, ~a, --1, a @ b, a - (b - c), a / b / c, -a ** b, (-a) ** b, a ** (-b))'})"},
		{"f(a=g([x for x in y], {x for x in y if z if w}, {x: y for x, y in z}, [x async for x, in y for z in (a, b)]))", "f({'a': 'g([x for x in y], {x for x in y if z if w}, {x: y for x, y in z}, [x async for x, in y for z in (a, b)])'})"},
		{"f(a=g(x for x in y))", "f({'a': 'g((x for x in y))'})"}, {"f(a=g((x for x in y), 1))", "f({'a': 'g((x for x in y), 1)'})"},
		{"f(a=g((b := 1), c := 2, d=(e := 3)))", "f({'a': 'g((b := 1), (c := 2), d=(e := 3))'})"},
		{"f(a=g((yield), (yield x), (yield from x), await x, -await x))", "f({'a': 'g((yield), (yield x), (yield from x), await x, -await x)'})"},
		{"f(a=g((b, c), (b,), (), {1}, {1: 2, }, [1, ], ..., None))", "f({'a': 'g((b, c), (b,), (), {1}, {1: 2}, [1], ..., None)'})"},
		{"f(a=g(x)(y).z[0](w))", "f({'a': 'g(x)(y).z[0](w)'})"},
		{"f(a=(g)(1), b=(lambda: 1)(), c='a'.join([b]), d=(a + b).c())", `f({'a': 'g(1)', 'b': '(lambda: 1)()', 'c': "'a'.join([b])", 'd': '(a + b).c()'})`},
		{`f(a=g(f"{f'{x}'}", f'''{f"{'a'}"}'''))`, `f({'a': 'g(f"{f\'{x}\'}", f"""{f"{\'a\'}"}""")'})`}, {"f(a=ｇ(ﬁ=1))", "f({'a': 'g(fi=1)'})"},
	})
}

// TestParseUnlikePython shows what Python computes and Parse does not: the answer stays a text.
func TestParseUnlikePython(t *testing.T) {
	for _, source := range []string{
		"f(a=[x for x in {1, 2}])", "f(a=[str(x) for x in [1]])", "f(a=[1 in (x for x in [1])])", "f(a=[x is x for x in [[]]])", "f(a=[(y := 1, y) for x in [1]])",
		"f(a=[0 for x in range(10**5)])", "f(a=[1 for x[0] in [1]])", "f(a=['a'.upper()])", "f(a=[int('5')])", "f(a=f'{3:>5}')", "f(a='%5d' % 1)", "f(a=1 is 1)",
		"f(a=__name__)", "f(a=list[int])", "f(a=1 << 10**9)", "f(a=2**10**9)", "f(a=''.__class__)", `f(a='\N{LINE FEED}')`, "f()\nmatch x:\n  case 1: pass",
		"f(a='%s' % print)", "f(a=f'{ {1} }')", "f(a=[*{1, 2}])", "f(a=not 'a'.upper)", `f(a='\N{CJK UNIFIED IDEOGRAPH-4E00}')`,
	} {
		if got := parsed(source, nil); got != "" {
			t.Errorf("Parse(%q): got %s, want nothing", source, got)
		}
	}
}
