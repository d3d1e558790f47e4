package view

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// chunkSize is the number of bytes of different lines at which a chunk is full. Compressed it is
// about a seventh of that.
const chunkSize = 400_000

// chunk is pages in one file of an exported directory. Pages of variants have most lines in common,
// and those of a world at neighbouring messages nearly all: each line stands once. The script of
// the pages is its only reader.
type chunk struct {
	// Lines are the different lines. A page is runs of them: a first line and a number, alternating.
	Lines []string         `json:"lines"`
	Pages map[string][]int `json:"pages"`

	at   map[string]int // the place of a line
	size int
}

func newChunk() *chunk { return &chunk{Pages: make(map[string][]int), at: make(map[string]int)} }

// add adds a page.
func (c *chunk) add(path string, content []byte) {
	parts := []int{}
	for line := range strings.SplitSeq(string(content), "\n") {
		place, known := c.at[line]
		if !known {
			place = len(c.Lines)
			c.at[line], c.Lines = place, append(c.Lines, line)
			c.size += len(line)
		}
		if n := len(parts); n > 0 && parts[n-2]+parts[n-1] == place {
			parts[n-1]++
		} else {
			parts = append(parts, place, 1)
		}
	}
	c.Pages[path] = parts
}

func (c *chunk) full() bool { return c.size >= chunkSize }

// file returns the chunk as a script, the one kind of data that a page from a disk may load: a call
// with compressed JSON.
func (c *chunk) file() ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(c); err != nil {
		return nil, fmt.Errorf("encode pages: %w", err)
	}
	var compressed bytes.Buffer
	writer, err := flate.NewWriter(&compressed, flate.BestCompression)
	if err == nil {
		_, err = writer.Write(encoded.Bytes())
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress pages: %w", err)
	}
	return []byte(`viewChunk("` + base64.StdEncoding.EncodeToString(compressed.Bytes()) + `")`), nil
}
