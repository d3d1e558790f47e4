package worker

import "errors"

// errReplaced: the job of a later round has taken the rollout over, so this job is obsolete.
var errReplaced = errors.New("the rollout is played again in a later round")
