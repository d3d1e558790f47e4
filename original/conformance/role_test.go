package conformance

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestRoleVectors decodes every line of every kind and its setup.
func TestRoleVectors(t *testing.T) {
	for _, k := range roleKinds() {
		file := vectortest.Dir(t, filepath.Join("roles", k.file))
		if got, err := detectKind(file); err != nil || got.name+vectorSuffix != k.file {
			t.Errorf("detectKind %s: got %q and %v", file, got.name, err)
		}
		vectortest.Lines(t, file, func(number int, raw []byte) {
			c, err := decodeRole(raw)
			if err != nil {
				t.Errorf("%s:%d: %v", file, number, err)
				return
			}
			if _, err := c.setup(k.role); err != nil {
				t.Errorf("%s:%d: %v", file, number, err)
			}
			if c.Request == nil {
				return
			}
			model := k.player("http://h", c.Request).GetModel()
			if model.GetModel() == placeholderModel || !strings.HasPrefix(model.GetBaseUrl(), "http://h") {
				t.Errorf("%s:%d: got player %v, want the request's model", file, number, model)
			}
		})
	}
}

func TestDecodeRoleErrors(t *testing.T) {
	for line, want := range map[string]string{
		`{`: "unexpected end", `{"expect": "equal", "result": []}`: "has no conversation",
		`{"expect": "x", "conversation": [{"sender": "USER", "recipient": "AGENT"}]}`:            `unknown expect "x"`,
		`{"expect": "equal", "conversation": [{"sender": "X", "recipient": "AGENT"}]}`:           `unknown sender "X"`,
		`{"expect": "equal", "result": [{"sender": "USER", "recipient": "AGENT", "index": ""}]}`: "cannot unmarshal",
	} {
		if _, err := decodeRole([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("decodeRole(%s): got %v, want %q", line, err, want)
		}
	}
}

func TestStructure(t *testing.T) {
	tests := []struct {
		want, got string
		differ    int
	}{
		{`{"a": [1, "x", null], "b": {"sha256": "0", "chars": 3}}`, `{"b": "any", "a": [1.0, "x", null]}`, 0},
		{`{"a": {"sha256": "0", "chars": 3}}`, `{"a": {"sha256": "0", "chars": 3}}`, 0},
		{`{"a": {"sha256": "0", "chars": 3}}`, `{"a": 3}`, 1},
		{`{"a": 1}`, `{"a": "1"}`, 1},
		{`{"a": 1}`, `{"b": 1}`, 2},
		{`[1, 2]`, `[1]`, 1},
		{`{}`, `[]`, 1},
		{`"a«prose:3»b«prose:1»"`, `"a\nxb"`, 0},
		{`"a«prose:3»b"`, `"axc"`, 1},
		{`"a.c"`, `"abc"`, 1},
		{`true`, `null`, 1},
		{`10000000000000000000000`, `1e22`, 0},
	}
	for _, test := range tests {
		want, err := decodeJSON([]byte(test.want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeJSON([]byte(test.got))
		if err != nil {
			t.Fatal(err)
		}
		var c comparison
		c.structure("body", want, got)
		if len(c.differences) != test.differ {
			t.Errorf("want %s, got %s: got %d differences, want %d: %+v", test.want, test.got, len(c.differences), test.differ, c.differences)
		}
	}
}

func TestRequest(t *testing.T) {
	k := roleKind{sampling: []string{"temperature"}}
	want := &roleRequest{Method: "POST", Path: "/p?q", Headers: map[string]string{"authorization": "a", "x": "1"}, Body: json.RawMessage(`{"m": 1, "temperature": 0}`)}
	got := &roleRequest{Method: "POST", Path: "/p", Headers: map[string]string{}, Body: json.RawMessage(`{"m": 1}`)}
	for compat, differ := range map[bool]int{false: 0, true: 3} {
		var c comparison
		c.request(k, want, []*roleRequest{got}, compat)
		if len(c.differences) != differ {
			t.Errorf("compat %t: got %+v, want %d differences", compat, c.differences, differ)
		}
	}
	for _, test := range []struct {
		want *roleRequest
		got  []*roleRequest
		same bool
	}{{nil, nil, true}, {want, nil, false}, {nil, []*roleRequest{got}, false}} {
		var c comparison
		c.request(k, test.want, test.got, false)
		if (len(c.differences) == 0) != test.same {
			t.Errorf("want %v, got %v: got %+v, want none: %t", test.want, test.got, c.differences, test.same)
		}
	}
}

func TestAlignIDs(t *testing.T) {
	message := func(id, arguments string) *worldv1.Message {
		return &worldv1.Message{Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{
			Id: &id, Tool: "f", Variable: proto.String("f"), ArgumentsJson: arguments,
		}}}
	}
	const drawnA, drawnB = "00000000-0000-4000-8000-000000000001", "e0af4d1c-2b52-5b10-9a1b-0d7c6c3d9d10"
	want := message(drawnA, `{"a": 1, "b": [{"c": 1.5, "d": null}]}`)
	tests := []struct {
		got  *worldv1.Message
		same bool
	}{
		{message(drawnB, `{"b": [{"d": null, "c": 1.5}], "a": 1}`), true},
		{message(drawnB, `{"b": [{"d": null, "c": 1.5}], "a": 1.0}`), false},
		{message(drawnB, `{"a": 1}`), false},
		{message("call_1", `{"a": 1, "b": [{"c": 1.5, "d": null}]}`), false},
	}
	for _, test := range tests {
		var c comparison
		c.compareRoleMessages(roleKind{unordered: true}, []*worldv1.Message{want}, []*worldv1.Message{test.got}, sameKinds)
		if (len(c.differences) == 0) != test.same {
			t.Errorf("%v: got %+v, want none: %t", test.got, c.differences, test.same)
		}
	}
}

// TestEarlierMessages checks that 5 matches 5.0 in earlier turns of Gemini only, where the original
// converted integers to floats.
func TestEarlierMessages(t *testing.T) {
	message := func(arguments string) []*worldv1.Message {
		return []*worldv1.Message{{Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Tool: "f", ArgumentsJson: arguments}}}}
	}
	for _, test := range []struct {
		want, got string
		unordered bool
		same      bool
	}{
		{`{"a": 5.0, "b": [{"c": -1.0}]}`, `{"b": [{"c": -1}], "a": 5}`, true, true},
		{`{"a": 5.0}`, `{"a": 5}`, false, false},
		{`{"a": 5.0}`, `{"a": 6}`, true, false},
		{`{"a": 1.0}`, `{"a": true}`, true, false},
		{`{"a": 1.0}`, `{"a": "1"}`, true, false},
		{`{"a": 1e300}`, `{"a": 1}`, true, false},
	} {
		var c comparison
		c.compareRoleMessages(roleKind{unordered: test.unordered}, message(test.want), message(test.got), sameNumbers)
		if (len(c.differences) == 0) != test.same {
			t.Errorf("want %s, got %s, unordered %t: got %+v, want none: %t", test.want, test.got, test.unordered, c.differences, test.same)
		}
	}
}

// TestRoleServer checks that the server sends answers in order, repeats the last one and records
// the requests.
func TestRoleServer(t *testing.T) {
	server, err := startRoleServer()
	if err != nil {
		t.Fatal(err)
	}
	text := "plain"
	server.setAnswers([]roleAnswer{
		{NetworkError: "connect"}, {Status: 429, Headers: map[string]string{"retry-after": "7"}}, {Text: &text},
	})
	var got []string
	for range 4 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.address+"/p?q", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Close = true // a client retries by itself if a reused connection fails
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			got = append(got, "error")
			continue
		}
		got = append(got, response.Status+" "+response.Header.Get("Retry-After")+response.Header.Get("Content-Type"))
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	const want = "error, 429 Too Many Requests 7application/json, 200 OK text/plain, 200 OK text/plain"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if seen := server.received(); len(seen) != 4 || seen[0].Path != "/p?q" || string(seen[0].Body) != "{}" {
		t.Errorf("got %d requests, want 4 as they were sent", len(seen))
	}
	if err := server.close(); err != nil {
		t.Error(err)
	}
}
