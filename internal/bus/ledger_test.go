package bus_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natstest"
)

func TestLedgerComparesAndSwaps(t *testing.T) {
	b := natstest.Start(t)
	ctx := t.Context()
	ledger := b.Ledger
	if raw, revision, err := ledger.Read(ctx, "budget.a-1"); raw != nil || revision != 0 || err != nil {
		t.Errorf("Read before any: got %q, %d, %v, want nothing", raw, revision, err)
	}
	const writers, rounds = 4, 25
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for done := 0; done < rounds; {
				raw, revision, err := ledger.Read(ctx, "budget.a-1")
				if err != nil {
					t.Error(err)
					return
				}
				count, _ := strconv.Atoi(string(raw))
				switch err := ledger.Write(ctx, "budget.a-1", []byte(strconv.Itoa(count+1)), revision); {
				case err == nil:
					done++
				case !errors.Is(err, bus.ErrFenced):
					t.Errorf("Write: got %v, want nil or ErrFenced", err)
					return
				}
			}
		})
	}
	group.Wait()
	raw, revision, err := ledger.Read(ctx, "budget.a-1")
	if want := strconv.Itoa(writers * rounds); err != nil || string(raw) != want {
		t.Errorf("Read at the end: got %q, %v, want %s", raw, err, want)
	}
	if err := ledger.Write(ctx, "budget.a-1", nil, revision-1); !errors.Is(err, bus.ErrFenced) {
		t.Errorf("Write on an old revision: got %v, want ErrFenced", err)
	}
	if err := ledger.Write(ctx, "no name", nil, 0); err == nil || errors.Is(err, bus.ErrFenced) {
		t.Errorf("Write under a name with a space: got %v, want an error of its own", err)
	}
}
