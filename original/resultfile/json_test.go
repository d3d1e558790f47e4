package resultfile

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/python"
)

// TestWriteDocuments compares random documents with the same text indented by encoding/json.
func TestWriteDocuments(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		document, want := randomContainer(random, 4, '[', ']', func(_ int, text string) string { return text }, func(parts []any) any { return parts })
		var compact bytes.Buffer
		if got, err := (object{{"k", document}}).MarshalJSON(); err != nil || json.Compact(&compact, got) != nil || compact.String() != `{"k":`+want+"}" {
			t.Fatalf("got %s (%v), want %s", got, err, want)
		}
		for _, indent := range []string{"  ", "    "} {
			var indented bytes.Buffer
			if err := json.Indent(&indented, []byte(want), "", indent); err != nil {
				t.Fatal(err)
			}
			if got, err := encodeDocument(document, indent); err != nil || string(got) != indented.String() {
				t.Fatalf("got %s (%v), want %s", got, err, indented.String())
			}
		}
	}
}

// randomDocument returns a random document of a depth, and its JSON without spaces.
func randomDocument(random *rand.Rand, depth int) (document any, text string) {
	kind := random.IntN(10)
	if depth == 0 {
		kind = random.IntN(7)
	}
	switch kind {
	case 0:
		return nil, "null"
	case 1:
		return random.IntN(2) == 1, ""
	case 2:
		number := float64(random.IntN(100)) / 8
		return Finite(python.Float(number)), python.FormatFloat(number)
	case 3:
		return []string{"a", "<b>"}, `["a","<b>"]`
	case 4:
		return json.RawMessage(`{"k":[1,{}]}`), `{"k":[1,{}]}`
	case 5:
		return proto.String("x & \u2028\"\\\n\x01é\U0001f600"), "\"x & \u2028" + `\"\\\n\u0001é` + "\U0001f600" + `"`
	case 6:
		return []any(nil), "null"
	case 7:
		return randomContainer(random, depth, '{', '}', func(i int, text string) string { return `"<` + strconv.Itoa(i) + `>":` + text }, func(parts []any) any {
			made := object{}
			for i, part := range parts {
				made = append(made, member{"<" + strconv.Itoa(i) + ">", part})
			}
			return made
		})
	default:
		return randomContainer(random, depth, '[', ']', func(_ int, text string) string { return text }, func(parts []any) any { return parts })
	}
}

func randomContainer(random *rand.Rand, depth int, open, end byte, write func(int, string) string, build func([]any) any) (document any, text string) {
	parts, texts := []any{}, []string{}
	for i := range random.IntN(4) {
		part, text := randomDocument(random, depth-1)
		if text == "" {
			raw, err := json.Marshal(part)
			if err != nil {
				return nil, err.Error()
			}
			text = string(raw)
		}
		parts, texts = append(parts, part), append(texts, write(i, text))
	}
	return build(parts), string(open) + strings.Join(texts, ",") + string(end)
}
