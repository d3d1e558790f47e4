package tool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// tryLines returns the defects of the tools in a file, without the file's name.
func tryLines(t *testing.T, text string) []string {
	t.Helper()
	catalogue, err := Builtin().Extend(Pack{Modules: []*setupv1.ToolModule{{Name: "desk", Source: text}}, Schema: noteSchema(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := noteWorld(t)
	faults, err := catalogue.Try(t.Context(), *w)
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, Builtin(), w, "search_contacts", `{"name": "nobody"}`); got != "[]" {
		t.Errorf("contacts after it: got %s", got)
	}
	var got []string
	for _, line := range strings.Split(faults.Error(), "\n") {
		got = append(got, strings.TrimPrefix(line, "tools/desk.py:"))
	}
	return got
}

// TestTry finds defects by calls with made-up arguments: cells of the column with a parameter's
// name, otherwise values of its type.
func TestTry(t *testing.T) {
	const doc = "\n  '''Acts.'''\n"
	for _, test := range []struct{ source, want string }{
		{"def act() -> str:" + doc + "  return 'x'.lowr()\n", "3:3: act: AttributeError: 'str' object has no attribute 'lowr', when called as act()"},
		{"def act() -> str:" + doc + "  if world.now() > 0:\n    x = ''\n  return x\n", ""},
		{"def act() -> str:" + doc + "  if world.now() < 0:\n    x = ''\n  return x\n", "5:3: act: UnboundLocalError: local variable 'x' referenced before assignment, when called as act()"},
		{"def act() -> str:" + doc + "  return _help()\n\n\ndef _help():\n  x = 'a'\n  return (\n    x + 5)\n",
			`8:3: act: TypeError: can only concatenate str (not "int") to str, when called as act()`},
		{"def act() -> int:" + doc + "  return str(5)\n", "1:1: act: it returns '5', but the hint says int, when called as act()"},
		{"def act() -> List[str]:" + doc + "  return [5 + 5]\n", "1:1: act: it returns [10], but the hint says List[str], when called as act()"},
		{"def act() -> Dict[str, float]:" + doc + "  return {'a': str(1)}\n", "1:1: act: it returns {'a': '1'}, but the hint says Dict[str, float], when called as act()"},
		{"def act() -> None:" + doc + "  while True:\n    pass\n", "3:3: act: TimeoutError: more than 200000 steps are needed, when called as act()"},
		{"def act() -> None:" + doc + "  assert world.now() < 0\n", ""},
		{"def act() -> None:" + doc + "  raise TypeError('on purpose')\n", ""},
		{"def act() -> float:" + doc + "  return world.rows('note', note_id='none')[0]['pages']\n", ""},
		{"@needs('wifi')\ndef act() -> None:" + doc + "  nothing()\n\n\ndef nothing() -> None:" + doc + "  ''.x()\n",
			"9:3: act: AttributeError: 'str' object has no attribute 'x', when called as act()\n9:3: nothing: AttributeError: 'str' object has no attribute 'x', when called as nothing()"},
		{"@user\ndef act() -> None:" + doc + "  ''.x()\n", "4:3: act: AttributeError: 'str' object has no attribute 'x', when called as act()"},
	} {
		got := strings.Join(tryLines(t, test.source), "\n")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.source, diff)
		}
	}
}

// TestTryArguments checks the made-up arguments, with and without the optional ones.
func TestTryArguments(t *testing.T) {
	const source = `
def act(note_id: str, other_note_id: str, title: List[str], pages: int, on: bool, rate: float, to_phone_number: str,
        at_timestamp: float, rows: List[Dict[str, Any]], by: Dict[str, int], said: Optional[str], word: str = "x") -> None:
    '''Acts.

    Args:
        note_id: X.
        other_note_id: X.
        title: X.
        pages: X.
        on: X.
        rate: X.
        to_phone_number: X.
        at_timestamp: X.
        rows: X.
        by: X.
        said: X.
        word: X.
    '''
    world.remove('note', note_id=note_id)
    if word == 'text':
        return
    ''.x()
`
	const want = "23:5: act: AttributeError: 'str' object has no attribute 'x', when called as act(note_id='a', other_note_id='a', title=['text'], pages=1, on=True, rate=1.0, " +
		"to_phone_number='+14155550132', at_timestamp=1700000000.0, rows=[{}]"
	got := strings.Join(tryLines(t, source), "\n")
	if !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestTryBuiltin calls the tools of the phone, which have no defect.
func TestTryBuiltin(t *testing.T) {
	faults, err := Builtin().Try(t.Context(), *noteWorld(t))
	if err != nil || len(faults) > 0 {
		t.Errorf("got %v and %v, want no defects", faults, err)
	}
}
