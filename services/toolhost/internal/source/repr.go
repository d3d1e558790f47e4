package source

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// printer writes repr texts within limits.
type printer struct {
	run   *run
	out   []byte
	path  []starlark.Value // the lists and dicts around
	depth int
}

// repr returns repr(v).
func (r *run) repr(v starlark.Value) (string, error) {
	p := printer{run: r}
	if err := p.value(v); err != nil {
		return "", err
	}
	return string(p.out), r.alloc(len(p.out))
}

// str returns str(v).
func (r *run) str(v starlark.Value) (string, error) {
	if text, ok := v.(starlark.String); ok {
		return string(text), nil
	}
	return r.repr(v)
}

func (p *printer) value(v starlark.Value) error {
	if err := p.run.spend(1); err != nil {
		return err
	}
	if len(p.out) > maxMemory-p.run.memory {
		return p.run.alloc(len(p.out))
	}
	switch v := v.(type) {
	case starlark.NoneType, starlark.Bool, starlark.Float, starlark.String:
		value, err := p.run.toPython(v, 0)
		p.out = python.AppendRepr(p.out, value)
		return err
	case starlark.Int:
		text, err := decimal(v)
		p.out = append(p.out, text...)
		return err
	case *starlark.List:
		return p.sequence(v, "[", "]")
	case starlark.Tuple:
		if len(v) == 1 {
			return p.sequence(v, "(", ",)")
		}
		return p.sequence(v, "(", ")")
	case *starlark.Dict:
		return p.dict(v)
	case *class:
		p.out = append(p.out, "<class '"+v.name+"'>"...)
	case *starlark.Builtin:
		if !p.run.tools.Callable(v.Name()) {
			p.out = append(p.out, "<built-in function "+v.Name()+">"...)
			break
		}
		p.out = append(p.out, "<function "+v.Name()+" at 0x7F0000000000>"...)
	case starlark.Callable:
		p.out = append(p.out, "<function "+v.Name()+" at 0x7F0000000000>"...)
	default:
		text := v.String()
		if !strings.Contains(text, ",") { // Starlark leaves the beginning of a range out
			text = strings.Replace(text, "range(", "range(0, ", 1)
		}
		p.out = append(p.out, text...)
	}
	return nil
}

// decimal returns the digits of an int.
func decimal(i starlark.Int) (string, error) {
	text := i.String()
	if len(strings.TrimPrefix(text, "-")) > maxDigits {
		return "", raisef("ValueError", "Exceeds the limit (%d) for integer string conversion", maxDigits)
	}
	return text, nil
}

// maxDigits is the longest decimal integer that Python 3.9 converts from and to text.
const maxDigits = 4300

// enter says whether a list or dict is already being printed, and goes into it otherwise.
func (p *printer) enter(v starlark.Value) (inside bool, err error) {
	if _, ok := v.(starlark.Tuple); !ok { // tuples can hold themselves only through these
		if slices.Contains(p.path, v) {
			return true, nil
		}
		p.path = append(p.path, v)
	}
	if p.depth++; p.depth > maxDepth {
		return false, tooDeep()
	}
	return false, nil
}

func (p *printer) leave(v starlark.Value) {
	if _, ok := v.(starlark.Tuple); !ok {
		p.path = p.path[:len(p.path)-1]
	}
	p.depth--
}

func (p *printer) sequence(v starlark.Indexable, open, closing string) error {
	inside, err := p.enter(v)
	if err != nil {
		return err
	}
	if inside {
		p.out = append(p.out, "[...]"...)
		return nil
	}
	defer p.leave(v)
	p.out = append(p.out, open...)
	for i := range v.Len() {
		if i > 0 {
			p.out = append(p.out, ", "...)
		}
		if err := p.value(v.Index(i)); err != nil {
			return err
		}
	}
	p.out = append(p.out, closing...)
	return nil
}

func (p *printer) dict(v *starlark.Dict) error {
	inside, err := p.enter(v)
	if err != nil {
		return err
	}
	if inside {
		p.out = append(p.out, "{...}"...)
		return nil
	}
	defer p.leave(v)
	p.out = append(p.out, '{')
	for i, item := range v.Items() {
		if i > 0 {
			p.out = append(p.out, ", "...)
		}
		if err := p.value(item[0]); err != nil {
			return err
		}
		p.out = append(p.out, ": "...)
		if err := p.value(item[1]); err != nil {
			return err
		}
	}
	p.out = append(p.out, '}')
	return nil
}
