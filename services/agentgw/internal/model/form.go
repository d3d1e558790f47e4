package model

import (
	"bytes"
	"sync"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// maxForms bounds the models whose forms are remembered.
const maxForms = 1024

// formKey names a model at an address.
type formKey struct{ baseURL, model string }

// formMemory holds the forms that servers accepted after they had refused the plain one, so that
// later turns begin with them. A form is kept for the traits of its conversation, and applies to
// conversations that have these traits at least: the turns of a rollout get the form that they
// would get without memory. Safe for concurrent use.
type formMemory struct {
	mu    sync.Mutex
	forms map[formKey]map[conversation.Form]conversation.Form // by traits
}

// recall returns the form with which a conversation begins.
func (m *formMemory) recall(key formKey, entries []conversation.Entry) (form conversation.Form) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.forms[key]
	if len(known) == 0 {
		return 0
	}
	traits := conversation.Traits(entries)
	for of, accepted := range known {
		if of&^traits == 0 {
			form |= accepted
		}
	}
	return form
}

// remember keeps the form that a server accepted. It reports whether that is news.
func (m *formMemory) remember(key formKey, entries []conversation.Entry, form conversation.Form) bool {
	traits := conversation.Traits(entries)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.forms == nil || len(m.forms) >= maxForms && m.forms[key] == nil {
		m.forms = make(map[formKey]map[conversation.Form]conversation.Form)
	}
	if m.forms[key] == nil {
		m.forms[key] = make(map[conversation.Form]conversation.Form)
	}
	known, isKnown := m.forms[key][traits]
	m.forms[key][traits] = form
	return !isKnown || known != form
}

// rearrange makes the request of the next attempt one in a form that the server has not refused
// yet. It reports false, and completes the failure, if no form is left.
func (q *attempt) rearrange(failure *provider.Failure) bool {
	if failure.Demanded == 0 || q.query.Compat {
		return false
	}
	for _, further := range []conversation.Form{failure.Demanded, conversation.Alternating, conversation.SystemInUser, conversation.CallsAsText} {
		form := q.form | further
		q.query.Transcript, _ = form.Arrange(q.transcript)
		request, err := q.exchange.codec.Encode(q.query)
		if err != nil || bytes.Equal(request.Body, q.request.Body) {
			continue
		}
		q.form, q.request = form, request
		q.exchange.setRequest(request)
		return true
	}
	prompted := "--agent hermes:MODEL or mistral:MODEL"
	if q.query.PlaysUser {
		prompted = "--user plain:MODEL"
	}
	failure.Retryable = false
	failure.Detail += "; the model's chat template refuses this conversation in every form: start its server with another template " +
		"(--chat-template of vLLM and SGLang, --chat-template-file of llama.cpp), or let the program prompt the model (" + prompted + ")"
	return false
}

// rememberForm keeps the form that the server accepted, if it refused another one in this turn.
func (q *attempt) rememberForm() {
	model := q.query.Model.GetModel()
	if q.form != q.firstForm && q.forms.remember(formKey{q.to.BaseURL, model}, q.transcript, q.form) {
		q.cfg.Logger.Warn("the model's chat template refuses conversations as they are, so they are sent in another form",
			"provider", q.exchange.record.GetProvider(), "model", model, "form", q.form.String())
	}
}
