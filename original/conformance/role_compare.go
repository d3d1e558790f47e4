package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// request compares the first request with the recorded one. If none is recorded, there must be no
// request. In compatible mode it also compares sampling parameters, headers and the path's query.
func (c *comparison) request(k roleKind, want *roleRequest, got []*roleRequest, compat bool) {
	if want == nil || len(got) == 0 {
		if (want == nil) != (len(got) == 0) {
			c.add("request", map[bool]string{true: "no request", false: "a request"}[want == nil], strconv.Itoa(len(got))+" requests")
		}
		return
	}
	first := got[0]
	c.text("request method", want.Method, first.Method)
	wantPath, gotPath := want.Path, first.Path
	if !compat {
		wantPath, _, _ = strings.Cut(wantPath, "?")
		gotPath, _, _ = strings.Cut(gotPath, "?")
	}
	c.text("request path", wantPath, gotPath)
	if compat {
		for _, name := range slices.Sorted(maps.Keys(want.Headers)) {
			if !slices.Contains([]string{"authorization", "x-api-key", "x-goog-api-key"}, name) { // keys differ
				c.text("request header "+name, want.Headers[name], first.Headers[name])
			}
		}
	}
	wantBody, err := decodeJSON(want.Body)
	if err != nil {
		c.add("request body", "JSON", "error in the vector: "+err.Error())
		return
	}
	gotBody, err := decodeJSON(first.Body)
	if err != nil {
		c.add("request body", "JSON", err.Error())
		return
	}
	wantFields, _ := wantBody.(map[string]any)
	gotFields, _ := gotBody.(map[string]any)
	if !compat {
		for _, name := range k.sampling {
			delete(wantFields, name)
			delete(gotFields, name)
		}
	}
	if k.prompt != nil {
		if err := k.prompt(want, wantFields, gotFields); err != nil {
			c.add("request body", "JSON", "error in the vector: "+err.Error())
			return
		}
	}
	c.structure("request", wantBody, gotBody)
}

func decodeJSON(raw []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// structure compares JSON values. A recorded hash of prose matches any text.
func (c *comparison) structure(path string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		if _, ok := got.(string); ok && isProse(want) {
			return
		}
		fields, ok := got.(map[string]any)
		if !ok {
			c.add(path, jsonText(want), jsonText(got))
			return
		}
		all := maps.Clone(want)
		maps.Copy(all, fields)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			w, inWant := want[name]
			g, found := fields[name]
			if inWant != found {
				c.add(path+"."+name, presence(w, inWant), presence(g, found))
				continue
			}
			c.structure(path+"."+name, w, g)
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			c.add(path, jsonText(want), jsonText(got))
			return
		}
		for i := range want {
			c.structure(fmt.Sprintf("%s[%d]", path, i), want[i], list[i])
		}
	case string:
		text, ok := got.(string)
		if !ok || !matches(want, text) {
			c.add(path, jsonText(want), jsonText(got))
		}
	default:
		if !sameScalar(want, got) {
			c.add(path, jsonText(want), jsonText(got))
		}
	}
}

func presence(value any, there bool) string {
	if !there {
		return "nothing"
	}
	return jsonText(value)
}

func jsonText(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(raw)
}

// isProse reports whether a value is the hash of a text of the original.
func isProse(value map[string]any) bool {
	_, hash := value["sha256"]
	_, chars := value["chars"]
	return hash && chars && len(value) == 2
}

// matches compares texts; «prose:N» matches any text.
func matches(want, got string) bool {
	if !strings.Contains(want, "«prose:") {
		return want == got
	}
	pieces := regexp.MustCompile(`«prose:\d+»`).Split(want, -1)
	for i := range pieces {
		pieces[i] = regexp.QuoteMeta(pieces[i])
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(pieces, `.*`) + `$`).MatchString(got)
}

// sameScalar compares numbers by value and other scalars by ==.
func sameScalar(want, got any) bool {
	w, wantNumber := want.(json.Number)
	g, gotNumber := got.(json.Number)
	if !wantNumber || !gotNumber {
		return want == got
	}
	a, errA := w.Float64()
	b, errB := g.Float64()
	return w == g || errA == nil && errB == nil && a == b
}

// compareRoleMessages compares messages of a role, or of the environment after it. For an unordered
// kind it ignores the order of mappings and random ids, and same compares arguments.
func (c *comparison) compareRoleMessages(k roleKind, want, got []*worldv1.Message, same func(want, got python.Value) bool) {
	if k.unordered {
		got = alignIDs(want, got, same)
	}
	c.messages(want, got)
}

// alignIDs returns copies of got. Random ids are replaced by the recorded ids, and calls that are
// the same by the recorded calls.
func alignIDs(want, got []*worldv1.Message, same func(want, got python.Value) bool) []*worldv1.Message {
	list := make([]*worldv1.Message, len(got))
	for i := range got {
		m, ok := proto.Clone(got[i]).(*worldv1.Message)
		if !ok || i >= len(want) {
			list[i] = got[i]
			continue
		}
		if id := idOf(want[i]); isRandomID(id) && isRandomID(idOf(m)) {
			setID(m, id)
		}
		if wantCall, call := want[i].GetCall(), m.GetCall(); sameCall(wantCall, call, same) {
			call.ArgumentsJson, call.ArgumentsText = wantCall.GetArgumentsJson(), wantCall.ArgumentsText
		}
		list[i] = m
	}
	return list
}

// idOf returns the id of a call or result, nil for any other message.
func idOf(m *worldv1.Message) *string {
	if result := m.GetResult(); result != nil {
		return result.Id
	}
	id, _ := messagetext.Answering(m)
	return id
}

func setID(m *worldv1.Message, id *string) {
	switch body := m.GetBody().(type) {
	case *worldv1.Message_Call:
		body.Call.Id = id
	case *worldv1.Message_Result:
		body.Result.Id = id
	}
}

func isRandomID(id *string) bool {
	if id == nil {
		return false
	}
	_, err := uuid.Parse(*id)
	return err == nil
}

// sameCall reports whether two messages make the same call, with the same arguments.
func sameCall(want, got *worldv1.ToolCall, same func(want, got python.Value) bool) bool {
	if want == nil || got == nil || want.GetTool() != got.GetTool() {
		return false
	}
	wantArguments, err := messagetext.Arguments(want)
	if err != nil {
		return false
	}
	gotArguments, err := messagetext.Arguments(got)
	return err == nil && same(wantArguments, gotArguments)
}

// sameKinds is Python's == for values whose numbers must have the same types.
func sameKinds(want, got python.Value) bool {
	return want.Kind() == got.Kind() && want.EqualFunc(got, sameKinds)
}

// sameNumbers is Python's == for values of the same types, except integers and floats.
func sameNumbers(want, got python.Value) bool {
	return (want.Kind() == got.Kind() || isNumber(want) && isNumber(got)) && want.EqualFunc(got, sameNumbers)
}

func isNumber(v python.Value) bool { return v.Kind() == python.KindInt || v.Kind() == python.KindFloat }
