package worker

import (
	"bytes"
	"context"
	"strings"
	"testing"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestViewDigest(t *testing.T) {
	view := []*worldv1.Message{line(0, user, agent, "a", true), line(1, agent, user, "b", true), line(2, user, agent, "c", true)}
	of := func(d viewDigest, view ...*worldv1.Message) viewDigest {
		t.Helper()
		next, err := d.extend(view)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	whole := of(viewDigest{}, view...)
	other := []*worldv1.Message{view[0], line(1, agent, user, "other", true), view[2]}
	for name, got := range map[string]viewDigest{
		"step by step": of(of(of(viewDigest{}, view[0]), view[:2]...), view...),
		"again":        of(whole, view...),
		"shorter once": of(of(whole, view[0]), view...),
		"after others": of(of(viewDigest{}, other...), view...),
	} {
		if !bytes.Equal(got.sum, whole.sum) {
			t.Errorf("%s: got %x, want %x", name, got.sum, whole.sum)
		}
	}
	for name, got := range map[string]viewDigest{"another message": of(whole, other...), "fewer": of(whole, view[:2]...), "other order": of(viewDigest{}, view[1], view[0], view[2])} {
		if bytes.Equal(got.sum, whole.sum) {
			t.Errorf("%s: got the digest of another view", name)
		}
	}
}

// TestCallsInTwoEntries writes calls at once that may not fit into one entry with their answers.
func TestCallsInTwoEntries(t *testing.T) {
	s := newStage(t)
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		if req.GetRole() != agent || req.GetTurn() > 0 {
			return nil, nil
		}
		return &agentgwv1.RespondResponse{Messages: []*worldv1.Message{line(req.GetIndex(), agent, env, strings.Repeat("x", maxUnwritten), true)}}, nil
	}
	s.enqueue(t, 0, "s.0")
	run(t.Context(), t, s.worker(t, nil, nil))
	s.ended(t, "s.0")
	entries := s.entries(t, "s.0")
	if len(entries) != 5 || len(entries[1].GetTurns()) != 1 || entries[2].GetTurns()[0].GetMessages()[0].GetSender() != env || len(entries[4].GetTurns()) != 2 {
		t.Errorf("entries: got %d, want the long calls and their answers in two, the short ones in one", len(entries))
	}
}
