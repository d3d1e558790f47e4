package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// forkFile precedes the name of a file in --text. Twice, it begins the text itself.
const forkFile = "@"

// forkSpec returns the specification of a rollout that continues the one in --fork. Flags that say
// what its run has settled are a mistake.
func (o *Options) forkSpec(ctx context.Context, args []string, stderr io.Writer) (sweep.Spec, error) {
	if err := o.checkForkFlags(args); err != nil {
		return sweep.Spec{}, err
	}
	origin, err := openForkOrigin(ctx, o.fork)
	if err != nil {
		return sweep.Spec{}, err
	}
	if o.flags.Changed("text") {
		text, err := forkText(o.text)
		if err != nil {
			return sweep.Spec{}, err
		}
		origin.text = &text
	}
	if err := origin.check(); err != nil {
		return sweep.Spec{}, err
	}
	agent, user, err := o.forkPlayers(origin, stderr)
	if err != nil {
		return sweep.Spec{}, err
	}
	given, err := origin.given(agent, user)
	if err != nil {
		return sweep.Spec{}, err
	}
	o.forked, o.agent, o.user = origin, agent.GetName(), user.GetName()
	spec := origin.spec
	spec.Scenarios, spec.Agents, spec.Users = []*scenariov1.Scenario{origin.scenario}, []*agentgwv1.Player{agent}, []*agentgwv1.Player{user}
	spec.Trials, spec.Given = o.trials, given
	spec.Fork = &busv1.Fork{
		Origin: origin.outcome.ID, Message: int32(origin.message), Edited: origin.text != nil, Trial: origin.rollout.GetTrial(),
		FailingTrial: origin.rollout.GetTrial(),
	}
	if earlier := origin.spec.Fork; earlier != nil {
		spec.Fork.FailingTrial = earlier.GetFailingTrial()
	}
	o.compat, o.seed = spec.Compat, spec.Seed
	if atTerminal(agent, user) {
		o.parallel = 1 // a person follows one conversation at a time
	}
	return spec, nil
}

// checkForkFlags rejects arguments and flags of the command line that --fork settles.
func (o *Options) checkForkFlags(args []string) error {
	if len(args) > 0 {
		return process.UsageErrorf("--fork: %q given, but the rollout determines the scenario", args[0])
	}
	settled := pflag.NewFlagSet("settled", pflag.ContinueOnError)
	new(catalogue.Selection).RegisterFlags(settled)
	new(catalogue.Selection).RegisterAblationFlags(settled)
	names := []string{"replay", "seed", "compat", "max-rollout-bytes", "repeat-limit", "services"}
	settled.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	for _, name := range names {
		if o.flags.Changed(name) {
			return process.UsageErrorf("--%s: given, but with --fork the run of the rollout determines it", name)
		}
	}
	return o.checkRanges()
}

// forkPlayers returns who continues a rollout: those of the command line, otherwise its own.
func (o *Options) forkPlayers(origin *forkOrigin, stderr io.Writer) (agent, user *agentgwv1.Player, err error) {
	named := make(map[worldv1.Role]*agentgwv1.Player) // one without a kind takes no settings of models
	for _, role := range []struct {
		role       worldv1.Role
		flag, name string
	}{{worldv1.Role_ROLE_AGENT, "agent", o.agent}, {worldv1.Role_ROLE_USER, "user", o.user}} {
		named[role.role] = &agentgwv1.Player{}
		if !o.flags.Changed(role.flag) {
			continue
		}
		if named[role.role], err = player.Parse(role.role, role.name); err != nil {
			return nil, nil, process.UsageErrorf("--%s: %w", role.flag, err)
		}
	}
	agent, user = named[worldv1.Role_ROLE_AGENT], named[worldv1.Role_ROLE_USER]
	if err := o.models.apply(agent, user, origin.spec.Compat); err != nil {
		return nil, nil, fmt.Errorf("%w; with --fork, settings of a model need its --agent or --user", err)
	}
	if err := separate(agent, user, stderr); err != nil {
		return nil, nil, err
	}
	origin.agent, origin.user = agent.GetName(), user.GetName()
	if agent.GetKind() == nil {
		agent = proto.CloneOf(origin.rollout.GetAgent())
	}
	if user.GetKind() == nil {
		user = proto.CloneOf(origin.rollout.GetUser())
	}
	return agent, user, o.admit(agent, user)
}

