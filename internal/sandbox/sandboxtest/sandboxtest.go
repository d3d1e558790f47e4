// Package sandboxtest makes messages for tests.
package sandboxtest

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Message returns the message that a row with this content becomes: a call, code, a result or a
// text. It panics if there is none.
func Message(from, to worldv1.Role, content string) *worldv1.Message {
	return Read(from, to, sandbox.Row{Content: &content})
}

// Read returns the message that a row becomes. It panics if there is none.
func Read(from, to worldv1.Role, row sandbox.Row) *worldv1.Message {
	m := &worldv1.Message{Sender: from, Recipient: to}
	if err := row.SetBody(m); err != nil {
		panic(fmt.Sprintf("row %+v: %v", row, err))
	}
	return m
}
