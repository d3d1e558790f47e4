package source

import "strings"

// imports translates "import a, b as c".
func (t *translator) imports(tokens []token) error {
	rest := tokens[1:]
	for first := true; ; first = false {
		module, n := dotted(rest)
		if n == 0 {
			return t.endsEarly(tokens, rest)
		}
		at := rest[0].at
		rest = rest[n:]
		target := module
		if len(rest) > 1 && rest[0].text == "as" && rest[1].kind == kindName {
			target, rest = rest[1].text, rest[2:]
		}
		if !first {
			t.put(";", at, at)
		}
		switch {
		case module == jsonModule && target != module:
			t.put(target+" = "+jsonModule, at, at+len(module))
		case known(module):
			t.put("pass", at, at+len(module))
		default:
			t.missing(module, at)
		}
		if len(rest) == 0 {
			return nil
		}
		if rest[0].text != "," {
			return t.wrong(rest[0].at, invalidSyntax)
		}
		rest = rest[1:]
	}
}

// importsFrom translates "from a import b, c as d". What comes from the original's own modules is there anyway.
func (t *translator) importsFrom(tokens []token) error {
	module, n := dotted(tokens[1:])
	rest := tokens[1+n:]
	if n == 0 || len(rest) == 0 || rest[0].text != "import" {
		return t.endsEarly(tokens, rest)
	}
	at := tokens[1].at
	if rest = rest[1:]; len(rest) == 0 {
		return t.endsEarly(tokens, rest)
	}
	switch {
	case module != jsonModule && known(module):
		t.put("pass", at, at+len(module))
		return nil
	case module != jsonModule:
		t.missing(module, at)
		return nil
	}
	for first := true; len(rest) > 0 && rest[0].kind == kindName; first = false {
		name, target := rest[0].text, rest[0].text
		rest = rest[1:]
		if len(rest) > 1 && rest[0].text == "as" {
			target, rest = rest[1].text, rest[2:]
		}
		if !first {
			t.put(";", at, at)
		}
		t.put(target+" = "+jsonModule+"."+name, at, at+len(module))
		if len(rest) > 0 && rest[0].text == "," {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		return t.wrong(rest[0].at, invalidSyntax)
	}
	return nil
}

const jsonModule = "json"

// known says whether importing a module changes nothing: it is there, or it holds nothing but the tools and types.
func known(module string) bool {
	first, _, _ := strings.Cut(module, ".")
	return module == jsonModule || first == "tool_sandbox" || module == "typing" || module == "__future__"
}

// missing writes a call that raises ModuleNotFoundError.
func (t *translator) missing(module string, at int) {
	end := min(at+len(module), len(t.source))
	module, _, _ = strings.Cut(module, ".")
	t.putLiteral(literal{kind: literalModule, name: module}, at, end)
	t.put("(", at, end)
	t.put(")", at, end)
}

// dotted reads the name of a module; n is the number of its tokens, 0 if none is next.
func dotted(tokens []token) (module string, n int) {
	for n < len(tokens) && tokens[n].kind == kindName {
		module += tokens[n].text
		if n++; n+1 >= len(tokens) || tokens[n].text != "." || tokens[n+1].kind != kindName {
			return module, n
		}
		module += "."
		n++
	}
	return module, n
}

// endsEarly points at the first token that is left, or at the end of the line.
func (t *translator) endsEarly(tokens, left []token) error {
	if len(left) > 0 {
		return t.wrong(left[0].at, invalidSyntax)
	}
	last := tokens[len(tokens)-1]
	return t.wrong(last.at+len(last.text), invalidSyntax)
}
