// Package packs embeds the built-in packs, as the files that docs/packs.md describes. It holds only
// data; package scenario loads it.
package packs

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The built-in packs.
const (
	// Phone is the default pack: a phone with contacts, messages, reminders, settings and search.
	Phone = "phone"
	// Timer has timers and alarms, whose tools schedule events.
	Timer = "timer"
	// Ride is a ride service with tables and tools of its own.
	Ride = "ride"
	// EuroEval has records of EuroEval's tool-calling task, by language.
	EuroEval = "euroeval"
)

// Names returns the names of the built-in packs.
func Names() []string { return []string{EuroEval, Phone, Ride, Timer} }

//go:embed phone timer ride euroeval
var files embed.FS

// PhoneTools returns the Python files of the pack phone by name, without their ending. Their
// functions are the built-in tools. The caller owns the result.
func PhoneTools() map[string]string {
	names, err := fs.Glob(files, Phone+"/tools/*.py")
	if err != nil {
		panic(err) // the pattern is valid
	}
	sources := make(map[string]string, len(names))
	for _, name := range names {
		source, err := files.ReadFile(name)
		if err != nil {
			panic(err) // Glob has found it
		}
		sources[strings.TrimSuffix(path.Base(name), ".py")] = string(source)
	}
	return sources
}

// Open returns the files of a built-in pack, or an error that wraps fs.ErrNotExist. They are
// read-only and safe for concurrent use.
func Open(name string) (fs.FS, error) {
	if !slices.Contains(Names(), name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return fs.Sub(files, name)
}
