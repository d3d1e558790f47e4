package tool

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	// allowName is the tool by which the user gives its consent. No selection lists it: it is there
	// where a tool needs consent.
	allowName = "allow_action"
	// asksFirst follows the description of a tool that needs consent.
	asksFirst = " Needs the user's permission: ask for it before the call."

	defaultMinutes, maxMinutes = 10, 60 * 24 * 366
	secondsPerMinute           = 60
)

// The columns of CONSENT.
const (
	consentID = iota
	consentTool
	consentScope
	consentExpires
	consentUsed
)

// Gate returns a selection in which the agent's calls of some tools need the user's consent. Every
// other role calls them as they are. A consent is a row of CONSENT, which the session must have.
// Without tools it is the selection itself. The error is ErrSelection.
func (c *Catalogue) Gate(s *Selection, confirm []*setupv1.ConfirmedTool) (*Selection, error) {
	if len(confirm) == 0 {
		return s, nil
	}
	gated := *s
	gated.gated = make(map[string]*Tool, len(confirm))
	var here, all []*setupv1.ConfirmedTool
	for _, entry := range confirm {
		t := c.byName[entry.GetTool()]
		twice := slices.ContainsFunc(all, func(other *setupv1.ConfirmedTool) bool {
			return other.GetTool() == entry.GetTool() || actionKey(other.GetAction()) == actionKey(entry.GetAction())
		})
		switch {
		case t == nil || t.User:
			return nil, fmt.Errorf("%w: consent for %q, which is no tool of the agent", ErrSelection, entry.GetTool())
		case actionKey(entry.GetAction()) == "":
			return nil, fmt.Errorf("%w: consent for %q does not say to what", ErrSelection, entry.GetTool())
		case twice:
			return nil, fmt.Errorf("%w: consent for %q, to %q, is asked for twice", ErrSelection, entry.GetTool(), entry.GetAction())
		}
		gated.gated[t.Name] = t.gated(entry.GetAction())
		if all = append(all, entry); s.Callable(t.Name, worldv1.Role_ROLE_AGENT) {
			here = append(here, entry)
		}
	}
	if len(here) == 0 {
		here = all
	}
	gated.allow = allowTool(here)
	gated.User = append(slices.Clip(s.User), gated.allow.Shown())
	gated.Agent = slices.Clone(s.Agent)
	for i, shown := range gated.Agent {
		if gated.gated[shown.GetExecutionName()] != nil && shown.GetDescription() != "" {
			gated.Agent[i] = &worldv1.Tool{
				Name: shown.GetName(), ExecutionName: shown.GetExecutionName(), ParametersJson: shown.GetParametersJson(),
				Description: shown.GetDescription() + asksFirst,
			}
		}
	}
	return &gated, nil
}

// gated returns the tool as it is for a caller who needs consent. A call that fails uses none up.
func (t *Tool) gated(action string) *Tool {
	gated := *t
	gated.Answer = nil
	gated.Run = func(ctx context.Context, w *session.World, args Args) (python.Value, error) {
		consent, once := consentFor(w, t.Name)
		if consent.IsNone() {
			return python.Value{}, raise("PermissionError", "The user has to allow this first. Ask the user whether you may "+action+
				", and call again when the user has said yes.")
		}
		result, err := t.Call(ctx, w, args)
		if err == nil && once {
			w.Update(world.Consent, session.Where{Column: consentID, Value: consent}, session.Change{Column: consentUsed, Value: python.Bool(true)})
		}
		return result, err
	}
	return &gated
}

// consentFor returns the id of the first consent for a tool that holds, None if there is none, and
// whether one call uses it up.
func consentFor(w *session.World, tool string) (id python.Value, once bool) {
	const place, scope, expires, used = 0, 1, 2, 3
	rows := w.Find(world.Consent, session.Where{Column: consentTool, Value: python.Str(tool)}, consentID, consentScope, consentExpires, consentUsed)
	for _, row := range rows {
		until, _ := row[expires].Number()
		if isUsed, _ := row[used].AsBool(); isUsed || w.Now() >= until {
			continue
		}
		return row[place], !row[scope].Equal(python.Str(world.ConsentConversation))
	}
	return python.None(), false
}

// AllowTool returns the tool by which the user gives its consent, as it is told about outside of
// any session.
func AllowTool() *Tool { return allowTool(nil) }

// allowTool returns the tool by which the user gives its consent to one of some actions.
func allowTool(actions []*setupv1.ConfirmedTool) *Tool {
	var names []string
	for _, entry := range actions {
		names = append(names, entry.GetAction())
	}
	scopes := []string{world.ConsentOnce, world.ConsentConversation}
	t := &Tool{
		Name: allowName, Module: "user_tools", User: true,
		Description: "Allows the assistant to do something that it has asked you for.",
		Params: []Param{
			{Name: "action", Type: Str(), Choices: names, Description: choice("What the assistant may do", names)},
			{Name: "scope", Type: Str(), Choices: scopes, Optional: true, Default: python.Str(world.ConsentOnce),
				Description: "once for one time, conversation for as often as it wants to; once if left out."},
			{Name: "minutes", Type: Number(), Optional: true, Default: python.Int(defaultMinutes),
				Description: "For how many minutes it may; 10 if left out."},
		},
		Check: func(args Args) error {
			if !slices.Contains(scopes, args.Str("scope")) {
				return unknownChoice("scope", args.Str("scope"), scopes)
			}
			return args.InRange("minutes", 0, maxMinutes)
		},
	}
	t.Run = func(_ context.Context, w *session.World, args Args) (python.Value, error) {
		at := slices.IndexFunc(names, func(name string) bool { return actionKey(name) == actionKey(args.Str("action")) })
		if at < 0 {
			return python.Value{}, unknownChoice("action", args.Str("action"), names)
		}
		minutes, _ := args.Value("minutes").Number()
		// Ids are not drawn: those of other rows are the same with and without consents.
		id := "consent_" + strconv.Itoa(w.Count(world.Consent, session.All())+1)
		w.Append(world.Consent, session.Row{
			python.Str(id), python.Str(actions[at].GetTool()), args.Value("scope"), python.Float(w.Now() + minutes*secondsPerMinute), python.Bool(false),
		})
		return python.None(), nil
	}
	t.setSignature()
	return t
}

// choice describes an argument in words, for models that are not shown an enumeration.
func choice(what string, among []string) string {
	if len(among) == 0 {
		return what + "."
	}
	return what + ", one of: " + strings.Join(among, ", ") + "."
}

func unknownChoice(param, value string, choices []string) error {
	return raise("ValueError", "Parameter '"+param+"' is "+python.Repr(python.Str(value))+", expected one of: "+strings.Join(choices, ", "))
}

// actionKey is the same for spellings of an action that mean the same.
func actionKey(action string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.TrimRight(action, ".!? ")), " "))
}
