package tool

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	// consentNote is appended to the description of a tool that needs consent.
	consentNote = " Needs the user's permission: ask for it before the call."

	secondsPerMinute = 60
)

// These are the columns of CONSENT.
const (
	consentID = iota
	consentTool
	consentScope
	consentExpires
	consentUsed
	consentArguments
)

// toolWithConsent is a tool that needs consent, with the name of the action that the user allows.
type toolWithConsent struct {
	*Tool

	action string
}

// RequireConsent returns a selection in which the agent's calls of some tools need the user's
// consent. Other roles call them without. A consent is a row of CONSENT, which the session must
// have. Without such tools, RequireConsent returns the selection itself. The error is ErrSelection.
func (c *Catalogue) RequireConsent(s *Selection, confirm []*setupv1.ConsentTool) (*Selection, error) {
	if len(confirm) == 0 {
		return s, nil
	}
	gated := *s
	gated.gated = make(map[string]*Tool, len(confirm))
	var selected, all []toolWithConsent
	for _, entry := range confirm {
		t := c.byName[entry.GetTool()]
		twice := slices.ContainsFunc(all, func(other toolWithConsent) bool {
			return other.Name == entry.GetTool() || actionKey(other.action) == actionKey(entry.GetAction())
		})
		switch {
		case t == nil || t.User && !t.Shared:
			return nil, fmt.Errorf("%w: consent for %q, which is no tool of the agent", ErrSelection, entry.GetTool())
		case actionKey(entry.GetAction()) == "":
			return nil, fmt.Errorf("%w: consent for %q does not say to what", ErrSelection, entry.GetTool())
		case twice:
			return nil, fmt.Errorf("%w: consent for %q, to %q, is asked for twice", ErrSelection, entry.GetTool(), entry.GetAction())
		}
		gated.gated[t.Name] = t.requiringConsent(entry.GetAction())
		if all = append(all, toolWithConsent{t, entry.GetAction()}); s.Callable(t.Name, worldv1.Role_ROLE_AGENT) {
			selected = append(selected, all[len(all)-1])
		}
	}
	if len(selected) == 0 {
		selected = all
	}
	gated.allow = allowTool(selected)
	gated.User = append(slices.Clip(s.User), gated.allow.forUser())
	gated.Agent = slices.Clone(s.Agent)
	for i, described := range gated.Agent {
		if gated.gated[described.GetExecutionName()] != nil && described.GetDescription() != "" {
			gated.Agent[i] = &worldv1.Tool{
				Name: described.GetName(), ExecutionName: described.GetExecutionName(), ParametersJson: described.GetParametersJson(),
				Description: described.GetDescription() + consentNote, ArgumentNames: described.GetArgumentNames(),
			}
		}
	}
	return &gated, nil
}

// requiringConsent returns the tool for callers that need consent. A failed call uses up no
// consent.
func (t *Tool) requiringConsent(action string) *Tool {
	gated := *t
	gated.Run = func(ctx context.Context, w *session.World, args Args) (python.Value, error) {
		consent, once, otherwise := consentFor(w, args)
		if consent.IsNone() {
			reason := "The user has to allow this first."
			if otherwise != "" {
				reason = "The user has allowed this with another " + otherwise + "."
			}
			return python.Value{}, raise("PermissionError", reason+" Ask the user whether you may "+action+", and call again when the user has said yes.")
		}
		result, err := t.Run(ctx, w, args)
		if err == nil && once {
			w.Update(world.Consent, session.Where{Column: consentID, Value: consent}, session.Change{Column: consentUsed, Value: python.Bool(true)})
		}
		return result, err
	}
	return &gated
}

// consentFor returns the id of the first valid consent to a call, None if there is none. once
// reports whether one call uses it up. If no consent covers the call, otherwise is the first
// argument that differs from a consent. It excludes the value, which may be the solution. Consents
// are read one by one, so that parallel calls with different consents do not conflict.
func consentFor(w *session.World, args Args) (id python.Value, once bool, otherwise string) {
	const tool, scope, arguments = 0, 1, 2
	var otherRows []session.Row // id and argument
	for n := range w.Count(world.Consent, session.All()) {
		id := python.Str(consentName(n))
		for _, row := range w.Find(world.Consent, session.Where{Column: consentID, Value: id}, consentTool, consentScope, consentArguments) {
			if !row[tool].Equal(python.Str(args.tool.Name)) {
				continue
			}
			if argument := args.firstDifference(row[arguments]); argument != "" {
				otherRows = append(otherRows, session.Row{id, python.Str(argument)})
			} else if isValidConsent(w, id) {
				return id, !row[scope].Equal(python.Str(world.ConsentConversation)), ""
			}
		}
	}
	for _, other := range otherRows {
		if isValidConsent(w, other[0]) {
			otherwise, _ = other[1].AsStr()
			break
		}
	}
	return python.None(), false, otherwise
}

// consentName returns the id of the n-th consent. It is not random, so that consents do not change
// the ids of other rows.
func consentName(n int) string { return "consent_" + strconv.Itoa(n+1) }

