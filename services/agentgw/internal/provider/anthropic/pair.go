package anthropic

import (
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	// maxID and maxName are the longest id of a call and name of a tool that are sent.
	maxID   = 64
	maxName = 128
	// freshID begins the id of a call whose own one is refused, noName stands for an empty name.
	freshID = "call_"
	noName  = "unnamed"
)

// paired returns a transcript without system texts as Anthropic takes it. Each turn's calls are
// followed by their results, one for each: the result of a call that nobody answered is an error, a
// result without a call becomes a user's text. Ids are letters, digits, _ and -, each used once.
// Such transcripts come from demonstrations, other agents and messages that the model may not see;
// a turn in the provider's own form keeps its ids.
func paired(q *provider.Query) []conversation.Entry {
	p := &pairing{list: make([]conversation.Entry, 0, len(q.Transcript)), taken: make(map[string]bool)}
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

// pairing is a transcript in the making.
type pairing struct {
	list  []conversation.Entry
	taken map[string]bool
	// native says that the turn is sent in the provider's own form.
	native bool
	// calls are those of the turn, results what came to them so far, stray the results of other
	// calls.
	calls   []made
	results []conversation.Entry
	stray   []conversation.Entry
}

// made is a call with the id that it had and the one under which it is sent.
type made struct {
	index    int32
	had, has string
	answered bool
}

func (p *pairing) call(entry conversation.Entry, native bool) {
	if len(p.results)+len(p.stray) > 0 {
		p.complete()
	}
	p.native = p.native || native
	call := made{index: entry.Index, had: entry.CallID(), has: entry.CallID()}
	if !p.native {
		for i := 0; !proper(call.has) || p.taken[call.has]; i++ {
			call.has = freshID + strconv.Itoa(int(entry.Index))
			if i > 0 {
				call.has += "_" + strconv.Itoa(i)
			}
		}
		entry.RowID, entry.Name = &call.has, named(entry.Name)
	}
	p.taken[call.has] = true
	p.calls = append(p.calls, call)
	p.list = append(p.list, entry)
}

func (p *pairing) result(entry conversation.Entry) {
	for i := range p.calls {
		if call := &p.calls[i]; !call.answered && call.had == entry.CallID() {
			call.answered = true
			entry.RowID = &call.has
			p.results = append(p.results, entry)
			return
		}
	}
	text := "Result of " + entry.Name + ": " + entry.Text
	p.stray = append(p.stray, conversation.Entry{Kind: conversation.User, Index: entry.Index, Text: text})
}

// complete ends a turn.
func (p *pairing) complete() {
	for i := range p.calls {
		if call := &p.calls[i]; !call.answered {
			p.results = append(p.results, conversation.Entry{Kind: conversation.Result, Index: call.index, RowID: &call.has, Failed: true})
		}
	}
	p.list = append(append(p.list, p.results...), p.stray...)
	p.native, p.calls, p.results, p.stray = false, nil, nil, nil
}

// proper says whether an id is taken.
func proper(id string) bool { return id != "" && len(id) <= maxID && strings.IndexFunc(id, odd) < 0 }

// named returns a tool's name as it is taken.
func named(name string) string {
	if name == "" {
		return noName
	}
	name = strings.Map(func(r rune) rune {
		if odd(r) {
			return '_'
		}
		return r
	}, name)
	return name[:min(len(name), maxName)]
}

func odd(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
