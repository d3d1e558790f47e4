package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// replayPrefix begins the ids of temporary sessions of a replay.
const replayPrefix = "replay-"

// ErrDiffers means that a replay differs from the stored history.
var ErrDiffers = errors.New("the replay differs")

// Replayed counts the identical results of a replay.
type Replayed struct {
	// ID is the session's.
	ID string `json:"id"`
	// To is the last replayed message.
	To int `json:"to"`
	// Answers is the number of answers of tools, Versions that of their table versions.
	Answers  int `json:"answers"`
	Versions int `json:"versions"`
}

// history is the recorded history of a session up to a message.
type history struct {
	// starting is the number of starting messages.
	starting int
	// messages are all messages up to the last one to replay, including its whole batch of answers.
	messages []*worldv1.Message
	// times are those of the executions, as orchestratorv1.GetTrajectoryResponse has them.
	times map[int32]float64
	// failing are the indices of the calls that failed by chance.
	failing []int32
	// to is the last message to compare.
	to int
}

// batch is one speaker's batch of calls with the recorded answers, or an event, without calls.
type batch struct {
	calls, answers []*worldv1.Message
	now            *float64
	failing        []int32 // positions in calls
}

// Replay executes the recorded calls of a session again, up to a message (-1 for the last), in a
// temporary session with the same start. It compares every answer and every table version, byte by
// byte; the first difference is ErrDiffers. Hosted services give the stored answers, without
// network.
func (c *Client) Replay(ctx context.Context, session *toolhostv1.Session, to int) (replayed Replayed, err error) {
	recorded, err := c.record(ctx, session, to)
	if err != nil {
		return Replayed{}, err
	}
	stored, err := c.Versions(ctx, session.GetId())
	if err != nil {
		return Replayed{}, err
	}
	// A fork at the last starting message shares only the setup: a session starts there.
	id := c.temporaryID(session.GetId())
	defer func() {
		if errors.Is(err, ErrDiffers) {
			err = fmt.Errorf("session %s: %w", session.GetId(), err)
		}
		err = errors.Join(err, c.Delete(context.WithoutCancel(ctx), id))
	}()
	if _, err := c.fork(ctx, session, recorded.starting-1, id, true); err != nil {
		return Replayed{}, err
	}
	replayed.ID, replayed.To = session.GetId(), recorded.to
	for _, batch := range batches(recorded) {
		compared, err := c.replayBatch(ctx, id, batch, recorded.to)
		if err != nil {
			return replayed, err
		}
		replayed.Answers += compared
	}
	replayVersions, err := c.Versions(ctx, id)
	if err != nil {
		return replayed, err
	}
	replayed.Versions, err = compareVersions(world.SchemaOrBuiltin(session.GetSchema()), stored, replayVersions, recorded.starting, recorded.to)
	return replayed, err
}

// temporaryID returns an unused id on the tool host of a session.
func (c *Client) temporaryID(session string) string {
	for {
		if id := replayPrefix + rand.Text(); c.together(session, id) {
			return id
		}
	}
}

// record reads the history to replay. The calls of a fork are in its origin's log, up to the fork.
func (c *Client) record(ctx context.Context, session *toolhostv1.Session, to int) (*history, error) {
	root, last, err := c.root(ctx, session)
	if err != nil {
		return nil, err
	}
	trajectory, err := c.trajectory(ctx, root)
	if status.Code(err) == codes.NotFound {
		return nil, process.UsageErrorf("ID: session %s has no rollout, and so no log to replay", session.GetId())
	}
	if err != nil {
		return nil, err
	}
	messages := trajectory.GetMessages()
	if last < 0 || last >= len(messages) {
		last = len(messages) - 1
	}
	if to > last {
		return nil, process.UsageErrorf("--to: %d given, expected 0 to %d, the last recorded message of session %s", to, last, session.GetId())
	}
	if to >= 0 {
		last = to
	}
	end := last + 1
	for end < len(messages) && messages[last].GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT &&
		messages[end].GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT && !isEvent(messages[end]) {
		end++
	}
	return &history{starting: int(trajectory.GetStartingMessages()), messages: messages[:end], times: trajectory.GetTimes(), failing: trajectory.GetFailing(), to: last}, nil
}

// root returns the origin of a session and the last shared message, -1 for a session that is not a
// fork.
func (c *Client) root(ctx context.Context, session *toolhostv1.Session) (id string, last int, err error) {
	id, last = session.GetId(), -1
	for session.GetParentId() != "" {
		if forkedAt := int(session.GetForkedAt()); last < 0 || forkedAt < last {
			last = forkedAt
		}
		id = session.GetParentId()
		session, err = c.get(ctx, id)
		if status.Code(err) == codes.NotFound { // deleted: the remains cannot be described
			return id, last, nil
		}
		if err != nil {
			return "", 0, err
		}
	}
	return id, last, nil
}

// batches returns the executions of a history, in order. Unanswered calls at its end are ignored.
func batches(recorded *history) []batch {
	var found []batch
	messages := recorded.messages
	for first := recorded.starting; first < len(messages); first++ {
		if messages[first].GetSender() != worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
			continue
		}
		begin, end := first, first+1
		for !isEvent(messages[first]) && begin > 0 && messages[begin-1].GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT &&
			messages[begin-1].GetSender() == messages[first-1].GetSender() {
			begin--
		}
		for end < len(messages) && begin < first && messages[end].GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT && !isEvent(messages[end]) {
			end++
		}
		next := batch{calls: messages[begin:first], answers: messages[first:end]}
		if now, ok := recorded.times[messages[first].GetIndex()]; ok {
			next.now = &now
		}
		for i, call := range next.calls {
			if slices.Contains(recorded.failing, call.GetIndex()) {
				next.failing = append(next.failing, int32(i))
			}
		}
		found = append(found, next)
		first = end - 1
	}
	return found
}

