package row

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// TestDictLiteral checks that arguments render as in the original's messages, and that the
// original's messages are read as they are. Texts are left out: the original writes them without
// quotes, so that they are code.
func TestDictLiteral(t *testing.T) {
	t.Parallel()
	file, err := os.Open(vectortest.Dir(t, "tools/dict_literal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	checked, lines := 0, bufio.NewScanner(file)
	for line := 1; lines.Scan(); line++ {
		var c struct{ Arguments, Content string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		call := jsonCall(proto.String("call_1"), "search_contacts", c.Arguments)
		value, err := messagetext.Arguments(call)
		if err != nil || c.Arguments == "" || value.Kind() == python.KindStr {
			continue
		}
		checked++
		if got := messagetext.Source(call); got != c.Content {
			t.Errorf("line %d: Source = %q, want %q", line, got, c.Content)
		}
		m := &worldv1.Message{Sender: agent, Recipient: environment}
		if err := (Row{Content: &c.Content, ToolCallID: proto.String("call_1")}).SetBody(m); err != nil {
			t.Errorf("line %d: SetBody: %v", line, err)
		}
		read, err := messagetext.Arguments(m.GetCall())
		if m.GetCall().GetTool() != "search_contacts" || err != nil || python.Repr(read) != python.Repr(value) {
			t.Errorf("line %d: got %v, want a call with %s", line, m, python.Repr(value))
		}
	}
	if err := lines.Err(); err != nil || checked == 0 {
		t.Fatalf("%d lines checked, error %v", checked, err)
	}
}
