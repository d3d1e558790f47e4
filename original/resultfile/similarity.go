package resultfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/toolsandbox/toolsandbox/python"
)

// Similarity is a number from 0 to 1 in the original's spelling: an integer if the original does
// not compute it. It is empty, and null in JSON, if the rollout has no score.
type Similarity string

// Number returns the number. ok is false without one.
func (s Similarity) Number() (float64, bool) {
	number, err := strconv.ParseFloat(string(s), 64)
	return number, err == nil
}

// MarshalJSON writes the number or null.
func (s Similarity) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return json.Marshal(json.Number(s))
}

// UnmarshalJSON reads a number or null.
func (s *Similarity) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*s = ""
		return nil
	}
	if _, err := strconv.ParseFloat(string(data), 64); err != nil {
		return fmt.Errorf("similarity %s is neither a number nor null", data)
	}
	*s = Similarity(data)
	return nil
}

// similarityOf converts a computed similarity. NaN becomes empty.
func similarityOf(f float64) Similarity {
	if math.IsNaN(f) {
		return ""
	}
	return Similarity(python.FormatFloat(f))
}

// integerSimilarity returns a similarity that the original does not compute: 0 or 1 as an integer.
func integerSimilarity(f float64) Similarity { return Similarity(strconv.FormatFloat(f, 'f', -1, 64)) }
