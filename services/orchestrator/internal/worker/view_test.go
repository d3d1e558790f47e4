package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// viewer is a gateway that keeps views, and notes for each request how many messages came after how
// many that it kept.
type viewer struct {
	mu     sync.Mutex
	forget bool // before every request
	kept   map[string][]*worldv1.Message
	noted  []string
}

// respond lets the agent call twice, then speak, then the user end the conversation.
func (v *viewer) respond(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.forget || v.kept == nil {
		v.kept = make(map[string][]*worldv1.Message)
	}
	before, known := v.kept[req.GetEarlierViewDigest()]
	v.noted = append(v.noted, fmt.Sprintf("%s %d after %d", strings.TrimPrefix(req.GetRole().String(), "ROLE_"), len(req.GetView()), len(before)))
	if req.GetEarlierViewDigest() != "" && !known {
		return nil, status.Error(codes.FailedPrecondition, "unknown view")
	}
	view := slices.Concat(before, req.GetView())
	for i := 1; i < len(view); i++ {
		if view[i].GetIndex() <= view[i-1].GetIndex() {
			return nil, status.Errorf(codes.InvalidArgument, "view: index %d after %d", view[i].GetIndex(), view[i-1].GetIndex())
		}
	}
	if last := view[len(view)-1].GetIndex(); last != req.GetIndex()-1 {
		return nil, status.Errorf(codes.InvalidArgument, "view: it ends with %d, and the turn begins with %d", last, req.GetIndex())
	}
	kept := req.GetViewDigest() != ""
	if kept {
		v.kept[req.GetViewDigest()] = view
	}
	to := env
	if req.GetRole() == agent && req.GetTurn()%3 == 2 {
		to = user
	}
	said := &worldv1.Message{Index: req.GetIndex(), Sender: req.GetRole(), Recipient: to, Body: &worldv1.Message_Text{Text: "x"}}
	return &agentgwv1.RespondResponse{Messages: []*worldv1.Message{said}, ViewKept: kept}, nil
}

// TestViews asks a gateway that keeps views only for what is new, and one that does not for all.
func TestViews(t *testing.T) {
	tests := map[string]struct {
		forget bool
		want   []string
	}{
		"kept":      {false, []string{"AGENT 1 after 0", "AGENT 2 after 1", "AGENT 2 after 3", "USER 2 after 0"}},
		"forgotten": {true, []string{"AGENT 1 after 0", "AGENT 2 after 0", "AGENT 3 after 0", "AGENT 2 after 0", "AGENT 5 after 0", "USER 2 after 0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, gateway := newStage(t), &viewer{forget: test.forget}
			s.gateway.respond = gateway.respond
			s.enqueue(t, 0, "s.0")
			run(t.Context(), t, s.worker(t, nil, nil))
			if got := s.ended(t, "s.0")["s.0"].End().GetReason(); got != busv1.EndReason_END_REASON_FINISHED {
				t.Errorf("end: got %v, want that it finished", got)
			}
			if diff := cmp.Diff(test.want, gateway.noted); diff != "" {
				t.Errorf("new messages after kept ones (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShow(t *testing.T) {
	view := []*worldv1.Message{line(0, user, agent, "a", true), line(1, agent, user, "b", true), line(2, user, agent, "c", true)}
	show := func(s shown, view ...*worldv1.Message) (*agentgwv1.RespondRequest, shown) {
		t.Helper()
		request := &agentgwv1.RespondRequest{}
		now, err := s.show(request, view)
		if err != nil {
			t.Fatal(err)
		}
		return request, now
	}
	first, one := show(shown{}, view[0])
	one.kept = true
	second, three := show(one, view...)
	three.kept = true
	whole, _ := show(shown{}, view...)
	if len(second.GetView()) != 2 || second.GetEarlierViewDigest() != first.GetViewDigest() || second.GetViewDigest() != whole.GetViewDigest() {
		t.Errorf("a longer view: got %v, want what is new under the name of the whole, %s", second, whole.GetViewDigest())
	}
	if again, _ := show(three, view...); len(again.GetView()) != 0 || again.GetEarlierViewDigest() != again.GetViewDigest() {
		t.Errorf("the same view again: got %v, want its name alone", again)
	}
	other := []*worldv1.Message{view[0], line(1, agent, user, "other", true), view[2]}
	changed, _ := show(three, other...)
	if len(changed.GetView()) != 3 || changed.GetEarlierViewDigest() != "" || changed.GetViewDigest() == whole.GetViewDigest() {
		t.Errorf("a view with another message in it: got %v, want all of it under another name", changed)
	}
	if shorter, _ := show(three, view[0]); len(shorter.GetView()) != 1 || shorter.GetViewDigest() != first.GetViewDigest() {
		t.Errorf("a shorter view: got %v, want all of it", shorter)
	}
	for range maxMisses {
		three = three.missed(second)
	}
	if len(second.GetView()) != 3 || second.GetEarlierViewDigest() != "" {
		t.Errorf("a request that was not understood: got %v, want all of the view", second)
	}
	if given, _ := show(three, view...); len(given.GetView()) != 3 || given.GetViewDigest() != "" {
		t.Errorf("after %d misses: got %v, want the whole view without a name", maxMisses, given)
	}
}

// TestLongCalls writes calls at once that may not fit into one entry with their answers.
func TestLongCalls(t *testing.T) {
	s := newStage(t)
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		if req.GetRole() != agent || req.GetTurn() > 0 {
			return nil, nil
		}
		return &agentgwv1.RespondResponse{Messages: []*worldv1.Message{line(req.GetIndex(), agent, env, strings.Repeat("x", maxWaiting), true)}}, nil
	}
	s.enqueue(t, 0, "s.0")
	run(t.Context(), t, s.worker(t, nil, nil))
	s.ended(t, "s.0")
	entries := s.entries(t, "s.0")
	if len(entries) != 5 || entries[1].GetAnswers() != nil || entries[2].GetTurn().GetMessages()[0].GetSender() != env || entries[4].GetAnswers() == nil {
		t.Errorf("entries: got %d, want the long calls and their answers in two, the short ones in one", len(entries))
	}
}
