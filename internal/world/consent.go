package world

import (
	"slices"

	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// These are the tools that users have beside those of their scenario, by their real names.
const (
	// EndTool ends the conversation. Every user has it, and no agent.
	EndTool = "end_conversation"
	// AllowTool gives consent. No scenario lists it: a user has it if any tool needs consent.
	AllowTool = "allow_action"
)

// Consent is the table of the actions that the user allows. A setup declares it if tools need
// consent.
const Consent = "CONSENT"

// These are the scopes of a consent.
const (
	// ConsentOnce allows one call, which uses the consent.
	ConsentOnce = "once"
	// ConsentConversation allows all calls until the consent expires.
	ConsentConversation = "conversation"
)

// These are lifetimes of a consent in minutes.
const (
	// ConsentMinutes is the default.
	ConsentMinutes = 10
	// MaxConsentMinutes is the longest.
	MaxConsentMinutes = 60 * 24 * 366
)

// ConsentSchema returns the declaration of Consent. The caller owns the result.
func ConsentSchema() *worldv1.TableSchema {
	column := func(name string, kind Kind, description string) *worldv1.Column {
		return &worldv1.Column{Name: name, Type: worldv1.CellType(kind), Measure: DefaultMeasure, Description: description}
	}
	return &worldv1.TableSchema{
		Name: Consent, Description: "What the user has allowed the agent to do.",
		Columns: []*worldv1.Column{
			column("consent_id", KindText, "The consent's id."),
			column("tool", KindText, "The real name of the tool that may be called."),
			column("scope", KindText, "once for one call, conversation for every call until it expires."),
			column("expires", KindNumber, "From when on it does not hold any more, in POSIX seconds."),
			column("used", KindBool, "Whether a call has used it up."),
			column("arguments", KindText, "The arguments that a call must have, as a JSON object; null for any."),
		},
	}
}

// HasConsent reports whether a schema declares Consent as ConsentSchema does.
func HasConsent(declared []*worldv1.TableSchema) bool {
	want := ConsentSchema()
	return slices.ContainsFunc(declared, func(table *worldv1.TableSchema) bool { return proto.Equal(table, want) })
}
