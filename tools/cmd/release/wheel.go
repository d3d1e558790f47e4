package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sdkWheel builds the wheel of the SDK, which has no program, from the sources below root. It calls
// setuptools of a Python and no network.
func sdkWheel(ctx context.Context, root, python string) (_ *zip.Reader, err error) {
	// setuptools writes beside the sources, and packs what an earlier build has left there.
	work, err := os.MkdirTemp("", "sdk-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	source, out := filepath.Join(work, "source"), filepath.Join(work, "out")
	for _, name := range []string{"sdk/python/pyproject.toml", "sdk/python/README.md", "LICENSE", "NOTICE"} {
		if err := copyFile(filepath.Join(root, name), filepath.Join(source, filepath.Base(name))); err != nil {
			return nil, err
		}
	}
	packages := filepath.Join("src", "toolsandbox")
	if err := os.CopyFS(filepath.Join(source, packages), os.DirFS(filepath.Join(root, "sdk", "python", packages))); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", out, source)
	if printed, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the wheel of the SDK: %w: %s", err, printed)
	}
	wheels, err := filepath.Glob(filepath.Join(out, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return nil, fmt.Errorf("build the wheel of the SDK: got %q, want one wheel", wheels)
	}
	data, err := os.ReadFile(wheels[0])
	if err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(data), int64(len(data)))
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// wheel returns the wheel of the SDK with a program for the platforms of tags, and its name. Its
// format is PEP 427, the list of modules is where PEP 770 puts it.
func wheel(sdk *zip.Reader, tags []string, program, modules file) (string, []byte, error) {
	var files []file
	info := ""
	for _, entry := range sdk.File {
		data, err := read(entry)
		if err != nil {
			return "", nil, err
		}
		dir, name, _ := strings.Cut(entry.Name, "/")
		if strings.HasSuffix(dir, ".dist-info") {
			info = dir
			if name == "WHEEL" || name == "RECORD" {
				continue
			}
		}
		files = append(files, file{name: entry.Name, data: data})
	}
	distribution, ok := strings.CutSuffix(info, ".dist-info")
	if !ok {
		return "", nil, errors.New("the wheel of the SDK has no .dist-info")
	}
	text := "Wheel-Version: 1.0\nGenerator: toolsandbox release\nRoot-Is-Purelib: false\n"
	for _, tag := range tags {
		text += "Tag: py3-none-" + tag + "\n"
	}
	program.name = distribution + ".data/scripts/" + program.name
	modules.name = info + "/sboms/" + modules.name
	data, err := packWheel(info, append(files, program, modules, file{name: info + "/WHEEL", data: []byte(text)}))
	return distribution + "-py3-none-" + strings.Join(tags, ".") + ".whl", data, err
}

// packWheel returns a zip archive of files and of their RECORD. The directory info comes last, as
// PEP 427 recommends.
func packWheel(info string, files []file) ([]byte, error) {
	var out, record bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(f file) error {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch}
		header.SetMode(os.FileMode(f.mode()))
		entry, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		_, err = entry.Write(f.data)
		return err
	}
	for _, last := range []bool{false, true} {
		for _, f := range files {
			if strings.HasPrefix(f.name, info+"/") != last {
				continue
			}
			sum := sha256.Sum256(f.data)
			fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
			if err := add(f); err != nil {
				return nil, err
			}
		}
	}
	name := info + "/RECORD"
	fmt.Fprintf(&record, "%s,,\n", name)
	if err := add(file{name: name, data: record.Bytes()}); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

func read(entry *zip.File) (_ []byte, err error) {
	r, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}
