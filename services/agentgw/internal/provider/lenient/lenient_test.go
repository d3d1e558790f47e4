package lenient

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadID(t *testing.T) {
	for field, want := range map[string]*string{
		``: nil, `null`: nil, `""`: new(""), `"a"`: new("a"), `0`: new("0"), `-7`: new("-7"), `1e3`: new("1e3"), `{}`: nil, `[1]`: nil, `true`: nil,
	} {
		if diff := cmp.Diff(want, ReadID(json.RawMessage(field))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}

// TestSplitThinking splits reasoning off a text.
func TestSplitThinking(t *testing.T) {
	for text, want := range map[string][2]string{
		"":                                    {"", ""},
		" a < b ":                             {"", " a < b "},
		"<think>\nhm\n</think>\n\nYes. ":      {"hm", "Yes."},
		"hm\n</think>Yes.":                    {"hm", "Yes."},
		"<think></think>Yes.":                 {"", "Yes."},
		"Well. <think>hm":                     {"hm", "Well."},
		"<think>a</think>b<think>c</think> d": {"a\nc", "b d"},
		"<THINKING>hm</Thinking>Yes.":         {"hm", "Yes."},
		"[THINK]hm[/THINK]Yes.":               {"hm", "Yes."},
		"<think>a<think>b</think>Yes.":        {"a\nb", "Yes."},
		"<think>only":                         {"only", ""},
		"Yes.</think>":                        {"Yes.", ""},
		"<thinker>hm</thinker>":               {"", "<thinker>hm</thinker>"},
	} {
		reasoning, said := SplitThinking(text)
		if diff := cmp.Diff(want, [2]string{reasoning, said}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestEvents reads streams and nothing else.
func TestEvents(t *testing.T) {
	for body, want := range map[string][]string{
		"data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\n":         {`{"a":1}`, `{"b":2}`},
		": hello\r\nevent: x\r\ndata:{\"a\":\r\ndata:1}\r\n\r\ndata: {}": {`{"a":1}`, `{}`},
		"\n\nretry: 5\n\ndata: 1\n":                                      {"1"}, `{"data":1}`: nil, "data": nil, "": nil,
	} {
		list, _, ok := events([]byte(body))
		var got []string
		for _, event := range list {
			got = append(got, string(event))
		}
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%q: a stream: %t (-want +got):\n%s", body, ok, diff)
		}
	}
}

// TestUsage reads counts of any form, and never fails.
func TestUsage(t *testing.T) {
	fields := UsageFields{
		Input: Count{{"in"}, {"more"}}, Cached: []Count{Field("d", "cached"), Field("hit")}, Output: Field("out"), Total: Field("total"),
	}
	for usage, want := range map[string]string{
		`{"in":5,"more":2,"out":"4","d":{"cached":3}}`: "7/3/4", `{"in":1e300,"out":-4}`: "1099511627776/0/0", `{"in":"NaN"}`: "", `{}`: "", `5`: "", ``: "", `null`: "",
		`{"in":1,"d":5}`: "1/0/0", `{"in":9,"hit":4}`: "9/4/0", `{"in":9,"hit":4,"d":{"cached":0}}`: "9/0/0",
		`{"in":9,"out":2,"total":30}`: "9/0/21", `{"in":9,"out":2,"total":3}`: "9/0/2", `{"out":2,"total":30}`: "0/0/2", `{"total":30}`: "",
	} {
		got := ""
		if u := fields.Read(json.RawMessage(usage)); u != nil {
			got = fmt.Sprintf("%d/%d/%d", u.GetInputTokens(), u.GetCachedTokens(), u.GetOutputTokens())
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", usage, got, want)
		}
	}
}

// TestMergeReach checks that a piece continues none of the elements before the last ones.
func TestMergeReach(t *testing.T) {
	var list []any
	for i := range reach + 1 {
		list = mergeList(list, []any{map[string]any{"index": json.Number(strconv.Itoa(i))}})
	}
	list = mergeList(list, []any{map[string]any{"index": json.Number("1"), "id": "near"}, map[string]any{"index": json.Number("0"), "id": "far"}})
	if near, far := At(list[1], "id"), At(list[0], "id"); near != "near" || far != nil || len(list) != reach+2 {
		t.Errorf("got %v, %v and %d elements, want a piece of the element in reach and one by itself", near, far, len(list))
	}
}
