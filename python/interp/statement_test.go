package interp

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// TestStatement checks which statement a call says has raised its exception: the innermost one,
// also with a finally after it, and after calls that returned.
func TestStatement(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{"    x = 1\n    return x + ''\n", "return x + ''"},
		{"    if [].x:\n        pass\n", "if [].x:"},
		{"    return inner()\n\ndef inner():\n    return [].x\n", "return [].x"},
		{"    return fine() + ''\n\ndef fine():\n    return 1\n", "return fine() + ''"},
		{"    try:\n        [].x\n    finally:\n        y = 5\n", "[].x"},
		{"    try:\n        [].x\n    except AttributeError:\n        raise ValueError('y')\n", "raise ValueError('y')"},
		{"    try:\n        [].x\n    except AttributeError:\n        pass\n    {}['y']\n", "{}['y']"},
		{"    if False:\n        pass\n    elif [].x:\n        pass\n", "elif [].x:"},
		{"    n = 1\n    while 1 / n:\n        n -= 1\n", "while 1 / n:"},
		{"    d = {1: 2}\n    for k in d:\n        d[5] = 6\n", "for k in d:"},
		{"    return f\n", ""},
		{"    return 1\n", ""},
	} {
		text := "def f():\n" + test.body
		file, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		def, ok := file.Body[0].(*syntax.Def)
		if !ok {
			t.Fatal("got no function")
		}
		_, outcome := NewLibrary(Names{}).Prepare(file).Call(t.Context(), def, nil, nil)
		got := ""
		if outcome.Statement != nil {
			got, _, _ = strings.Cut(text[outcome.Statement.Offset():], "\n")
		}
		if got != test.want {
			t.Errorf("%s: got %q by %v, want %q", text, got, outcome.Err, test.want)
		}
	}
}
