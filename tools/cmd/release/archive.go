package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// epoch is the time of all files. A zip archive has no earlier one.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// file is a file of an archive.
type file struct {
	name       string
	data       []byte
	executable bool
}

func (f file) mode() int64 {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// archive returns a compressed tar archive with files below a directory, in the order of their
// names.
func archive(dir string, files []file) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) }) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(dir, f.name), Mode: f.mode(), Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// filesIn reads the files below a directory.
func filesIn(dir string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name, err = filepath.Rel(dir, name)
		files = append(files, file{name: filepath.ToSlash(name), data: data})
		return err
	})
	return files, err
}
