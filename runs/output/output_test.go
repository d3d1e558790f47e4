package output

import (
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"plain":               {"Ann's café, 日本\t1\n", "Ann's café, 日本\t1\n"},
		"terminal sequence":   {"a\x1b[2Jb", `a\u001b[2Jb`},
		"colour":              {"\x1b[31mred\x1b[0m", `\u001b[31mred\u001b[0m`},
		"carriage return":     {"score 0\rscore 1", `score 0\u000dscore 1`},
		"line of Windows":     {"a\r\nb", "a\r\nb"},
		"bell and delete":     {"\a\x7f", `\u0007\u007f`},
		"8-bit sequence":      {"\u009b2J", `\u009b2J`},
		"direction":           {"a\u202eb\u2066c", `a\u202eb\u2066c`},
		"joined emoji":        {"👩\u200d💻", "👩\u200d💻"},
		"invalid byte":        {"a\xffb", "a\uFFFDb"},
		"style without color": {Red + "0" + Plain, "0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var whole, bytewise strings.Builder
			write(t, NewWriter(&whole), test.text)
			if whole.String() != test.want {
				t.Errorf("got %q, want %q", whole.String(), test.want)
			}
			w := NewWriter(&bytewise)
			for i := range len(test.text) {
				write(t, w, test.text[i:i+1])
			}
			if bytewise.String() != test.want {
				t.Errorf("written byte by byte: got %q, want %q", bytewise.String(), test.want)
			}
		})
	}
}

func TestStyles(t *testing.T) {
	var out strings.Builder
	write(t, &Writer{w: &out, hasColours: true}, Red+"a"+Green+"b"+Yellow+"c"+Bold+"d"+Plain)
	if want := "\x1b[31ma\x1b[32mb\x1b[33mc\x1b[1md\x1b[0m"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestRedraw(t *testing.T) {
	var out strings.Builder
	if err := NewWriter(&out).Redraw("1/2 a\rb"); err != nil {
		t.Fatal(err)
	}
	if want := "\r\x1b[2K" + `1/2 a\u000db`; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestRedrawBelow checks that texts come above the redrawn line: it is erased first and drawn again
// below them, once their line is complete.
func TestRedrawBelow(t *testing.T) {
	const erase = "\r\x1b[2K"
	var out strings.Builder
	w := NewWriter(&out)
	step := func(want string, do func() error) {
		t.Helper()
		out.Reset()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	}
	say := func(text string) func() error {
		return func() error { _, err := w.Write([]byte(text)); return err }
	}
	draw := func(line string) func() error { return func() error { return w.Redraw(line) } }
	step("a\n", say("a\n"))
	step(erase+"1/2", draw("1/2"))
	step(erase+"a log line\n1/2", say("a log line\n"))
	step(erase+"half", say("half"))
	step("", draw("2/2"))
	step(" a line\n2/2", say(" a line\n"))
	step("\n", w.EndRedraw)
	step("", w.EndRedraw)
	step("b\n", say("b\n"))
}

func TestLine(t *testing.T) {
	if got, want := Line("NameError: x\n\tin line 1\r\n\x1b[31m\n"), `NameError: x;  in line 1; \u001b[31m`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func write(t *testing.T, w *Writer, text string) {
	t.Helper()
	if n, err := w.Write([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("Write: got %d, %v, want %d bytes", n, err, len(text))
	}
}
