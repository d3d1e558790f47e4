package service

import (
	"log/slog"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/secretkey"
)

// Environment variables with the key of the hosted services: the key itself, or the name of a file
// with it.
const (
	KeyVariable     = "RAPID_API_KEY"
	KeyFileVariable = KeyVariable + secretkey.FileSuffix
)

// redactedKey is the printed form of a key.
const redactedKey = "(hidden)"

// Key authorizes requests to the hosted services. It prints as a placeholder, so that no log, error
// or span contains it. The zero Key is no key.
type Key struct {
	// secret is a pointer, which is all that fmt prints of it where it cannot call String.
	secret *string
}

// NewKey returns a key. An empty text is no key.
func NewKey(text string) Key {
	if text == "" {
		return Key{}
	}
	return Key{secret: &text}
}

// LookupKey reads the key from the environment: KeyVariable, or else the file that KeyFileVariable
// names. It returns the zero Key if neither is set.
func LookupKey(getenv func(string) string) (Key, error) {
	text, err := secretkey.Lookup(getenv, KeyVariable)
	return NewKey(text), err
}

// String implements fmt.Stringer.
func (Key) String() string { return redactedKey }

// GoString implements fmt.GoStringer.
func (Key) GoString() string { return redactedKey }

// LogValue implements slog.LogValuer.
func (Key) LogValue() slog.Value { return slog.StringValue(redactedKey) }

// redact replaces the key in a text that a service may have echoed.
func (k Key) redact(text string) string {
	if k.secret == nil {
		return text
	}
	return strings.ReplaceAll(text, *k.secret, redactedKey)
}
