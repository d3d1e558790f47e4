package toolhost

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// filling is a session that executes until the disk is full.
type filling struct {
	id           string
	acknowledged []*toolhostv1.ExecuteResponse
	failed       error
}

// step returns the i-th request of a session: it adds one large contact.
func (f *filling) step(i int) *toolhostv1.ExecuteRequest {
	request := &toolhostv1.ExecuteRequest{SessionId: f.id, Index: int32(3 + 2*i)}
	request.Calls = append(request.Calls, addContact(request.GetIndex()-1, f.contact(i)))
	return request
}

// contact returns the name of the i-th step's contact.
func (f *filling) contact(i int) string {
	return fmt.Sprintf("%s %d %s", f.id, i, strings.Repeat("x", 2000))
}

// fill executes steps until one fails.
func (f *filling) fill(ctx context.Context, client toolhostv1.ToolHostServiceClient) {
	for {
		response, err := client.Execute(ctx, f.step(len(f.acknowledged)))
		if err != nil {
			f.failed = err
			return
		}
		f.acknowledged = append(f.acknowledged, response)
	}
}

// smallDisk is the number of bytes of the small disk.
const smallDisk = 512 << 10

// TestFullDisk limits the size of the tool host's file.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	testFullDisk(t, func(natsURL string, space int) *child {
		return startProcess(t, natsURL, dir, space, (*exec.Cmd).Start)
	})
}

// testFullDisk writes in several sessions until the disk is full: the tool host ends with a
// one-line error. Afterwards everything acknowledged can be read. With more space it is there once
// and all sessions continue. start starts a tool host on the same disk with some space, 0 for
// enough.
func testFullDisk(t *testing.T, start func(natsURL string, space int) *child) {
	t.Helper()
	natsURL, conn := natstest.Listen(t)
	published := natstest.Open(t, conn, bus.DefaultConfig())
	full := start(natsURL, smallDisk)
	sessions := fillDisk(t, full.client)
	wantFailedCommit(t, full)

	still := start(natsURL, smallDisk)
	for _, f := range sessions {
		wantAcknowledged(t, still.client, f)
	}
	still.stop(t)

	more := start(natsURL, 0)
	for _, f := range sessions {
		wantAcknowledged(t, more.client, f)
		wantContinuation(t, more.client, f)
		wantAnnounced(t, published, f)
	}
	more.stop(t)
}

// fillDisk creates sessions and executes in all of them concurrently until each has failed.
func fillDisk(t *testing.T, client toolhostv1.ToolHostServiceClient) []*filling {
	t.Helper()
	var sessions []*filling
	for i := range 8 {
		f := &filling{id: fmt.Sprintf("full.%d", i)}
		create(t, client, f.id, smallSetup("small"))
		sessions = append(sessions, f)
	}
	var group sync.WaitGroup
	for _, f := range sessions {
		group.Go(func() { f.fill(t.Context(), client) })
	}
	group.Wait()
	steps := 0
	for _, f := range sessions {
		if got := status.Code(f.failed); got != codes.Unavailable {
			t.Errorf("session %s on a full disk: got %v, want %v", f.id, f.failed, codes.Unavailable)
		}
		steps += len(f.acknowledged)
	}
	if steps == 0 {
		t.Error("steps before the disk was full: got none, want some")
	}
	return sessions
}

// wantFailedCommit waits for the end of a tool host whose commit failed.
func wantFailedCommit(t *testing.T, p *child) {
	t.Helper()
	code, lines := p.wait(t)
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "time=") }) // the log
	if code != process.ExitFailure || len(lines) != 1 || !strings.HasPrefix(lines[0], "toolhost: ") || !strings.Contains(lines[0], storeFile) {
		t.Errorf("end: got exit code %d and %q, want %d and one line that names %s", code, lines, process.ExitFailure, storeFile)
	}
}

// wantAcknowledged repeats every acknowledged step.
func wantAcknowledged(t *testing.T, client toolhostv1.ToolHostServiceClient, f *filling) {
	t.Helper()
	for i, acknowledged := range f.acknowledged {
		response, err := client.Execute(t.Context(), f.step(i))
		if err != nil {
			t.Fatalf("session %s, step %d after the restart: %v", f.id, i, err)
		}
		if !proto.Equal(acknowledged, response) {
			t.Errorf("session %s, step %d (-acknowledged +repeated):\n%s", f.id, i, cmp.Diff(acknowledged, response, protocmp.Transform()))
		}
	}
}

// wantContinuation repeats the failed step, executes one more, and finds the contact of every step
// once.
func wantContinuation(t *testing.T, client toolhostv1.ToolHostServiceClient, f *filling) {
	t.Helper()
	for range 2 {
		step := len(f.acknowledged)
		response, err := client.Execute(t.Context(), f.step(step))
		if err != nil {
			t.Fatalf("session %s, step %d after the restart: %v", f.id, step, err)
		}
		f.acknowledged = append(f.acknowledged, response)
	}
	want := []string{"Ann"}
	for i := range f.acknowledged {
		want = append(want, f.contact(i))
	}
	if diff := cmp.Diff(want, names(t, client, f.id, f.step(len(f.acknowledged)-1).GetIndex())); diff != "" {
		t.Errorf("session %s: contacts (-want +got):\n%s", f.id, diff)
	}
}

// wantAnnounced finds the version of the contacts of every step on the bus.
func wantAnnounced(t *testing.T, published *bus.Bus, f *filling) {
	t.Helper()
	snapshots, err := published.ReadSnapshots(t.Context(), f.id)
	if err != nil {
		t.Fatalf("read snapshots: %v", err)
	}
	rows := make(map[int32]int)
	for _, snapshot := range snapshots {
		for _, table := range snapshot.GetTables() {
			rows[table.GetIndex()] = len(table.GetRows())
		}
	}
	for i := range f.acknowledged {
		if got, want := rows[f.step(i).GetIndex()], i+2; got != want {
			t.Errorf("session %s, step %d: announced with %d contacts, want %d", f.id, i, got, want)
		}
	}
}
