// Package scenarios is the built-in catalogue: the scenarios and the worlds they start from, as the
// YAML files that docs/scenarios.md describes. Beside it stands the pack timer. Package scenario of
// module internal loads both.
package scenarios

import (
	"embed"
	"io/fs"
)

// FS holds the scenarios at its top and the worlds in worlds/. It is read-only and safe for
// concurrent use.
//
//go:embed *.yaml worlds/*.yaml
var FS embed.FS

// TimerName names the pack of timers and alarms.
const TimerName = "timer"

//go:embed timer
var timer embed.FS

// Timer returns the pack of timers and alarms, whose tools schedule events. It is read-only and
// safe for concurrent use.
func Timer() fs.FS {
	files, err := fs.Sub(timer, TimerName)
	if err != nil {
		panic(err) // part of the program
	}
	return files
}
