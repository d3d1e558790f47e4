package agentgw

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// asking is a request of a rollout with messages of some texts under a name, after an earlier view.
func asking(rollout, earlier, name string, texts ...string) *agentgwv1.RespondRequest {
	req := &agentgwv1.RespondRequest{RolloutId: rollout, EarlierViewDigest: earlier, ViewDigest: name}
	for _, text := range texts {
		req.View = append(req.View, &worldv1.Message{Body: &worldv1.Message_Text{Text: text}})
	}
	return req
}

func texts(req *agentgwv1.RespondRequest) string {
	var all []string
	for _, message := range req.GetView() {
		all = append(all, sandbox.Content(message))
	}
	return strings.Join(all, " ")
}

func TestViews(t *testing.T) {
	const room = 64 * viewShare
	long := strings.Repeat("x", room/viewShare)
	tests := []struct {
		req  *agentgwv1.RespondRequest
		want string
		kept bool
		err  error
	}{
		{asking("r", "", "1", "a"), "a", true, nil},
		{asking("q", "1", "2", "b"), "", false, errUnknownView}, // another rollout's
		{asking("q", "", "1", "a"), "a", true, nil},
		{asking("r", "1", "2", "b", "c"), "a b c", true, nil},
		{asking("r", "1", "2", "b", "c"), "", false, errUnknownView}, // its turn is over
		{asking("q", "1", "2", "b"), "a b", true, nil},
		{asking("r", "2", "2"), "a b c", true, nil}, // asked again
		{asking("r", "2", "", "d"), "a b c d", false, nil},
		{asking("r", "", "3"), "", false, errNoView},
		{asking("r", "", "3", long), long, false, nil},
		{asking("q", "2", "3", long), "a b " + long, false, nil}, // too long from here on
		{asking("q", "3", "4", "c"), "", false, errUnknownView},
	}
	v, err := newViews(room)
	if err != nil {
		t.Fatal(err)
	}
	for i, test := range tests {
		kept, err := v.complete(test.req)
		if kept != test.kept || !errors.Is(err, test.err) {
			t.Errorf("request %d: got kept %t and %v, want %t and %v", i, kept, err, test.kept, test.err)
		}
		if got := texts(test.req); err == nil && got != test.want {
			t.Errorf("request %d: got view %q, want %q", i, got, test.want)
		}
	}
	if v.used != 0 || v.kept.Len() != 0 {
		t.Errorf("after the last turns: got %d views of %d bytes, want none", v.kept.Len(), v.used)
	}
}

// TestRoomForViews lets rollouts play at once that do not all have room.
func TestRoomForViews(t *testing.T) {
	const rollouts, room = 40, 4000
	v, err := newViews(room)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for n := range rollouts {
		group.Go(func() {
			id, earlier, want := fmt.Sprint(n), "", ""
			for i := range 9 {
				text, name := fmt.Sprintf("%d.%d", n, i), fmt.Sprint(i)
				req := asking(id, earlier, name, text)
				want = strings.TrimPrefix(want+" "+text, " ")
				kept, err := v.complete(req)
				if errors.Is(err, errUnknownView) {
					req = asking(id, "", name, strings.Fields(want)...)
					kept, err = v.complete(req)
				}
				if err != nil || texts(req) != want {
					t.Errorf("rollout %d, turn %d: got %q and %v, want %q", n, i, texts(req), err, want)
					return
				}
				if earlier = name; !kept {
					t.Errorf("rollout %d, turn %d: not kept", n, i)
					return
				}
			}
		})
	}
	group.Wait()
	sum := 0
	for _, kept := range v.kept.Values() {
		sum += kept.bytes
	}
	if sum != v.used || v.used > room || v.used == 0 {
		t.Errorf("kept: got %d bytes and %d in the books, want the same and at most %d", sum, v.used, room)
	}
}

// BenchmarkViews completes the views of a conversation of 30 messages, each time with the two that
// are new.
func BenchmarkViews(b *testing.B) {
	v, err := newViews(64 << 20)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		earlier := ""
		for i := range 15 {
			name := fmt.Sprint(i)
			if _, err := v.complete(asking("r", earlier, name, "one", "two")); err != nil {
				b.Fatal(err)
			}
			earlier = name
		}
	}
}
