// Package part writes and reads Parquet files, each a part of a table. A file has its name only
// when it is complete and on disk, so that a killed writer leaves readable files.
//
// A Writer belongs to one goroutine. The functions that read have no state.
package part

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"

	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// batch is the number of rows that are read or copied at once.
const batch = 512

// Writer writes one file of rows of type T, whose fields' tags are the columns.
type Writer[T any] struct {
	path   string
	file   *os.File
	sum    hash.Hash
	bytes  int64
	writer *parquet.GenericWriter[T]
}

// Create returns the writer of the file path, for which it makes the directory. Until Publish its
// content is in a hidden file beside it, or in a temporary one for a bucket. blobs are columns
// without statistics.
func Create[T any](path string, blobs ...string) (*Writer[T], error) {
	file, err := storage.Create(path)
	if err != nil {
		return nil, err
	}
	w := &Writer[T]{path: path, file: file, sum: sha256.New()}
	options := []parquet.WriterOption{parquet.Compression(compression), parquet.CreatedBy("toolsandbox", "", "")}
	for _, blob := range blobs {
		options = append(options, parquet.SkipPageBounds(blob), parquet.SkipPageStatistics(blob))
	}
	w.writer = parquet.NewGenericWriter[T](writerFunc(w.append), options...)
	return w, nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }

func (w *Writer[T]) append(data []byte) (int, error) {
	n, err := w.file.Write(data)
	_, _ = w.sum.Write(data[:n])
	w.bytes += int64(n)
	return n, err
}

// Write appends rows to the current row group.
func (w *Writer[T]) Write(rows []T) error {
	_, err := w.writer.Write(rows)
	return err
}

// Flush ends the row group and writes it to the hidden file.
func (w *Writer[T]) Flush() error { return w.writer.Flush() }

// SetMetadata sets an entry of the file's own metadata.
func (w *Writer[T]) SetMetadata(key, value string) { w.writer.SetKeyValueMetadata(key, value) }

// Content is the size and the hex SHA-256 of a file.
type Content struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Finish completes the hidden file and syncs it.
func (w *Writer[T]) Finish() (Content, error) {
	err := w.writer.Close()
	if err == nil {
		err = w.file.Sync()
	}
	err = errors.Join(err, w.file.Close())
	return Content{w.digest(), w.bytes}, err
}

func (w *Writer[T]) digest() string { return hex.EncodeToString(w.sum.Sum(nil)) }

// Publish gives a finished file its path, also if the machine crashes, see storage.Publish.
func (w *Writer[T]) Publish() error {
	return storage.Publish(w.file.Name(), w.path, w.digest())
}

// Discard removes a file that was not published.
func (w *Writer[T]) Discard() {
	_ = w.file.Close()
	_ = os.Remove(w.file.Name())
}

// File is an open file of a part.
type File struct {
	path    string
	file    storage.File
	parquet *parquet.File
}

// Open opens a file. The error is that of the file system, or says why the file is no Parquet.
func Open(path string) (_ *File, err error) {
	file, err := storage.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	opened, err := guard(func() (*parquet.File, error) {
		return parquet.OpenFile(file, file.Size(), parquet.SkipBloomFilters(true))
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &File{path, file, opened}, nil
}

// guard returns a panic of the decoder, which meets files that anybody may have changed, as an
// error.
func guard[T any](do func() (T, error)) (value T, err error) {
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("not readable as Parquet: %v", found)
		}
	}()
	return do()
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Metadata returns an entry of the file's own metadata; ok is false without it.
func (f *File) Metadata(key string) (value string, ok bool) { return f.parquet.Lookup(key) }

// Rows returns the number of rows.
func (f *File) Rows() int64 { return f.parquet.NumRows() }

// Read calls visit with rows from a position on, at most count of them, in batches that visit may
// keep. A count below 0 means all. Columns that T lacks are not read.
func Read[T any](f *File, from, count int64, visit func([]T) error) error {
	_, err := guard(func() (struct{}, error) { return struct{}{}, read(f, from, count, visit) })
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

func read[T any](f *File, from, count int64, visit func([]T) error) (err error) {
	if from < 0 || from > f.Rows() {
		return fmt.Errorf("it has %d rows, expected more than %d", f.Rows(), from)
	}
	if count < 0 {
		count = f.Rows() - from
	}
	if count == 0 {
		return nil
	}
	reader := parquet.NewGenericReader[T](f.parquet)
	defer func() { err = errors.Join(err, reader.Close()) }()
	if from > 0 {
		if err := reader.SeekToRow(from); err != nil {
			return err
		}
	}
	for count > 0 {
		rows := make([]T, min(batch, count))
		n, err := reader.Read(rows)
		if err := visitRows(rows[:n], visit); err != nil {
			return err
		}
		count -= int64(n)
		switch {
		case errors.Is(err, io.EOF) && count > 0:
			return io.ErrUnexpectedEOF
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
	}
	return nil
}

func visitRows[T any](rows []T, visit func([]T) error) error {
	if len(rows) == 0 {
		return nil
	}
	return visit(rows)
}
