// Package rowtest makes messages of rows for tests.
package rowtest

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/original/row"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Message returns the message that a row with this content becomes: a call, code, a result or a
// text. It panics if there is none.
func Message(from, to worldv1.Role, content string) *worldv1.Message {
	return Read(from, to, row.Row{Content: &content})
}

// Read returns the message that a row becomes. It panics if there is none.
func Read(from, to worldv1.Role, cells row.Row) *worldv1.Message {
	m := &worldv1.Message{Sender: from, Recipient: to}
	if err := cells.SetBody(m); err != nil {
		panic(fmt.Sprintf("row %+v: %v", cells, err))
	}
	return m
}
