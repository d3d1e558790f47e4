package assemble

// Partial returns a rollout's trajectory as far as it is known, nil if nothing is, if a version
// that the log names is still to come, or if it was too large to be kept. Its End is nil while the
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

// Watch returns a channel that holds a token after something became known of a rollout, and the
// function that ends the watch. Changes that come faster than they are looked at share a token.
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

// notify wakes the watches of a rollout. The assembler must be locked.
func (a *Assembler) notify(rolloutID string) {
	for watch := range a.watches[rolloutID] {
		select {
		case watch <- struct{}{}:
		default:
		}
	}
}
