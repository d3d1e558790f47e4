package play

import (
	"errors"
	"fmt"
	"io/fs"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// givenItems are the turns before a fork and the answers of hosted services to them. They are the
// same for each trial. It implements sweep.Recording.
type givenItems struct {
	items  []*orchestratorv1.RecordedItem
	digest string
}

// Digest implements sweep.Recording.
func (g *givenItems) Digest() string { return g.digest }

// Visit implements sweep.Recording.
func (g *givenItems) Visit(_ int, visit func(*orchestratorv1.RecordedItem) error) error {
	for _, item := range g.items {
		if err := visit(item); err != nil {
			return err
		}
	}
	return nil
}

// given returns the turns before the fork. Those of models and plug-ins are as recorded, the others
// as the files of the run have them.
func (o *forkOrigin) given(agent, user *agentgwv1.Player) (*givenItems, error) {
	recorded, answers, err := o.recording()
	if err != nil {
		return nil, err
	}
	end := o.message
	if o.text != nil {
		end++
	}
	keepsNative := map[worldv1.Role]bool{
		worldv1.Role_ROLE_AGENT: isSameModel(agent.GetModel(), o.rollout.GetAgent().GetModel()), worldv1.Role_ROLE_USER: isSameModel(user.GetModel(), o.rollout.GetUser().GetModel()),
	}
	given := &givenItems{}
	for at := len(o.scenario.GetSetup().GetMessages()); at < end; {
		sender := o.messages[at].GetSender()
		turn := &agentgwv1.RecordedTurn{Reply: &agentgwv1.Reply{Messages: recorded[int32(at)].GetReply().GetMessages()}}
		if len(turn.GetReply().GetMessages()) == 0 {
			for next := at; next < end && o.messages[next].GetSender() == sender; next++ {
				turn.Reply.Messages = append(turn.Reply.Messages, o.messages[next])
			}
		}
		if keepsNative[sender] {
			turn.Reply.Provider, turn.Reply.Native = recorded[int32(at)].GetReply().GetProvider(), recorded[int32(at)].GetReply().GetNative()
		}
		next := at + len(turn.GetReply().GetMessages())
		if sender == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
			if turn.Versions, err = o.versions(next - 1); err != nil {
				return nil, err
			}
		}
		if at == o.message { // edited
			edited := proto.CloneOf(o.messages[at])
			edited.Body = &worldv1.Message_Text{Text: *o.text}
			turn.Reply = &agentgwv1.Reply{Messages: []*worldv1.Message{edited}}
		}
		given.items = append(given.items, &orchestratorv1.RecordedItem{Index: int32(at), Item: &orchestratorv1.RecordedItem_Turn{Turn: turn}})
		at = next
	}
	for _, item := range answers {
		if int(item.GetAnswer().GetIndex()) < end {
			given.items = append(given.items, item)
		}
	}
	messages := make([]proto.Message, len(given.items))
	for i, item := range given.items {
		messages[i] = item
	}
	raw, err := encodeMessages(messages)
	given.digest = hexSum(string(raw))
	return given, err
}

// recording reads the recorded turns, by the index of their first message, and answers of hosted
// services.
func (o *forkOrigin) recording() (turns map[int32]*agentgwv1.RecordedTurn, answers []*orchestratorv1.RecordedItem, err error) {
	if !o.recorded.hasExternalInput {
		return nil, nil, nil
	}
	n := results.PlanNumber(o.outcome.ID)
	if _, err := readVerified(o.recorded.file(n), o.outcome.RecordingSHA256); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, process.UsageErrorf("--fork: %s of the run in %s has no recorded turns: complete the run with its own flags and --resume", o.outcome.Name, o.dir)
	} else if err != nil {
		return nil, nil, process.UsageErrorf("--fork: %w", err)
	}
	turns = make(map[int32]*agentgwv1.RecordedTurn)
	err = o.recorded.Visit(n, func(item *orchestratorv1.RecordedItem) error {
		if turn := item.GetTurn(); turn != nil {
			turns[item.GetIndex()] = turn
		} else {
			answers = append(answers, item)
		}
		return nil
	})
	if err != nil {
		return nil, nil, process.UsageErrorf("--fork: %w", err)
	}
	return turns, answers, nil
}

// versions returns the version of each table that holds at a message.
func (o *forkOrigin) versions(message int) ([]*worldv1.TableVersion, error) {
	var held []*worldv1.TableVersion
	for _, table := range o.tables { // by table, then index
		if int(table.GetIndex()) > message {
			continue
		}
		digest, err := world.Digest(table)
		if err != nil {
			return nil, fmt.Errorf("--fork: table %s at message %d: %w", table.GetName(), table.GetIndex(), err)
		}
		version := &worldv1.TableVersion{Name: table.GetName(), Index: table.GetIndex(), Digest: digest}
		if last := len(held) - 1; last >= 0 && held[last].GetName() == table.GetName() {
			held[last] = version
		} else {
			held = append(held, version)
		}
	}
	return held, nil
}
