package instrument

import "slices"

// These are the sources of metrics.
const (
	elected      = "one orchestrator"
	each         = "each service"
	orchestrator = "orchestrator"
	gateway      = "agentgw"
	toolHost     = "toolhost"
	evaluator    = "evaluator"
)

// These are labels. Those that begin with gen_ai are of OpenTelemetry's conventions for generative
// AI.
const (
	LabelCategory  = "category"
	LabelCause     = "cause"
	LabelEnd       = "end"
	LabelError     = "error.type"
	LabelKind      = "kind"
	LabelModel     = "gen_ai.request.model"
	LabelOperation = "gen_ai.operation.name"
	LabelOutcome   = "outcome"
	LabelProvider  = "gen_ai.provider.name"
	LabelRole      = "role"
	LabelStream    = "stream"
	LabelTokenType = "gen_ai.token.type"
)

// These are buckets. Of requests to models and of tokens they are those of the conventions, the
// former up to ten minutes.
var (
	shortBuckets   = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	turnBuckets    = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600}
	rolloutBuckets = []float64{0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200}
	modelBuckets   = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36}
	tokenBuckets   = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	scoreBuckets   = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1}
)

// These are of the whole installation.
var (
	JobsPending = Instrument{
		Name: "toolsandbox.jobs.pending", Kind: Gauge, Unit: "{rollout}", From: elected,
		Help: "Rollouts of the installation without a score: those that wait, and those in flight.",
	}
	JobsRunning = Instrument{
		Name: "toolsandbox.jobs.running", Kind: Gauge, Unit: "{rollout}", From: elected,
		Help: "Rollouts of the installation that orchestrators play.",
	}
	JobsScoring = Instrument{
		Name: "toolsandbox.jobs.scoring", Kind: Gauge, Unit: "{rollout}", From: elected,
		Help: "Rollouts of the installation that have ended and wait for their score.",
	}
	JobsWaiting = Instrument{
		Name: "toolsandbox.jobs.oldest.age", Kind: Gauge, Unit: "s", From: elected,
		Help: "Time since the oldest rollout that no orchestrator has taken was queued; 0 if there is none.",
	}
	StreamBytes = Instrument{
		Name: "toolsandbox.stream.size", Kind: Gauge, Unit: "By", From: elected, Labels: []string{LabelStream},
		Help: "Bytes of a stream of NATS; each evaluator exports those of EVALUATION.",
	}
	StreamLimit = Instrument{
		Name: "toolsandbox.stream.limit", Kind: Gauge, Unit: "By", From: elected, Labels: []string{LabelStream},
		Help: "Bytes that a stream of NATS may have, by --bus-bytes; missing without a limit.",
	}
)

// These are of each service that runs as a process of its own.
var (
	Ready = Instrument{
		Name: "toolsandbox.ready", Kind: Gauge, Unit: "{service}", From: each,
		Help: "1 if the service can do its work: it accepts calls, and NATS and its peers answer; 0 otherwise.",
	}
	Reconnects = Instrument{
		Name: "toolsandbox.nats.reconnects", Kind: Counter, Unit: "{connection}", From: each,
		Help: "Connections to NATS that were lost and restored.",
	}
	BusErrors = Instrument{
		Name: "toolsandbox.bus.errors", Kind: Counter, Unit: "{attempt}", From: each, Labels: []string{LabelStream, LabelError},
		Help: "Attempts to use a stream that NATS did not answer (unanswered) or that found it full (full); the service retries.",
	}
)

// These are of the orchestrator.
var (
	RolloutsRunning = Instrument{
		Name: "toolsandbox.rollout.running", Kind: UpDown, Unit: "{rollout}", From: orchestrator,
		Help: "Rollouts that this process plays.",
	}
	RolloutsEnded = Instrument{
		Name: "toolsandbox.rollout.ended", Kind: Counter, Unit: "{rollout}", From: orchestrator, Labels: []string{LabelEnd, LabelCause},
		Help: "Rollouts that this process ended, by the end's reason and the class of its failure.",
	}
	RolloutDuration = Instrument{
		Name: "toolsandbox.rollout.duration", Kind: Histogram, Unit: "s", From: orchestrator, Buckets: rolloutBuckets,
		Help: "Time for which this process played a rollout that it ended.",
	}
	RolloutsParked = Instrument{
		Name: "toolsandbox.rollout.parked", Kind: Counter, Unit: "{rollout}", From: orchestrator,
		Help: "Rollouts taken from the queue because their sweep has reached its spend limit.",
	}
	RolloutsRetried = Instrument{
		Name: "toolsandbox.rollout.retried", Kind: Counter, Unit: "{rollout}", From: orchestrator,
		Help: "Rollouts that were interrupted by an error and go back to the queue.",
	}
	JobsRedelivered = Instrument{
		Name: "toolsandbox.job.redelivered", Kind: Counter, Unit: "{delivery}", From: orchestrator,
		Help: "Deliveries of a job after its first: its orchestrator died, released it or failed.",
	}
	TurnDuration = Instrument{
		Name: "toolsandbox.turn.duration", Kind: Histogram, Unit: "s", From: orchestrator, Labels: []string{LabelRole, LabelKind}, Buckets: turnBuckets,
		Help: "Time from the request for a player's turn to its answer, with all waits and retries.",
	}
)

