package agentgw

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/governor"
)

// TestShortOutageIsShort lets a provider that has worked fail for a moment: all turns are played soon after, held or not.
func TestShortOutageIsShort(t *testing.T) {
	const turns, threshold = 50, 5
	var asked atomic.Int64
	address := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		if n := asked.Add(1); n > 1 && n <= 1+threshold {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, answer)
	})
	server := governed(t, natstest.Start(t), func(c *governor.Config) {
		c.Limits, c.BreakerFailures = map[string]governor.Limit{"openai": {Concurrency: 1}}, threshold
	})
	play := func(rollout string) error {
		for {
			got, err := server.Respond(t.Context(), turnOf(rollout, address))
			if err != nil || got.GetHold() == nil {
				return err
			}
		}
	}
	if err := play("s.first"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var group sync.WaitGroup
	for n := range turns {
		group.Go(func() {
			if err := play(fmt.Sprint("s.", n)); err != nil {
				t.Errorf("turn %d: got %v, want an answer", n, err)
			}
		})
	}
	group.Wait()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("after an outage of some 2 s: got all turns after %s, want them after some 6 s", took)
	}
}
