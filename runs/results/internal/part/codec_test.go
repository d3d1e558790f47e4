package part

import (
	"bytes"
	"runtime"
	"testing"

	parquet "github.com/parquet-go/parquet-go/compress/zstd"
)

// TestCompression bounds the memory of compressing a page, and reads the page with the library.
func TestCompression(t *testing.T) {
	const most = 8 << 20
	page := bytes.Repeat([]byte("a page of text, "), 2*window/16)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	compressed, err := compression.Encode(nil, page)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("bytes allocated to compress a page: got %d, want at most %d", got, most)
	}
	got, err := new(parquet.Codec).Decode(nil, compressed)
	if err != nil || !bytes.Equal(got, page) || len(compressed) > len(page)/100 {
		t.Errorf("page: got %d of %d bytes back from %d and %v, want all", len(got), len(page), len(compressed), err)
	}
}
