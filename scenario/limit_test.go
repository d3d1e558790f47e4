package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// TestBudget counts rows in parts of a pack, as concurrent readers do.
func TestBudget(t *testing.T) {
	t.Parallel()
	r, at := &document.Reader{File: "a.yaml"}, document.Top()
	whole := &Budget{Rows: 5, Visits: 5}
	for range 2 {
		part := whole.Part()
		part.Count(r, at, 3)
		if !part.visit(r, at, 3) {
			t.Error("a part has the visits of another one")
		}
		whole.Add(r, at, part)
	}
	if !whole.Stopped() || whole.Part().Stopped() {
		t.Errorf("stopped: got %v and a new part %v, want true and false", whole.Stopped(), whole.Part().Stopped())
	}
	whole.Count(r, at, 1)
	var got []string
	for _, mistake := range r.Errors {
		got = append(got, mistake.Reason)
	}
	want := []string{"with this one, the worlds and scenarios of the pack start with more than 5 rows; nothing after it is read"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}
