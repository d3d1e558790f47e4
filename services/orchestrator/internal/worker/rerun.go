package worker

import "errors"

// errPlayedAgain: a later round's job has taken the rollout over: there is nothing to do for this
// one.
var errPlayedAgain = errors.New("the rollout is played again in a later round")