// ForkText returns the value of --text that stands for a text.
func ForkText(text string) string {
	if strings.HasPrefix(text, forkFile) {
		return forkFile + text
	}
	return text
}

// forkText returns the text of --text.
func forkText(value string) (string, error) {
	if name, ok := strings.CutPrefix(value, forkFile); ok && strings.HasPrefix(name, forkFile) {
		value = name
	} else if ok {
		raw, err := os.ReadFile(name)
		if err != nil {
			return "", process.UsageErrorf("--text: %w", err)
		}
		value = strings.TrimSuffix(string(raw), "\n")
	}
	switch {
	case value == "":
		return "", process.UsageErrorf("--text: empty, expected the text of the message")
	case !utf8.ValidString(value):
		return "", process.UsageErrorf("--text: it is no UTF-8")
	}
	return value, nil
}

// forkOrigin is a rollout that is continued from one of its messages.
type forkOrigin struct {
	dir      string
	run      *results.Run
	spec     sweep.Spec
	outcome  results.Outcome
	rollout  *busv1.Rollout
	scenario *scenariov1.Scenario
	recorded *recording
	messages []*worldv1.Message
	tables   []*worldv1.Table

	message int
	// text replaces that of the message, nil if a player says it. agent and user are the names of the
	// players who take over, empty for the origin's own.
	text        *string
	agent, user string
}

// openForkOrigin reads the rollout that --fork names.
func openForkOrigin(ctx context.Context, value string) (*forkOrigin, error) {
	at := strings.LastIndexByte(value, '@')
	message, err := strconv.Atoi(value[at+1:])
	if at < 1 || err != nil || message < 0 {
		return nil, process.UsageErrorf("--fork: %q given, expected RUN/ROLLOUT@N: the --out of a run, one of its rollouts, the number of one of its messages", value)
	}
	o := &forkOrigin{message: message}
	var name string
	o.dir, name = results.Locate(value[:at])
	if started, err := HasRun(o.dir); err != nil {
		return nil, err
	} else if name == "" && !started {
		o.dir, name = storage.Join(value[:at], ".."), value[strings.LastIndexByte(value[:at], '/')+1:at]
	}
	o.recorded = &recording{dir: (&directory{path: o.dir}).recordings()}
	o.spec, o.run, err = o.recorded.open(o.dir)
	switch {
	case errors.Is(err, errNoRecording):
		if started, err := HasRun(o.dir); err != nil {
			return nil, err
		} else if !started {
			return nil, process.UsageErrorf("--fork: %s holds no run: give RUN/ROLLOUT@N, where RUN is the --out of a run", o.dir)
		}
		return nil, process.UsageErrorf("--fork: the run in %s has no recorded turns: it can be forked where it was played, or when it is played again", o.dir)
	case err != nil:
		return nil, process.UsageErrorf("--fork: %w", err)
	}
	if err := o.find(name); err != nil {
		return nil, err
	}
	return o, o.read(ctx)
}

// find selects the rollout: by its name, or the only one.
func (o *forkOrigin) find(name string) error {
	names := make([]string, len(o.run.Rollouts))
	for i, rollout := range o.run.Rollouts {
		names[i] = rollout.Name
	}
	at := slices.Index(names, name)
	switch {
	case name == "" && len(names) == 1:
		at = 0
	case at < 0 && len(names) == 0:
		return process.UsageErrorf("--fork: the run in %s has no finished rollout", o.dir)
	case name == "":
		return process.UsageErrorf("--fork: the run in %s has %d rollouts: name one, e.g. %s", o.dir, len(names), report.ShellWord(fmt.Sprintf("%s@%d", storage.Join(o.dir, names[0]), o.message)))
	case at < 0:
		return process.UsageErrorf("--fork: the run in %s has no finished rollout %q: expected one of its %d, e.g. %s", o.dir, name, len(names), names[0])
	}
	o.outcome = o.run.Rollouts[at]
	if o.rollout, o.scenario = planned(o.spec, o.outcome.ID); o.rollout == nil || o.outcome.Damage != "" {
		return process.UsageErrorf("--fork: rollout %s of the run in %s is damaged: continue the run with --resume", o.outcome.Name, o.dir)
	}
	return nil
}

