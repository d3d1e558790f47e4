package assemble

// Partial returns the known part of a rollout's trajectory. It returns nil if nothing is known, if
// a version of the log has not arrived, or if the rollout exceeds a limit. End is nil while the
// rollout runs.
func (a *Assembler) Partial(rolloutID string) *Trajectory {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pending[rolloutID]
	if p == nil || p.rollout == nil || p.dropped != "" || p.missing() != nil {
		return nil
	}
	return p.trajectory()
}

// Watch returns a channel that receives a token after a rollout has changed, and a function that
// ends the watch. Pending tokens coalesce.
func (a *Assembler) Watch(rolloutID string) (changed <-chan struct{}, stop func()) {
	watch := make(chan struct{}, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watches[rolloutID] == nil {
		a.watches[rolloutID] = make(map[chan struct{}]struct{})
	}
	a.watches[rolloutID][watch] = struct{}{}
	return watch, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.watches[rolloutID], watch)
		if len(a.watches[rolloutID]) == 0 {
			delete(a.watches, rolloutID)
		}
	}
}

// notify notifies the watches of a rollout. The caller holds the lock.
func (a *Assembler) notify(rolloutID string) {
	for watch := range a.watches[rolloutID] {
		select {
		case watch <- struct{}{}:
		default:
		}
	}
}
