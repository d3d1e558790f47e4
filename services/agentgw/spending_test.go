package agentgw

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
)

// lostAck stores the first turn, but its acknowledgement is lost.
type lostAck struct {
	*bus.Bus
	lost bool
}

func (l *lostAck) RecordTurn(ctx context.Context, turn bus.TurnRecord) error {
	err := l.Bus.RecordTurn(ctx, turn)
	if err == nil && !l.lost {
		l.lost, err = true, bus.ErrExists
	}
	return err
}

// TestLostAcknowledgement records a turn without an answer whose requests may be charged. What they
// cost counts once, also if the acknowledgement of the record is lost.
func TestLostAcknowledgement(t *testing.T) {
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"choices":`) // the answer breaks off
	})
	var spent [2]bus.Cost
	for i, sweep := range []string{"calm", "lost"} {
		b := natstest.Start(t) // of its own, else the other gateway may play the turn
		server := newLimitedServer(t, b, func(*ratelimit.Config) {})
		recorder := &lostAck{Bus: b, lost: sweep == "calm"}
		server.recorder = recorder
		if got, err := server.Respond(t.Context(), turnRequest(sweep+".0", address)); status.Code(err) != codes.Aborted || !recorder.lost {
			t.Fatalf("%s: got %v and %v, want %s", sweep, got, err, codes.Aborted)
		}
		var err error
		if spent[i], _, err = b.Spending(t.Context(), sweep); err != nil {
			t.Fatal(err)
		}
	}
	if spent[0].Tokens == 0 || spent[1] != spent[0] {
		t.Errorf("spending: got %v after a lost acknowledgement, want %v as without", spent[1], spent[0])
	}
}

// TestCostOfTwoAnswers asks twice for a turn of which nothing is known to be recorded, as two
// gateways do. The first record wins, and what both answers cost counts.
func TestCostOfTwoAnswers(t *testing.T) {
	var asked atomic.Int64
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":"answer %d"}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, asked.Add(1))
	})
	b := natstest.Start(t)
	server := newLimitedServer(t, b, func(*ratelimit.Config) {})
	for range 2 {
		request := turnRequest("twice.0", address)
		request.Fresh = true
		got, err := server.Respond(t.Context(), request)
		if err != nil || messagetext.Content(got.GetMessages()[0]) != "answer 1" {
			t.Errorf("got %v and %v, want the first answer", got, err)
		}
	}
	if spent, _, err := b.Spending(t.Context(), "twice"); err != nil || spent.Tokens != asked.Load()*5 || asked.Load() != 2 {
		t.Errorf("spending: got %v and %v, want the tokens of two answers", spent, err)
	}
}
