package service

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Environment variables that hold the key of the hosted services: the key itself, or the name of a
// file with it.
const (
	KeyVariable     = "RAPID_API_KEY"
	KeyFileVariable = "RAPID_API_KEY_FILE"
)

// hidden is what a key prints as.
const hidden = "(hidden)"

// Key lets hosted services answer. It prints as a placeholder, so that no log, error or span can
// hold it. The zero Key is none.
type Key struct {
	// secret is a pointer, which is all that fmt prints of it where it cannot call String.
	secret *string
}

// NewKey returns the key of the given text; white space around it is no part of it. An empty text
// is no key. The error says what is wrong with the text without repeating it.
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
// RAPID_API_KEY_FILE names. It returns the zero Key where neither is set.
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
	raw, err := os.ReadFile(path)
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
func (Key) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (Key) GoString() string { return hidden }

// LogValue implements slog.LogValuer.
func (Key) LogValue() slog.Value { return slog.StringValue(hidden) }

// redact replaces the key in a text, in case a service sends it back.
func (k Key) redact(text string) string {
	if k.secret == nil {
		return text
	}
	return strings.ReplaceAll(text, *k.secret, hidden)
}
