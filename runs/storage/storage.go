// Package storage reads and writes the files of runs by their paths: paths of the file system, or
// s3://bucket/key in a bucket of a service that speaks S3, which the standard variables of AWS
// name.
//
// The functions are safe for concurrent use. Errors name the path. They wrap fs.ErrNotExist for
// what does not exist.
package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrChanged means that another client has written a file in between.
var ErrChanged = errors.New("another client has written it")

// File is an open file. Its size does not change.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// system is the files of one kind of path.
type system interface {
	open(path string) (File, error)
	// read returns the content, and its version where WriteVersion needs one.
	read(path string) (data []byte, version string, err error)
	// size is that of a file; for a directory the error is fs.ErrNotExist.
	size(path string) (int64, error)
	// list returns the names in a directory. Those of directories end in a slash.
	list(path string) ([]string, error)
	// write replaces a file atomically and, with lasting, for good.
	write(path string, data []byte, lasting bool) error
	// writeVersion writes a file that nobody has written since it had the version.
	writeVersion(path string, data []byte, version string) (string, error)
	remove(path string) error
	rename(from, to string) error
	// create returns the file in which the content of path is prepared, and publish gives that, closed
	// and complete with a SHA-256, its path.
	create(path string) (*os.File, error)
	publish(prepared, path, digest string) error
	sum(path string) (string, error)
	// sync makes everything in a directory last.
	sync(path string) error
}

// of returns the files to which a path belongs.
func of(name string) system {
	if IsBucket(name) {
		return buckets{}
	}
	return local{}
}

// scheme begins the path of a bucket.
const scheme = "s3://"

// IsBucket reports whether a path is in a bucket.
func IsBucket(name string) bool { return strings.HasPrefix(name, scheme) }

// split returns the bucket and the key of a path.
func split(name string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(name, scheme), "/")
	return bucket, strings.Trim(path.Clean("/"+key), "/")
}

// Join joins elements to a path, like filepath.Join. A path does not leave its bucket.
func Join(name string, elements ...string) string {
	if !IsBucket(name) {
		return filepath.Join(append([]string{name}, elements...)...)
	}
	bucket, key := split(name)
	for i, element := range elements {
		elements[i] = filepath.ToSlash(element)
	}
	return strings.TrimSuffix(scheme+bucket+path.Join(append([]string{"/", key}, elements...)...), "/")
}

// Abs returns an absolute path.
func Abs(name string) (string, error) {
	if IsBucket(name) {
		return Join(name), nil
	}
	return filepath.Abs(name)
}

// Rel returns the path of an absolute path below another one.
func Rel(base, name string) (string, error) {
	if !IsBucket(base) {
		return filepath.Rel(base, name)
	}
	if name == base {
		return ".", nil
	}
	return filepath.FromSlash(strings.TrimPrefix(name, base+"/")), nil
}

// Open opens a file.
func Open(name string) (File, error) { return of(name).open(name) }

// ReadFile reads a file.
func ReadFile(name string) ([]byte, error) {
	data, _, err := of(name).read(name)
	return data, err
}

// ReadVersion reads a file that WriteVersion writes, and its version.
func ReadVersion(name string) (data []byte, version string, err error) { return of(name).read(name) }

// Size returns the size of a file. A directory does not exist as a file.
func Size(name string) (int64, error) { return of(name).size(name) }

// Exists reports whether there is a file or a directory. A bucket that does not answer is an error.
func Exists(name string) (bool, error) {
	_, err := Size(name)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = ReadDir(name)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

// ReadDir returns the names in a directory in their order. Those of directories end in a slash.
func ReadDir(name string) ([]string, error) { return of(name).list(name) }

// WriteFile replaces a file, and makes its directory: readers see the old or the new content, also
// after a crash of the process and, with lasting, of the machine. It keeps the permissions of the
// old file. A file has one writer.
func WriteFile(name string, data []byte, lasting bool) error {
	return of(name).write(name, data, lasting)
}

// WriteVersion writes a file as WriteFile does, with lasting, and returns its new version. In a
// bucket the error is ErrChanged if the file has another version than the one given, which is empty
// for a file that must not exist. Files of the file system have no versions: there a lock does
// that.
func WriteVersion(name string, data []byte, version string) (string, error) {
	return of(name).writeVersion(name, data, version)
}

// CheckVersion returns ErrChanged if another client has written a file since it had a version.
func CheckVersion(name, version string) error {
	if version == "" {
		return nil
	}
	found, err := buckets{}.stat(name)
	if err == nil && found.at.version != version {
		err = changed("check", name)
	}
	return err
}

// Remove removes a file.
func Remove(name string) error { return of(name).remove(name) }

// Rename renames a file.
func Rename(from, to string) error { return of(from).rename(from, to) }

// Create makes the directory of a path and returns a file for its content, which Publish gives the
// path. The caller removes the file unless it is published.
func Create(name string) (*os.File, error) { return of(name).create(name) }

// Publish gives a prepared file, which is closed and on disk, its path; digest is its hex SHA-256.
// In a bucket the path must be new, else the error is ErrChanged.
func Publish(prepared, name, digest string) error { return of(name).publish(prepared, name, digest) }

// Sum returns the hex SHA-256 of a file: in a bucket the one that was stored with the object, if
// any.
func Sum(name string) (string, error) { return of(name).sum(name) }

// Sync makes what was written to a directory without lasting last as well.
func Sync(name string) error { return of(name).sync(name) }

// hexSum returns the hex SHA-256 of data.
func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sumOf reads a file and returns its hex SHA-256.
func sumOf(file File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, file.Size())); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
