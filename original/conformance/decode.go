package conformance

import (
	"encoding/json"
	"fmt"
	"strconv"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// recordedAnswer is a recorded answer of an external service.
type recordedAnswer struct {
	URL              string
	Params, Response json.RawMessage
}

func decodeRecordings(answers []recordedAnswer) []*setupv1.RecordedAnswer {
	var recordings []*setupv1.RecordedAnswer
	for _, answer := range answers {
		recordings = append(recordings, &setupv1.RecordedAnswer{
			Url: answer.URL, ParamsJson: string(answer.Params), ResponseJson: string(answer.Response),
		})
	}
	return recordings
}

// recordedResult is a recorded score.
type recordedResult struct {
	ExceptionType string  `json:"exception_type"`
	Milestone     float64 `json:"milestone_similarity"`
	Minefield     float64 `json:"minefield_similarity"`
	Similarity    float64
	TurnCount     int32           `json:"turn_count"`
	Milestones    recordedMapping `json:"milestone_mapping"`
	Minefields    recordedMapping `json:"minefield_mapping"`
}

// recordedMatch is the message that matched a node, with its similarity.
type recordedMatch struct {
	index      int32
	similarity float64
}

// recordedMapping maps nodes to matches.
type recordedMapping map[int32]recordedMatch

// UnmarshalJSON implements json.Unmarshaler for node → [message index, similarity].
func (m *recordedMapping) UnmarshalJSON(raw []byte) error {
	var pairs map[string][2]float64
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return err
	}
	*m = make(recordedMapping, len(pairs))
	for text, pair := range pairs {
		node, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("node %q: %w", text, err)
		}
		(*m)[int32(node)] = recordedMatch{index: int32(pair[0]), similarity: pair[1]}
	}
	return nil
}
