package host

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// recording holds the answers of hosted services for a replay, in the order of the requests.
type recording struct{ answers []*toolhostv1.ServiceAnswer }

// CreateReplay is Create for a session without network requests. Hosted services give the answers
// in answers to the same request at the same message, and any other request fails. It is idempotent
// for the same answers. The error is ErrSetup if an answer is invalid.
func (h *Host) CreateReplay(
	ctx context.Context, id string, origin Origin, services toolhostv1.HostedServices, answers []*toolhostv1.ServiceAnswer,
) (*toolhostv1.CreateSessionResponse, error) {
	recorded, err := newRecording(origin, answers)
	if err != nil {
		return nil, err
	}
	return h.create(ctx, id, origin, services, recorded)
}

// newRecording validates answers. The error is ErrSetup.
func newRecording(origin Origin, answers []*toolhostv1.ServiceAnswer) (*recording, error) {
	for i, answer := range answers {
		if _, err := decodeAnswer(answer); err != nil {
			return nil, fmt.Errorf("%w %s: answers[%d]: %w", ErrSetup, origin, i, err)
		}
	}
	return &recording{answers: answers}, nil
}

// storeAnswers stores the answers as if the session had received them. Each creation repeats it,
// because an earlier one may have been interrupted. The session must be locked.
func (h *Host) storeAnswers(ctx context.Context, id string, recorded *recording) error {
	if recorded == nil {
		return nil
	}
	numbers := make(map[int32]uint32)
	for _, answer := range recorded.answers {
		data, err := proto.Marshal(answer)
		if err != nil {
			return fmt.Errorf("store answers of session %s: %w", id, err)
		}
		index := answer.GetIndex()
		if err := h.store.PutAnswer(ctx, id, store.Answer{Index: index, Number: numbers[index], Data: data}); err != nil {
			return fmt.Errorf("store answers of session %s: %w", id, err)
		}
		numbers[index]++
	}
	return nil
}