// isEvent returns whether a message of the execution environment is an event's, and not an answer.
func isEvent(m *worldv1.Message) bool {
	_, text := m.GetBody().(*worldv1.Message_Text)
	return text
}

// replayBatch executes a batch and returns the number of compared answers, those up to a message.
func (c *Client) replayBatch(ctx context.Context, id string, recorded batch, to int) (compared int, err error) {
	index := recorded.answers[0].GetIndex()
	response, err := c.toolHost(id).Execute(ctx, &toolhostv1.ExecuteRequest{SessionId: id, Index: index, Calls: recorded.calls, Now: recorded.now, Failing: recorded.failing})
	if err != nil {
		return 0, sweep.WrapStatus(fmt.Sprintf("execute what message %d answers", index), err)
	}
	if text := response.GetException(); text != "" {
		return 0, fmt.Errorf("%w: message %d: stored an answer, the execution failed with %q", ErrDiffers, index, text)
	}
	if was, is := len(recorded.answers), len(response.GetAnswers()); was != is {
		return 0, fmt.Errorf("%w: message %d: stored %d answers, replayed %d", ErrDiffers, index, was, is)
	}
	for i, answer := range recorded.answers {
		if int(answer.GetIndex()) > to {
			break
		}
		if err := compareMessages(answer, response.GetAnswers()[i]); err != nil {
			return compared, err
		}
		compared++
	}
	return compared, nil
}

// compareMessages names the field in which two messages differ, if any.
func compareMessages(stored, replayed *worldv1.Message) error {
	same, err := identical(stored, replayed)
	if err != nil || same {
		return err
	}
	return compareFields(stored.GetIndex(), "", stored.ProtoReflect(), replayed.ProtoReflect())
}

// compareFields finds the first differing field of a message, or of a nested message.
func compareFields(index int32, within string, was, is protoreflect.Message) error {
	fields := was.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if was.Has(field) == is.Has(field) && was.Get(field).Equal(is.Get(field)) {
			continue
		}
		path := within + string(field.Name())
		if was.Has(field) && is.Has(field) && field.Message() != nil && !field.IsList() {
			return compareFields(index, path+".", was.Get(field).Message(), is.Get(field).Message())
		}
		before, after := excerpt(fieldText(was, field), fieldText(is, field))
		return fmt.Errorf("%w: message %d, %s: stored %s, replayed %s", ErrDiffers, index, path, before, after)
	}
	return fmt.Errorf("%w: message %d: the stored bytes differ", ErrDiffers, index)
}

// compareVersions compares table versions up to a message and returns the number of versions
// that calls stored.
func compareVersions(schema *world.Schema, stored, replayed []*worldv1.Table, starting, to int) (compared int, err error) {
	later := func(table *worldv1.Table) bool { return int(table.GetIndex()) > to }
	stored, replayed = slices.DeleteFunc(slices.Clone(stored), later), slices.DeleteFunc(slices.Clone(replayed), later)
	for i := range max(len(stored), len(replayed)) {
		if order := orderAt(schema, stored, replayed, i); order < 0 {
			return compared, fmt.Errorf("%w: %s: stored, but missing in the replay", ErrDiffers, versionText(stored[i]))
		} else if order > 0 {
			return compared, fmt.Errorf("%w: %s: only in the replay", ErrDiffers, versionText(replayed[i]))
		}
		same, err := identical(stored[i], replayed[i])
		if err != nil {
			return compared, err
		}
		if !same {
			return compared, fmt.Errorf("%w: %s: %s", ErrDiffers, versionText(stored[i]), firstDifference(schema, stored[i], replayed[i]))
		}
		if int(stored[i].GetIndex()) >= starting {
			compared++
		}
	}
	return compared, nil
}

// orderAt returns which of two lists has a version at a position that the other lacks: below 0 the
// first, above 0 the second.
func orderAt(schema *world.Schema, a, b []*worldv1.Table, i int) int {
	switch {
	case i >= len(b):
		return -1
	case i >= len(a):
		return 1
	default:
		return schema.Compare(a[i], b[i])
	}
}

func versionText(table *worldv1.Table) string {
	return fmt.Sprintf("%s at message %d", table.GetName(), table.GetIndex())
}

// firstDifference describes the first difference of two versions.
func firstDifference(schema *world.Schema, stored, replayed *worldv1.Table) string {
	table, _ := schema.Table(stored.GetName())
	diff := Compare(table, stored, replayed)
	switch {
	case len(diff.Changed) > 0:
		row := diff.Changed[0]
		before, after := excerpt(exactText(row.Cells[0].From), exactText(row.Cells[0].To))
		return fmt.Sprintf("row %q, %s: stored %s, replayed %s", row.Key, row.Cells[0].Column, before, after)
	case len(diff.Removed) > 0:
		return fmt.Sprintf("row missing in the replay: %s", rowText(diff.Table, diff.Removed[0]))
	case len(diff.Added) > 0:
		return fmt.Sprintf("row only in the replay: %s", rowText(diff.Table, diff.Added[0]))
	case diff.Reordered:
		return "the order of rows differs"
	default:
		return "the stored bytes differ"
	}
}

// identical returns whether two messages have the same bytes.
func identical(a, b proto.Message) (bool, error) {
	wire := proto.MarshalOptions{Deterministic: true}
	first, err := wire.Marshal(a)
	if err != nil {
		return false, fmt.Errorf("compare: %w", err)
	}
	second, err := wire.Marshal(b)
	if err != nil {
		return false, fmt.Errorf("compare: %w", err)
	}
	return bytes.Equal(first, second), nil
}