// These are of the gateway.
var (
	ModelDuration = Instrument{
		Name: "gen_ai.client.operation.duration", Kind: Histogram, Unit: "s", From: gateway, Buckets: modelBuckets,
		Labels: []string{LabelOperation, LabelProvider, LabelModel, LabelError},
		Help:   "Time of one request to a model's provider; error.type is the class of one that failed.",
	}
	ModelTokens = Instrument{
		Name: "gen_ai.client.token.usage", Kind: Histogram, Unit: "{token}", From: gateway, Buckets: tokenBuckets,
		Labels: []string{LabelOperation, LabelProvider, LabelModel, LabelTokenType},
		Help:   "Tokens that the provider counted for a request, input (with cached ones) and output.",
	}
	ModelCost = Instrument{
		Name: "toolsandbox.model.cost", Kind: Counter, Unit: "{USD}", From: gateway, Labels: []string{LabelProvider, LabelModel},
		Help: "List price of requests in US dollars, where it is known.",
	}
	ModelWait = Instrument{
		Name: "toolsandbox.model.wait", Kind: Histogram, Unit: "s", From: gateway, Labels: []string{LabelProvider}, Buckets: turnBuckets,
		Help: "Time for which a request waited for its provider's budget.",
	}
	ModelRefused = Instrument{
		Name: "toolsandbox.model.refused", Kind: Counter, Unit: "{request}", From: gateway, Labels: []string{LabelProvider, LabelCause},
		Help: "Requests that were not sent: spend_limit, outage, breaker_open, queue_full, abandoned (the turn ended first) or error.",
	}
	ModelQueued = Instrument{
		Name: "toolsandbox.model.queued", Kind: Gauge, Unit: "{request}", From: gateway, Labels: []string{LabelProvider},
		Help: "Requests that wait for their provider's budget.",
	}
	ModelRunning = Instrument{
		Name: "toolsandbox.model.running", Kind: Gauge, Unit: "{request}", From: gateway, Labels: []string{LabelProvider},
		Help: "Requests that the provider has not answered yet.",
	}
	ModelConcurrency = Instrument{
		Name: "toolsandbox.model.concurrency", Kind: Gauge, Unit: "{request}", From: gateway, Labels: []string{LabelProvider},
		Help: "Requests that may run at once, by the limits of --agentgw-limit and what the provider takes.",
	}
	SpendShare = Instrument{
		Name: "toolsandbox.spend.share", Kind: Gauge, Unit: "1", From: gateway,
		Help: "Largest share of its spend limit that a sweep of the last ten minutes has used; missing without a limit.",
	}
)

// These are of the tool host.
var (
	ExecutionDuration = Instrument{
		Name: "toolsandbox.execution.duration", Kind: Histogram, Unit: "s", From: toolHost, Labels: []string{LabelOutcome}, Buckets: shortBuckets,
		Help: "Time of one request to execute tool calls, with its commit; the outcome is a gRPC code.",
	}
	SessionsCreated = Instrument{
		Name: "toolsandbox.session.created", Kind: Counter, Unit: "{session}", From: toolHost,
		Help: "Sessions that this process was asked to create.",
	}
	SessionsHeld = Instrument{
		Name: "toolsandbox.session.held", Kind: Gauge, Unit: "{session}", From: toolHost,
		Help: "Sessions that this process has in memory.",
	}
	SessionsRebuilt = Instrument{
		Name: "toolsandbox.session.rebuilt", Kind: Counter, Unit: "{session}", From: toolHost,
		Help: "Sessions that this process restored from their logs.",
	}
	StoreBytes = Instrument{
		Name: "toolsandbox.store.size", Kind: Gauge, Unit: "By", From: toolHost,
		Help: "Bytes of the session file's pages, used and free.",
	}
	DiskFree = Instrument{
		Name: "toolsandbox.disk.free", Kind: Gauge, Unit: "By", From: toolHost,
		Help: "Bytes that the file system of --toolhost-dir has free for this process; missing where the system cannot say.",
	}
	DiskSize = Instrument{
		Name: "toolsandbox.disk.size", Kind: Gauge, Unit: "By", From: toolHost,
		Help: "Bytes of the file system of --toolhost-dir; missing where the system cannot say.",
	}
)

// These are of the evaluator.
var (
	Score = Instrument{
		Name: "toolsandbox.score", Kind: Histogram, Unit: "1", From: evaluator, Labels: []string{LabelCategory}, Buckets: scoreBuckets,
		Help: "Scores of rollouts whose result this process stored, once for each category of the scenario.",
	}
	ScoreDuration = Instrument{
		Name: "toolsandbox.score.duration", Kind: Histogram, Unit: "s", From: evaluator, Buckets: shortBuckets,
		Help: "Time to score a rollout and to store its result.",
	}
	ScoresWaiting = Instrument{
		Name: "toolsandbox.score.waiting", Kind: UpDown, Unit: "{rollout}", From: evaluator,
		Help: "Complete rollouts that wait for one of --evaluator-scorers of this process.",
	}
)

// All returns all instruments, in the order of the reference.
func All() []Instrument {
	return slices.Concat(
		[]Instrument{JobsPending, JobsRunning, JobsScoring, JobsWaiting, StreamBytes, StreamLimit},
		[]Instrument{Ready, Reconnects, BusErrors},
		[]Instrument{RolloutsRunning, RolloutsEnded, RolloutDuration, RolloutsParked, RolloutsRetried, JobsRedelivered, TurnDuration},
		[]Instrument{ModelDuration, ModelTokens, ModelCost, ModelWait, ModelRefused, ModelQueued, ModelRunning, ModelConcurrency, SpendShare},
		[]Instrument{ExecutionDuration, SessionsCreated, SessionsHeld, SessionsRebuilt, StoreBytes, DiskFree, DiskSize},
		[]Instrument{Score, ScoreDuration, ScoresWaiting},
	)
}