// isValidConsent reports whether a consent is neither used up nor expired.
func isValidConsent(w *session.World, consent python.Value) bool {
	const expires, used = 0, 1
	row := w.Find(world.Consent, session.Where{Column: consentID, Value: consent}, consentExpires, consentUsed)[0]
	until, _ := row[expires].Number()
	isUsed, _ := row[used].AsBool()
	return !isUsed && w.Now() < until
}

// firstDifference returns the name of the first argument that differs from a consent, empty if none
// does.
func (a Args) firstDifference(expected python.Value) string {
	text, restricted := expected.AsStr()
	if !restricted {
		return ""
	}
	parsed, _ := python.ParseJSON(text)
	dict, ok := parsed.AsDict()
	if !ok {
		return "argument" // the table is not from allow_action
	}
	for _, item := range dict.Items() {
		if !a.Value(item.Key).Equal(item.Value) {
			return item.Key
		}
	}
	return ""
}

// userTools returns the tools of the simulated user.
func userTools() []*Tool {
	return []*Tool{{
		Name: world.EndTool, Module: "user_tools", User: true,
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

// AllowTool returns the tool for consent as catalogues describe it, without the actions of a
// session.
func AllowTool() *Tool { return allowTool(nil) }

// forUser returns the declaration for users. It excludes the arguments of a call: a user who
// only reads the conversation does not know their names, and a wrong value would refuse the right
// call.
func (t *Tool) forUser() *worldv1.Tool {
	copied := *t
	copied.Params = t.Params[:len(t.Params)-1]
	return copied.WithoutAugmentations()
}

// allowTool returns the tool by which the user consents to one of some actions.
func allowTool(actions []toolWithConsent) *Tool {
	var names []string
	for _, entry := range actions {
		names = append(names, entry.action)
	}
	what := "What the assistant may do" // in words, for models that do not see an enumeration
	if len(names) > 0 {
		what += ", one of: " + strings.Join(names, ", ")
	}
	scopes := []string{world.ConsentOnce, world.ConsentConversation}
	t := &Tool{
		Name: world.AllowTool, Module: "user_tools", User: true,
		Description: "Allows the assistant to do something that it has asked you for.",
		Params: []Param{
			{Name: "action", Type: Str(), Choices: names, Description: what + "."},
			{Name: "scope", Type: Str(), Choices: scopes, Optional: true, Default: python.Str(world.ConsentOnce),
				Description: "once for one time, conversation for as often as it wants to; once if left out."},
			{Name: "minutes", Type: Number(), Optional: true, Default: python.Int(world.ConsentMinutes),
				Description: "For how many minutes it may; 10 if left out."},
			{Name: "arguments", Type: OptionalDict(), Optional: true, Default: python.None(),
				Description: "The arguments that its call must have, by name; any if left out."},
		},
		Check: func(args Args) error {
			if !slices.Contains(scopes, args.Str("scope")) {
				return unknownChoice("scope", args.Str("scope"), scopes)
			}
			return checkRange("minutes", args.Value("minutes"), 0, world.MaxConsentMinutes)
		},
	}
	t.Run = func(_ context.Context, w *session.World, args Args) (python.Value, error) {
		at := slices.IndexFunc(names, func(name string) bool { return actionKey(name) == actionKey(args.Str("action")) })
		if at < 0 {
			return python.Value{}, unknownChoice("action", args.Str("action"), names)
		}
		restriction, err := actions[at].restriction(args.Value("arguments"))
		if err != nil {
			return python.Value{}, err
		}
		minutes, _ := args.Value("minutes").Number()
		w.Append(world.Consent, session.Row{
			python.Str(consentName(w.Count(world.Consent, session.All()))), python.Str(actions[at].Name), args.Value("scope"), python.Float(w.Now() + minutes*secondsPerMinute), python.Bool(false), restriction,
		})
		return python.None(), nil
	}
	t.setSignature()
	return t
}

// restriction returns the cell for the arguments of a consent, None without arguments.
func (t *Tool) restriction(arguments python.Value) (python.Value, error) {
	dict, ok := arguments.AsDict()
	if !ok || dict.Len() == 0 {
		return python.None(), nil
	}
	var params []string
	for i := range t.Params {
		params = append(params, t.Params[i].Name)
	}
	for _, item := range dict.Items() {
		if !slices.Contains(params, item.Key) {
			return python.Value{}, raise("ValueError", "Parameter 'arguments' names "+python.Repr(python.Str(item.Key))+", expected some of: "+strings.Join(params, ", "))
		}
	}
	text := python.JSON(arguments)
	if read, err := python.ParseJSON(text); err != nil || !read.Equal(arguments) {
		return python.Value{}, raise("ValueError", "Parameter 'arguments' is "+python.Repr(arguments)+", expected what JSON can hold")
	}
	return python.Str(text), nil
}

func unknownChoice(param, value string, choices []string) error {
	return raise("ValueError", "Parameter '"+param+"' is "+python.Repr(python.Str(value))+", expected one of: "+strings.Join(choices, ", "))
}

// actionKey is equal for equivalent spellings of an action.
func actionKey(action string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.TrimRight(action, ".!? ")), " "))
}
