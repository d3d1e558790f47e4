package tool

import (
	"context"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// userTools returns the tools of the simulated user.
func userTools() []*Tool {
	return []*Tool{{
		Name: "end_conversation", Module: "user_tools", User: true,
		Description: "Ends the conversation for good.",
		Run: func(_ context.Context, w *session.World, _ Args) (python.Value, error) {
			if !w.Active() {
				return python.Value{}, raise("ValueError", "Conversation already ended")
			}
			w.SetActive(false)
			return python.None(), nil
		},
	}}
}
