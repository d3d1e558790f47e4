// Package timezone loads time zones.
package timezone

import (
	"fmt"
	"sync"
	"time"
)

// loaded has the zones that were loaded, by name.
var loaded sync.Map

// Load returns the time zone of an IANA name, UTC for an empty one. It reads each zone once. It
// refuses "Local", which is another zone on each machine. Safe for concurrent use.
func Load(name string) (*time.Location, error) {
	if known, ok := loaded.Load(name); ok {
		if zone, ok := known.(*time.Location); ok {
			return zone, nil
		}
	}
	if name == "Local" {
		return nil, fmt.Errorf("unknown time zone %s", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	loaded.Store(name, zone)
	return zone, nil
}
