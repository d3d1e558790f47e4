package service

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/bom"
)

// Environment variables with the key of the hosted services: the key itself, or the name of a file
// with it.
const (
	KeyVariable     = "RAPID_API_KEY"
	KeyFileVariable = "RAPID_API_KEY_FILE"
)

// redactedKey is the printed form of a key.
const redactedKey = "(hidden)"

// Key authorizes requests to the hosted services. It prints as a placeholder, so that no log, error
// or span contains it. The zero Key is no key.
type Key struct {
	// secret is a pointer, which is all that fmt prints of it where it cannot call String.
	secret *string
}

// NewKey returns a key without surrounding white space. An empty text is no key. The error does not
// repeat the text.
func NewKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return Key{}, errors.New("a character that no key has, expected printable ASCII without spaces")
		}
	}
	if text == "" {
		return Key{}, nil
	}
	return Key{secret: &text}, nil
}

// LookupKey reads the key from the environment: RAPID_API_KEY, or else the file that
// RAPID_API_KEY_FILE names. It returns the zero Key if neither is set.
func LookupKey(lookup func(string) (string, bool)) (Key, error) {
	if text, ok := lookup(KeyVariable); ok && text != "" {
		key, err := NewKey(text)
		if err != nil {
			return Key{}, fmt.Errorf("%s: %w", KeyVariable, err)
		}
		return key, nil
	}
	path, ok := lookup(KeyFileVariable)
	if !ok || path == "" {
		return Key{}, nil
	}
	raw, err := bom.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", KeyFileVariable, err)
	}
	key, err := NewKey(string(raw))
	if err == nil && key == (Key{}) {
		err = errors.New("the file is empty, expected the key")
	}
	if err != nil {
		return Key{}, fmt.Errorf("%s: %s: %w", KeyFileVariable, path, err)
	}
	return key, nil
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
