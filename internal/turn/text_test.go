package turn

import (
	"errors"
	"testing"
)

// TestToolText encodes once per format, again after an error, and each time without a cache.
func TestToolText(t *testing.T) {
	writes := 0
	write := func(text string, err error) func() ([]byte, error) {
		return func() ([]byte, error) { writes++; return []byte(text), err }
	}
	broken := errors.New("broken")
	kept := NewTools(nil).Text()
	for i, step := range []struct {
		text   *ToolText
		format string
		write  func() ([]byte, error)
		want   string
		err    error
		writes int
	}{
		{kept, "a", write("", broken), "", broken, 1},
		{kept, "a", write("1", nil), "1", nil, 2},
		{kept, "a", write("2", nil), "1", nil, 2},
		{kept, "b", write("3", nil), "3", nil, 3},
		{nil, "a", write("4", nil), "4", nil, 4},
		{nil, "a", write("5", nil), "5", nil, 5},
	} {
		got, err := step.text.Encode(step.format, step.write)
		if string(got) != step.want || !errors.Is(err, step.err) || writes != step.writes {
			t.Errorf("step %d: got %q, %v and %d writes, want %q, %v and %d", i, got, err, writes, step.want, step.err, step.writes)
		}
	}
}
