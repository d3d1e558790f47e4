package pack

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// smallLimits returns limits that small packs can exceed.
func smallLimits() limits {
	return limits{
		fileBytes: 2000, catalogueBytes: 3000, packBytes: 4000, entries: 8, scenarios: 3, mistakes: 5, rows: scenario.Budget{Rows: 9, Visits: 20, Copies: 60},
	}
}

func TestLimits(t *testing.T) {
	scenario := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(named(name, testScenario))}
	}
	comment := func(size int) *fstest.MapFile {
		return &fstest.MapFile{Data: bytes.Repeat([]byte("#"), size)}
	}
	rows := func(count int) string {
		text := testWorld
		for i := range count {
			text += fmt.Sprintf("    - {person_id: b%d, name: Bob, phone_number: \"+493023125001\"}\n", i)
		}
		return text
	}
	crowd := fstest.MapFS{}
	for i := range 9 {
		crowd[fmt.Sprintf("%d.txt", i)] = comment(1)
	}
	for _, c := range []struct {
		name string
		fsys fstest.MapFS
		want string
	}{
		{"file", fstest.MapFS{"a.yaml": comment(2001)}, "a.yaml:1:1: document: the file has 2001 bytes; at most 2000 are read"},
		{"world", fstest.MapFS{"worlds/a.yaml": comment(2001)}, "worlds/a.yaml:1:1: document: the file has 2001 bytes; at most 2000 are read"},
		{"recordings", fstest.MapFS{"recordings/a.yaml": comment(2001)}, "recordings/a.yaml:1:1: document: the file has 2001 bytes; at most 2000 are read"},
		{"tools", fstest.MapFS{"tools.yaml": comment(2001)}, "tools.yaml:1:1: document: the file has 2001 bytes; at most 2000 are read"},
		{"name of the pack", fstest.MapFS{"pack.yaml": comment(2001)}, "pack.yaml:1:1: document: the file has 2001 bytes; at most 2000 are read"},
		{"catalogue", fstest.MapFS{"catalogue.json": comment(3001)}, "catalogue.json:1:1: document: the file has 3001 bytes; at most 3000 are read"},
		{"all files", fstest.MapFS{"a.yaml": comment(1500), "b.yaml": comment(1500), "c.yaml": comment(1500), "d.yaml": comment(1)},
			"c.yaml:1:1: document: with this one, the files of the pack have more than 4000 bytes; nothing after it is read"},
		{"entries", crowd, ".:1:1: document: the folder has more than 8 entries; nothing after it is read"},
		{"scenarios", fstest.MapFS{"a.yaml": scenario("a"), "b.yaml": scenario("b"), "c.yaml": scenario("c"), "d.yaml": scenario("d"),
			"worlds/base.yaml": {Data: []byte(testWorld)}},
			"d.yaml:1:1: document: is one scenario too many; at most 3 are read; nothing after it is read"},
		{"rows of a world", fstest.MapFS{"worlds/base.yaml": {Data: []byte(rows(8))}},
			"worlds/base.yaml:1:1: document: with this one, the worlds and scenarios of the pack start with more than 9 rows; nothing after it is read"},
		{"rows of scenarios", fstest.MapFS{"a.yaml": scenario("a"), "b.yaml": scenario("b"), "worlds/base.yaml": {Data: []byte(rows(2))}},
			"b.yaml:1:1: document: with this one, the worlds and scenarios of the pack start with more than 9 rows; nothing after it is read"},
		{"looks", fstest.MapFS{"worlds/a.yaml": {Data: []byte(rows(5))}, "worlds/b.yaml": {Data: []byte(
			"extends: a\ntables: {contact: {change: [" + strings.Repeat("{where: {name: Bob}, set: {name: Bob}},\n", 5) + "]}}")}},
			"worlds/b.yaml:6:9: tables.contact.change[4].where: with this one, changes, removals and names look at more than 20 rows; nothing after it is read"},
		{"copies", fstest.MapFS{"a.yaml": scenario("a"), "b.yaml": {Data: []byte("b: {extends: a, notes: b}\n")}, "worlds/base.yaml": {Data: []byte(testWorld)}},
			"b.yaml:1:14: b.extends: with this one, scenarios take over more than 60 values from those that they extend; nothing after it is read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(c.fsys, Options{Options: testOptions()}, smallLimits())
			if got := errorText(err); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestMaxMistakes loads a pack with more mistakes than are reported.
func TestMaxMistakes(t *testing.T) {
	fsys := fstest.MapFS{
		"a.yaml":         {Data: []byte(strings.Repeat("{}\n---\n", 7_000))},
		"catalogue.json": {Data: []byte(`{"scenarios": [` + strings.Repeat("{},", 400_000) + `{}]}`)},
	}
	_, err := Load(fsys, Options{Options: testOptions()})
	var mistakes document.Errors
	if !errors.As(err, &mistakes) || len(mistakes) != document.MaxMistakes+1 {
		t.Fatalf("got %d mistakes, want %d", len(mistakes), document.MaxMistakes+1)
	}
	const want = "more mistakes from here on; at most 1000 are reported at once"
	if got := mistakes[document.MaxMistakes].Reason; got != want {
		t.Errorf("last mistake: got %q, want %q", got, want)
	}
}

// TestTooManyIndicators loads short files that would need a multiple of their size in memory.
func TestTooManyIndicators(t *testing.T) {
	const reason = ":1:1: document: the file has more than 250000 brackets, braces, commas, colons and dashes; no more are read"
	for _, text := range []string{
		strings.Repeat("[", document.MaxFile), "tables: {contact: [" + strings.Repeat("{},", 300_000) + "{}]}", strings.Repeat("- ", document.MaxFile/2), strings.Repeat("a: ", 300_000),
	} {
		_, err := Load(fstest.MapFS{"a.yaml": {Data: []byte(text)}, "worlds/a.yaml": {Data: []byte(text)}}, Options{Options: testOptions()})
		if got, want := errorText(err), "a.yaml"+reason+"\nworlds/a.yaml"+reason; got != want {
			t.Errorf("%.20s…: got %.300s, want %s", text, got, want)
		}
	}
}

// TestAliases loads aliases that would expand exponentially.
func TestAliases(t *testing.T) {
	text := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'z'; c++ {
		text += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	_, err := Load(fstest.MapFS{"a.yaml": {Data: []byte(text)}}, Options{Options: testOptions()})
	const want = "a.yaml:1:4: a: anchors and aliases are not read; write the value out\n"
	if got := errorText(err); !strings.Contains(got, want) {
		t.Errorf("got %.300s, want it to contain %s", got, want)
	}
	if _, err := form.Format("a.yaml", []byte(text)); !strings.Contains(errorText(err), want) {
		t.Errorf("Format: got %.300s, want it to contain %s", errorText(err), want)
	}
}

// TestIrregularFiles checks that packs with blocking or endless files are rejected without opening
// those.
func TestIrregularFiles(t *testing.T) {
	for _, name := range []string{"a.yaml", "pack.yaml", "tools.yaml", "catalogue.json", "catalogue.binpb", "worlds/a.yaml", "recordings/a.yaml"} {
		for _, c := range []struct {
			kind string
			make func(path string) error
			want string
		}{
			{"pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is a named pipe, expected a regular file"},
			{"socket", listenAt, "is a socket, expected a regular file"},
			{"directory", func(path string) error { return os.Mkdir(path, 0o700) }, "is a directory, expected a regular file"},
			{"device", func(path string) error { return os.Symlink("/dev/zero", path) },
				"is a link that leads out of the pack or in a circle: path escapes from parent"},
			{"other folder", func(path string) error { return os.Symlink("/etc/passwd", path) },
				"is a link that leads out of the pack or in a circle: path escapes from parent"},
			{"circle", func(path string) error { return os.Symlink(filepath.Base(path), path) },
				"is a link that leads out of the pack or in a circle: too many levels of symbolic links"},
		} {
			dir := t.TempDir()
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			_, err := readPack(directory(dir), testOptions())
			if got, want := errorText(err), name+":1:1: document: "+c.want; got != want {
				t.Errorf("%s as %s:\ngot  %s\nwant %s", name, c.kind, got, want)
			}
		}
	}
}

// TestOtherEndings loads packs of which a file's name ends in another spelling.
func TestOtherEndings(t *testing.T) {
	for name, want := range map[string]string{
		"b.yml":             `b.yml:1:1: document: the name ends in .yml, expected .yaml`,
		"b.YAML":            `b.YAML:1:1: document: the name ends in .YAML, expected .yaml`,
		"worlds/b.Yml":      `worlds/b.Yml:1:1: document: the name ends in .Yml, expected .yaml`,
		"recordings/b.yml":  `recordings/b.yml:1:1: document: the name ends in .yml, expected .yaml`,
		"tools/b.PY":        `tools/b.PY:1:1: document: the name ends in .PY, expected .py`,
		"measures/b.Py":     `measures/b.Py:1:1: document: the name ends in .Py, expected .py`,
		".hidden.yml":       "",
		"b.yaml.orig":       "",
		"tools/schema.yml":  "",
		".github/build.yml": "",
	} {
		files := fstest.MapFS{"a.yaml": {Data: []byte(named("one", testScenario))}, "worlds/base.yaml": {Data: []byte(testWorld)}, name: {Data: []byte("x")}}
		if _, err := readPack(files, testOptions()); errorText(err) != want {
			t.Errorf("%s: got %s, want %s", name, errorText(err), want)
		}
	}
	if !IsPack(fstest.MapFS{"b.yml": {}}) {
		t.Error("b.yml alone: got no pack, want one, so that its name is a mistake")
	}
}

// listenAt creates a socket in a directory. It creates it elsewhere first, because socket paths are
// short.
func listenAt(path string) error {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	return listener.Close()
}

// TestLinks loads a pack whose files are links within it, as Kubernetes mounts them.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"..data/a.yaml": named("one", testScenario), "..data/worlds/base.yaml": testWorld} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"a.yaml": "..data/a.yaml", "worlds": "..data/worlds"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if loaded, err := readPack(directory(dir), testOptions()); err != nil || len(loaded) != 1 {
		t.Errorf("got %d scenarios and %v, want 1", len(loaded), err)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	pipe, long := filepath.Join(dir, "pipe.zip"), filepath.Join(dir, "long")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(long, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{
		{pipe, "is a named pipe, expected a regular file"},
		{"/dev/zero", "is a device, expected a regular file"},
		{dir, "is a directory, expected a regular file"},
		{long, "the file has 5 bytes; at most 4 are read"},
		{"/proc/self/status", "the file has more than the maximum of 4 bytes"}, // has no stated size
		{filepath.Join(dir, "none"), "cannot be read: no such file or directory"},
	} {
		if _, err := ReadFile(c.name, 4); errorText(err) != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := Open(pipe); !errors.Is(err, ErrNotPack) || !strings.HasSuffix(err.Error(), "is a named pipe, expected a regular file") {
		t.Errorf("Open of a pipe: got %v, want ErrNotPack", err)
	}
}

// TestUnusualArchives checks errors for archives with unusual properties.
func TestUnusualArchives(t *testing.T) {
	archive := func(headers ...zip.FileHeader) []byte {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for i := range headers {
			file, err := w.CreateRaw(&headers[i])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.Write([]byte("a: b\n")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	stored := func(name string) zip.FileHeader {
		return zip.FileHeader{Name: name, CompressedSize64: 5, UncompressedSize64: 5}
	}
	locked, other, lying := stored("a.yaml"), stored("a.yaml"), stored("a.yaml")
	locked.Flags, other.Method, lying.UncompressedSize64 = encrypted, 99, 1<<40
	deep := stored(strings.Repeat("a/", maxArchiveDepth+1) + "a.yaml")
	many := make([]zip.FileHeader, 9)
	for i := range many {
		many[i] = stored(fmt.Sprintf("%d.yaml", i))
	}
	for _, c := range []struct {
		name    string
		headers []zip.FileHeader
		want    string
	}{
		{"password", []zip.FileHeader{locked}, `file "a.yaml" is encrypted; pack it without a password`},
		{"twice", []zip.FileHeader{stored("a.yaml"), stored("a.yaml")}, `file "a.yaml" occurs twice`},
		{"deep", []zip.FileHeader{deep}, `file "a/a/a/a/a/a/a/a/a/a/a/a.yaml" lies in more than 10 folders`},
		{"many", many, "has 9 files; at most 8 are read"},
		{"method", []zip.FileHeader{other}, "a.yaml:1:1: document: cannot be read: zip: unsupported compression algorithm"},
		{"size", []zip.FileHeader{lying}, "a.yaml:1:1: document: the file has 1099511627776 bytes; at most 2000 are read"},
		{"empty", nil, ""},
	} {
		files, err := unzip(archive(c.headers...), smallLimits())
		if err == nil {
			_, err = load(files, Options{Options: testOptions()}, smallLimits())
		}
		if errorText(err) != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// TestUnpackedSize loads a small archive of a large file.
func TestUnpackedSize(t *testing.T) {
	archive := zipped(t, fstest.MapFS{"catalogue.json": {Data: []byte(`{"scenarios": [` + strings.Repeat("{},", 12<<20) + "{}]}")}}, "")
	path := filepath.Join(t.TempDir(), "bomb.zip")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Load(files, Options{Options: testOptions()})
	const want = "catalogue.json:1:1: document: the file has 37748755 bytes; at most 33554432 are read"
	if errorText(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestUnreadableFile(t *testing.T) {
	denied := deniedFS{files(testScenario, testWorld)}
	_, err := Load(denied, Options{Options: testOptions()})
	if want := "a.yaml:1:1: document: cannot be read: permission denied"; errorText(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// deniedFS denies access to a pack's scenario. File permissions would not do so for root.
type deniedFS struct{ fs.FS }

func (d deniedFS) Open(name string) (fs.File, error) {
	if name == "a.yaml" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
	}
	return d.FS.Open(name)
}
