package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// literalCallID and literalTool are the id and tool of the calls in literal vectors.
	literalCallID = "call_1"
	literalTool   = "search_contacts"
)

// openRepr compares the text of JSON values as Python prints them. No service is needed.
func openRepr(_ context.Context, r *Runner, _ string) (fileRunner, error) {
	return r.perCase(func(_ context.Context, l line) outcome {
		var recorded struct {
			JSON json.RawMessage
			Repr string
		}
		if err := json.Unmarshal(l.raw, &recorded); err != nil {
			return outcome{differences: errorDifference(fmt.Errorf("decode repr: %w", err))}
		}
		value, err := python.ParseJSON([]byte(recorded.JSON))
		if err != nil {
			return outcome{differences: errorDifference(err)}
		}
		var c comparison
		c.text("repr", recorded.Repr, python.Repr(value))
		return outcome{differences: c.differences}
	}), nil
}

// openLiteral compares call messages. No service is needed.
func openLiteral(_ context.Context, r *Runner, _ string) (fileRunner, error) {
	return r.perCase(func(_ context.Context, l line) outcome {
		var recorded struct {
			Arguments, Literal, Content, Exception string
			ExceptionType                          string `json:"exception_type"`
		}
		if err := json.Unmarshal(l.raw, &recorded); err != nil {
			return outcome{differences: errorDifference(fmt.Errorf("decode literal: %w", err))}
		}
		var c comparison
		value, err := python.ParseJSON(recorded.Arguments)
		exception := ""
		if err != nil {
			exception = err.Error()
		}
		c.text("exception", recorded.Exception, exception)
		if err == nil && recorded.ExceptionType == "" {
			text, isText := value.AsStr()
			if isText { // the original runs it as code
				c.text("content", recorded.Content, messagetext.ComposeSource(literalCallID, literalTool, text))
				return outcome{differences: c.differences}
			}
			call := &worldv1.ToolCall{Id: proto.String(literalCallID), Tool: literalTool, ArgumentsJson: recorded.Arguments}
			c.text("content", recorded.Content, messagetext.Source(call))
			c.text("literal", recorded.Literal, python.Repr(value))
		}
		return outcome{differences: c.differences}
	}), nil
}
