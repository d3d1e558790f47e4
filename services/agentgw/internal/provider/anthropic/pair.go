package anthropic

import (
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	// maxID and maxName bound the ids of calls and the names of tools.
	maxID   = 64
	maxName = 128
	// idPrefix begins the replacement of an invalid call id. noName replaces an empty name.
	idPrefix = "call_"
	noName   = "unnamed"
)

// pairCalls returns a transcript without system texts in the form that Anthropic accepts. The calls
// of each turn are followed by one result each. A missing result becomes an error, and a result
// without a call becomes a user's text. Ids are unique and consist of letters, digits, _ and -.
// Invalid transcripts come from demonstrations, other agents and hidden messages. A turn in native
// form keeps its ids.
func pairCalls(q *provider.Query) []conversation.Entry {
	p := &pairer{list: make([]conversation.Entry, 0, len(q.Transcript)), usedIDs: make(map[string]bool)}
	for _, entry := range q.Transcript {
		switch entry.Kind {
		case conversation.System:
		case conversation.ToolCall:
			p.call(entry, len(q.Native[entry.Index]) > 0)
		case conversation.Result:
			p.result(entry)
		case conversation.User, conversation.Assistant:
			p.complete()
			p.list = append(p.list, entry)
		}
	}
	p.complete()
	return p.list
}

// pairer builds such a transcript.
type pairer struct {
	list    []conversation.Entry
	usedIDs map[string]bool
	// native: the turn is sent in its native form.
	native bool
	// calls are the turn's calls, results their results so far, and stray the results of other calls.
	calls   []pairedCall
	results []conversation.Entry
	stray   []conversation.Entry
}

// pairedCall is a call with its original id and the id that is sent.
type pairedCall struct {
	index          int32
	originalID, id string
	answered       bool
}

func (p *pairer) call(entry conversation.Entry, native bool) {
	if len(p.results)+len(p.stray) > 0 {
		p.complete()
	}
	p.native = p.native || native
	call := pairedCall{index: entry.Index, originalID: entry.CallID(), id: entry.CallID()}
	if !p.native {
		for i := 0; !validID(call.id) || p.usedIDs[call.id]; i++ {
			call.id = idPrefix + strconv.Itoa(int(entry.Index))
			if i > 0 {
				call.id += "_" + strconv.Itoa(i)
			}
		}
		entry.RowID, entry.Name = &call.id, validName(entry.Name)
	}
	p.usedIDs[call.id] = true
	p.calls = append(p.calls, call)
	p.list = append(p.list, entry)
}

func (p *pairer) result(entry conversation.Entry) {
	for i := range p.calls {
		if call := &p.calls[i]; !call.answered && call.originalID == entry.CallID() {
			call.answered = true
			entry.RowID = &call.id
			p.results = append(p.results, entry)
			return
		}
	}
	text := "Result of " + entry.Name + ": " + entry.Text
	p.stray = append(p.stray, conversation.Entry{Kind: conversation.User, Index: entry.Index, Text: text})
}

// complete ends a turn and adds its missing results.
func (p *pairer) complete() {
	for i := range p.calls {
		if call := &p.calls[i]; !call.answered {
			p.results = append(p.results, conversation.Entry{Kind: conversation.Result, Index: call.index, RowID: &call.id, Failed: true})
		}
	}
	p.list = append(append(p.list, p.results...), p.stray...)
	p.native, p.calls, p.results, p.stray = false, nil, nil, nil
}

// validID reports whether Anthropic accepts an id.
func validID(id string) bool {
	return id != "" && len(id) <= maxID && strings.IndexFunc(id, invalidRune) < 0
}

// validName returns a tool's name in the form that Anthropic accepts.
func validName(name string) string {
	if name == "" {
		return noName
	}
	name = strings.Map(func(r rune) rune {
		if invalidRune(r) {
			return '_'
		}
		return r
	}, name)
	return name[:min(len(name), maxName)]
}

func invalidRune(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