// read reads the trajectory.
func (o *forkOrigin) read(ctx context.Context) error {
	reader, err := results.Open(ctx, o.dir, nil)
	if err != nil {
		return process.UsageErrorf("--fork: %w", err)
	}
	trajectory, err := reader.Trajectory(o.outcome.Name, world.SchemaOrBuiltin(o.scenario.GetSetup().GetSchema()))
	if err != nil {
		return process.UsageErrorf("--fork: %w", err)
	}
	o.messages, o.tables = trajectory.Messages, trajectory.Tables
	return nil
}

// check rejects a message at which no player speaks, and a text that replaces no text.
func (o *forkOrigin) check() error {
	points := o.points()
	if !slices.Contains(points, o.message) {
		return process.UsageErrorf("--fork: message %d of %s begins no turn of the agent or the user: expected %s", o.message, o.outcome.Name, near(points, o.message))
	}
	if o.text == nil {
		return nil
	}
	_, isText := o.at(o.message).GetBody().(*worldv1.Message_Text)
	if !isText || o.at(o.message+1).GetSender() == o.at(o.message).GetSender() {
		return process.UsageErrorf("--text: message %d of %s is no single text of the agent or the user, and only such a one is replaced", o.message, o.outcome.Name)
	}
	return nil
}

// points returns the messages from which the rollout can be continued.
func (o *forkOrigin) points() []int {
	return ForkPoints(o.messages, len(o.scenario.GetSetup().GetMessages()), o.outcome.End)
}

// ForkPoints returns the messages from which a rollout can be continued: those that begin a turn of
// the agent or the user, and the one that is missing after a failure. first is the number of
// starting messages, end how the rollout ended.
func ForkPoints(messages []*worldv1.Message, first int, end string) []int {
	var points []int
	isPlayer := func(role worldv1.Role) bool { return role == worldv1.Role_ROLE_AGENT || role == worldv1.Role_ROLE_USER }
	for i := first; i < len(messages); i++ {
		if sender := messages[i].GetSender(); isPlayer(sender) && (i == first || messages[i-1].GetSender() != sender) {
			points = append(points, i)
		}
	}
	if n := len(messages); n > 0 && n >= first && slices.Contains([]string{"model_failure", "infrastructure", "cancelled"}, end) {
		if last := messages[n-1]; isPlayer(last.GetRecipient()) && last.GetConversationActive() {
			points = append(points, n)
		}
	}
	return points
}

// at returns a message, nil if there is none.
func (o *forkOrigin) at(index int) *worldv1.Message {
	if index < 0 || index >= len(o.messages) {
		return nil
	}
	return o.messages[index]
}

// near names the points around a message.
func near(points []int, message int) string {
	after, _ := slices.BinarySearch(points, message)
	switch {
	case len(points) == 0:
		return "a rollout with a turn"
	case after == 0:
		return fmt.Sprintf("%d or a later turn", points[0])
	case after == len(points):
		return fmt.Sprintf("%d or an earlier turn", points[after-1])
	}
	return fmt.Sprintf("e.g. %d or %d", points[after-1], points[after])
}

// record is what RunFile of the fork says of its origin.
func (o *forkOrigin) record(out string) *results.Fork {
	fork := &results.Fork{Run: o.dir, Rollout: o.outcome.Name, ID: o.outcome.ID, Message: o.message, Agent: o.agent, User: o.user, Text: o.text}
	from, err := storage.Abs(out)
	to, toErr := storage.Abs(o.dir)
	if relative, relErr := storage.Rel(from, to); errors.Join(err, toErr, relErr) == nil && storage.IsBucket(from) == storage.IsBucket(to) && !storage.IsBucket(to) {
		fork.Run = relative
	}
	return fork
}
