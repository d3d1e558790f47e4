package toolserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// fragileServer is the argument with which the test program is an MCP server whose tools may end
// it.
const fragileServer = "fragile-server"

// serveFragile answers calls of the tool fine. The tool die ends the program, babble writes what is
// no JSON, and hang answers nothing more.
func serveFragile(in io.Reader, out io.Writer) (code int) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			return 2
		}
		result := `{"content": [{"type": "text", "text": "fine"}]}`
		switch {
		case request.Method == "initialize":
			result = `{"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "fragile", "version": "1"}}`
		case request.ID == nil:
			continue
		case request.Params.Name == "die":
			return 3
		case request.Params.Name == "hang":
			_, _ = io.Copy(io.Discard, in)
			return 0
		case request.Params.Name == "babble":
			result = "no JSON"
		}
		if _, err := fmt.Fprintf(out, "{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": %s}\n", request.ID, result); err != nil {
			return 4
		}
	}
	return 0
}

// TestFragileServer calls a tool that ends the server, breaks the protocol or hangs, while others
// call the same server. Only the call itself fails. The one that hangs has less time than the
// others.
func TestFragileServer(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tool string
		want error
		text string
	}{
		{"die", ErrUnavailable, "it ended"}, {"babble", ErrProtocol, "no JSON-RPC"}, {"hang", ErrUnavailable, "no answer within"},
	} {
		t.Run(test.tool, func(t *testing.T) {
			t.Parallel()
			c := newTestClient(t, Target{Command: []string{program, fragileServer}}, patience)
			hurried := &Client{cfg: c.cfg, shared: map[string]*cacheEntry{"desk": c.sharedEntry("desk")}, alone: c.alone}
			if test.tool == "hang" {
				hurried.cfg.Timeout = time.Second
			}
			var calls sync.WaitGroup
			bad := make(chan struct{})
			for range 8 {
				calls.Go(func() {
					for n := 0; ; n++ {
						body, err := c.Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: "fine"}, "{}"))
						if err != nil || !strings.Contains(body, "fine") {
							t.Errorf("call %d beside %s: got %q and %v, want its answer", n, test.tool, body, err)
							return
						}
						select {
						case <-bad:
							return
						default:
						}
					}
				})
			}
			_, err := hurried.Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: test.tool}, "{}"))
			close(bad)
			calls.Wait()
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: got %v, want %v with %q", test.tool, err, test.want, test.text)
			}
			if _, err := c.Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: "fine"}, "{}")); err != nil {
				t.Errorf("call after %s: got %v, want its answer", test.tool, err)
			}
		})
	}
}
