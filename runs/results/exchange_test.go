package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

func TestWriteExchanges(t *testing.T) {
	dir := t.TempDir()
	request := "{\"messages\": [\n  \"<b>\"]}"
	err := WriteExchanges(dir, "wifi", []Exchange{
		{Index: 2, Data: &agentgwv1.Exchange{
			Provider: "openai", Model: "m", Path: "/chat/completions",
			Request: []byte(request), RequestBytes: int64(len(request)),
			Attempts: []*agentgwv1.Attempt{
				{Failure: "no answer within 1s"},
				{Status: 200, Answer: []byte("{\xff"), AnswerBytes: 2, Failure: "answer cannot be read"},
				{Status: 200, Answer: []byte("\"\xff\""), AnswerBytes: 3},
				{Status: 200, Answer: []byte(`{"text": "hi"}`), AnswerBytes: 14},
			},
			Usage: &agentgwv1.Usage{InputTokens: 4, CachedTokens: 3, OutputTokens: 2, ReasoningTokens: 1},
		}},
		{Index: 5, Data: &agentgwv1.Exchange{
			Provider: "cohere-prompted", Model: "m", Path: "/completions", Request: []byte(`{"a`), RequestBytes: 90,
			Attempts: []*agentgwv1.Attempt{{Status: 200, Answer: []byte(`{"b`), AnswerBytes: 80}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, TrajectoriesDirectory, "wifi", exchangesFile))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"index":2,"provider":"openai","model":"m","path":"/chat/completions","request":{"messages":["<b>"]},"attempts":[` +
			`{"status":0,"failure":"no answer within 1s"},{"status":200,"answer":"{` + "\ufffd" + `","failure":"answer cannot be read"},` +
			`{"status":200,"answer":"\"` + "\ufffd" + `\""},` +
			`{"status":200,"answer":{"text":"hi"}}],"usage":{"input_tokens":4,"cached_tokens":3,"output_tokens":2,"reasoning_tokens":1}}`,
		`{"index":5,"provider":"cohere-prompted","model":"m","path":"/completions","request":"{\"a","request_bytes":90,` +
			`"attempts":[{"status":200,"answer":"{\"b","answer_bytes":80}]}`,
		"",
	}
	if diff := cmp.Diff(want, strings.Split(string(raw), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTurns reads what exchanges say about turns, and names a line that is none.
func TestTurns(t *testing.T) {
	dir := t.TempDir()
	answer := []byte(`{"choices": [{"message": {"reasoning": "Hm."}}]}`)
	if err := WriteExchanges(dir, "wifi", []Exchange{
		{Index: 2, Data: &agentgwv1.Exchange{
			Attempts: []*agentgwv1.Attempt{{Status: 500, Failure: "no"}, {Status: 200, Answer: answer, AnswerBytes: int64(len(answer))}},
			Usage:    &agentgwv1.Usage{InputTokens: 4, CachedTokens: 3, OutputTokens: 2, ReasoningTokens: 1},
		}},
		{Index: 5, Data: &agentgwv1.Exchange{Attempts: []*agentgwv1.Attempt{{Status: 200, Answer: answer[:9], AnswerBytes: 80}}}},
		{Index: 7, Data: &agentgwv1.Exchange{}},
	}); err != nil {
		t.Fatal(err)
	}
	reader, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.Turns("wifi")
	want := map[int]Turn{2: {"Hm.", &agentgwv1.Usage{InputTokens: 4, CachedTokens: 3, OutputTokens: 2, ReasoningTokens: 1}}, 5: {}, 7: {}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("got %v, (-want +got):\n%s", err, diff)
	}
	if got, err := reader.Turns("none"); err != nil || len(got) > 0 {
		t.Errorf("no exchanges: got %v and %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, TrajectoriesDirectory, "wifi", exchangesFile), []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Turns("wifi"); err == nil || !strings.Contains(err.Error(), "read exchanges of wifi") {
		t.Errorf("damaged: got %v", err)
	}
}
