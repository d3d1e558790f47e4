package worker

import "errors"

// errPlayedAgain: the job of a later round has taken the rollout over, so this job is obsolete.
var errPlayedAgain = errors.New("the rollout is played again in a later round")
