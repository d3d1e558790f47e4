package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// directory is a pack on disk. A link may only lead to another file of the pack. Anything but a
// file or directory is never opened, because it could block or be endless.
type directory string

// Open returns a regular file or a directory below d.
func (d directory) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // files opened in it stay open
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if err := regular(info); err != nil {
			return nil, err
		}
	}
	return root.OpenFile(name, openMode, 0)
}

// openMode does not block if the file has become a pipe.
const openMode = os.O_RDONLY | syscall.O_NONBLOCK

// ReadFile returns the content of a regular file of at most limit bytes. The error does not contain
// the file's name.
func ReadFile(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, cause(err)
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, openMode, 0)
	if err != nil {
		return nil, cause(err)
	}
	return readAll(file, limit)
}

// readAll reads and closes a regular file of at most limit bytes, without a byte order mark. It
// does not rely on the file's stated size.
func readAll(file fs.File, limit int64) ([]byte, error) {
	defer func() { _ = file.Close() }() // opened for reading
	info, err := file.Stat()
	if err != nil {
		return nil, cause(err)
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", info.Size(), limit)
	}
	var data bytes.Buffer
	data.Grow(int(max(0, info.Size())) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, cause(err)
	}
	if int64(data.Len()) > limit {
		return nil, fmt.Errorf("the file has more than the maximum of %d bytes", limit)
	}
	return bom.Trim(data.Bytes()), nil
}

// regular returns an error for anything but a regular file.
func regular(info fs.FileInfo) error {
	kind := "something else"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return fmt.Errorf("is %s, %w", kind, errIrregular)
}

var errIrregular = errors.New("expected a regular file")

// cause returns the reason of an error without the path, which the message contains already.
func cause(err error) error {
	if errors.Is(err, errIrregular) {
		return err
	}
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if isLink := err.Error() == "path escapes from parent" || errors.Is(err, syscall.ELOOP); isLink {
		return fmt.Errorf("is a link that leads out of the pack or in a circle: %w", err)
	}
	return fmt.Errorf("cannot be read: %w", err)
}

// packFiles reads the files of a pack within its limits.
type packFiles struct {
	fsys fs.FS
	limits
	budget    *scenario.Budget
	usedBytes int64
	// sums are the SHA-256 of the files read so far; nil disables them.
	sums map[string][sha256.Size]byte
}

// digest returns the hex SHA-256 of the names and contents of the files read so far.
func (f *packFiles) digest() string {
	whole := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(f.sums)) {
		sum := f.sums[name]
		_, _ = fmt.Fprintf(whole, "%s\x00%x\n", name, sum) // writing to a hash never fails
	}
	return hex.EncodeToString(whole.Sum(nil))
}

// hidden reports whether a file or folder is no part of a pack: macOS, Emacs and others leave such
// files beside those of people.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || name == "__MACOSX" }

// misspelled reports whether a file's name ends in another spelling of an ending, such as .yml.
func misspelled(name, ending string) bool {
	written := path.Ext(name)
	return written != ending && (strings.EqualFold(written, ending) || ending == yamlEnding && strings.EqualFold(written, ".yml"))
}

// list returns the visible files of a folder with an ending, sorted by name; none without the
// folder. A file with another spelling of the ending is a mistake, since nothing would read it.
func (f *packFiles) list(folder, ending string) (names []string, mistakes document.Errors) {
	r := &document.Reader{File: folder}
	entries, err := f.entriesOf(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist) && folder != ".":
		return nil, nil
	case err != nil:
		r.Fail(document.Top(), "%v", err)
		return nil, r.Errors
	case len(entries) > f.entries:
		f.budget.Exceed(r, document.Top(), "the folder has more than %d entries", f.entries)
		return nil, r.Errors
	}
	for _, entry := range entries {
		wrong := misspelled(entry.Name(), ending)
		if hidden(entry.Name()) || !wrong && !strings.HasSuffix(entry.Name(), ending) {
			continue
		}
		name := entry.Name()
		if folder != "." {
			name = folder + "/" + name
		}
		switch {
		case !fs.ValidPath(name) || strings.ContainsFunc(name, unicode.IsControl):
			r.Fail(document.Top(), "file %q has no plain name", name)
		case wrong:
			misnamed := &document.Reader{File: name}
			misnamed.Fail(document.Top(), "the name ends in %s, expected %s", path.Ext(name), ending)
			r.Errors = append(r.Errors, misnamed.Errors...)
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, r.Errors
}

// entriesOf returns the entries of a folder, up to one more than the limit.
func (f *packFiles) entriesOf(folder string) ([]fs.DirEntry, error) {
	opened, err := f.fsys.Open(folder)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, cause(err)
	}
	defer func() { _ = opened.Close() }() // opened for reading
	listed, ok := opened.(fs.ReadDirFile)
	if !ok {
		return nil, errors.New("is a file, expected a folder")
	}
	entries, err := listed.ReadDir(f.entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, cause(err)
	}
	return entries, nil
}

// read returns the content of a reader's file. ok is false if the file cannot be read, with a
// recorded mistake, and after the pack has exceeded a limit.
func (f *packFiles) read(r *document.Reader) (data []byte, ok bool) {
	if f.budget.Stopped() {
		return nil, false
	}
	limit := f.fileBytes
	if r.File == catalogueWire || r.File == catalogueJSON {
		limit = f.catalogueBytes
	}
	opened, err := f.fsys.Open(r.File)
	if err != nil {
		err = cause(err)
	} else {
		data, err = readAll(opened, limit)
	}
	if err != nil {
		r.Fail(document.Top(), "%v", err)
		return nil, false
	}
	if f.usedBytes += int64(len(data)); f.usedBytes > f.packBytes {
		f.budget.Exceed(r, document.Top(), "with this one, the files of the pack have more than %d bytes", f.packBytes)
		return nil, false
	}
	if f.sums != nil {
		f.sums[r.File] = sha256.Sum256(data)
	}
	return data, true
}
