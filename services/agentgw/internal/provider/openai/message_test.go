package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// TestAlternating checks that a simulated user's conversation at a compatible server begins with a
// user and alternates.
func TestAlternating(t *testing.T) {
	entry := func(kind conversation.Kind, text string) conversation.Entry {
		return conversation.Entry{Kind: kind, Text: text}
	}
	transcript := []conversation.Entry{
		entry(conversation.System, "s"), entry(conversation.Assistant, "a"), entry(conversation.Assistant, "b"), entry(conversation.User, "c"), entry(conversation.User, "d"),
	}
	for _, test := range []struct {
		query provider.Query
		want  string
	}{
		{provider.Query{PlaysUser: true, Alternating: true}, `system "s" user "Hello." assistant "a\n\nb" user "c\n\nd"`},
		{provider.Query{PlaysUser: true}, `system "s" assistant "a" assistant "b" user "c" user "d"`},
		{provider.Query{PlaysUser: true, Compat: true}, `system "s" assistant "a" assistant "b" user "c" user "d"`},
		{provider.Query{}, `system "s" assistant "a" assistant "b" user "c" user "d"`},
	} {
		test.query.Transcript = transcript
		var got []string
		for _, sent := range messages(&test.query) {
			text, ok := sent.(*message)
			if !ok {
				t.Fatalf("got %T, want a text", sent)
			}
			got = append(got, fmt.Sprintf("%s %q", text.Role, text.Content))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.query, diff)
		}
	}
}
