package storage_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/s3test"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// TestJoin joins paths of both kinds. A path stays in its bucket.
func TestJoin(t *testing.T) {
	t.Parallel()
	for want, elements := range map[string][]string{
		"s3://b":         {"s3://b/", "..", ".."},
		"s3://b/x":       {"s3://b", "x/"},
		"s3://b/p/x/y":   {"s3://b/p/", "x", "./y"},
		"s3://b/q":       {"s3://b/p", "..", "q"},
		"../x":           {"..", "x"},
		"s3:/not/bucket": {"s3:", "not", "bucket"},
	} {
		if got := filepath.ToSlash(storage.Join(elements[0], elements[1:]...)); got != want {
			t.Errorf("join %q: got %s, want %s", elements, got, want)
		}
	}
}

// TestStorage does the same to a directory and to a bucket.
func TestStorage(t *testing.T) {
	s3test.Start(t)
	for name, dir := range map[string]string{"directory": t.TempDir(), "bucket": "s3://bucket/a prefix/run"} {
		t.Run(name, func(t *testing.T) {
			at := func(elements ...string) string { return storage.Join(dir, elements...) }
			for _, err := range []error{read(at("none")), size(at("none")), opened(at("none")), list(at("none")), storage.Remove(at("d", "none")), size(at("d"))} {
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("what does not exist: got %v", err)
				}
			}
			large := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // more than a block
			for path, data := range map[string][]byte{at("d", "x"): []byte("1"), at("d", "e", "y"): nil, at("z"): large} {
				if err := storage.WriteFile(path, []byte("old"), true); err != nil {
					t.Fatal(err)
				}
				if err := storage.WriteFile(path, data, false); err != nil {
					t.Fatal(err)
				}
				got, err := storage.ReadFile(path)
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%s: got %d bytes and %v, want %d", path, len(got), err, len(data))
				}
			}
			checkFile(t, at("z"), large)
			if err := storage.Rename(at("d", "x"), at("d", "renamed")); err != nil {
				t.Fatal(err)
			}
			names, err := storage.ReadDir(at("d"))
			if want := []string{"e/", "renamed"}; err != nil || !slices.Equal(names, want) {
				t.Errorf("names: got %q and %v, want %q", names, err, want)
			}
			for path, want := range map[string]bool{at("d"): true, at("z"): true, at("d", "x"): false, at("z", "below a file"): false} {
				if got, err := storage.Exists(path); got != want || err != nil {
					t.Errorf("%s exists: got %v and %v, want %v", path, got, err, want)
				}
			}
			if err := storage.Sync(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

func read(path string) error { _, err := storage.ReadFile(path); return err }
func size(path string) error { _, err := storage.Size(path); return err }
func list(path string) error { _, err := storage.ReadDir(path); return err }
func opened(path string) error {
	file, err := storage.Open(path)
	if err == nil {
		err = file.Close()
	}
	return err
}

// checkFile reads a file at random places and compares its digest.
func checkFile(t *testing.T, path string, want []byte) {
	t.Helper()
	file, err := storage.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, span := range [][2]int64{{0, 4}, {1<<20 - 3, 10}, {int64(len(want)) - 8, 8}, {5, 2 << 20}} {
		got := make([]byte, span[1])
		if n, err := file.ReadAt(got, span[0]); err != nil || !bytes.Equal(got, want[span[0]:span[0]+span[1]]) {
			t.Errorf("%d bytes at %d: got %d and %v", span[1], span[0], n, err)
		}
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	published := path + ".published"
	prepared, err := storage.Create(published)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = prepared.Write(want); err == nil {
		err = prepared.Close()
	}
	sum, sumErr := storage.Sum(path)
	if err := errors.Join(err, sumErr, storage.Publish(prepared.Name(), published, sum)); err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Sum(published); err != nil || got != sum {
		t.Errorf("digest: got %s and %v, want %s", got, err, sum)
	}
	if _, err := os.Stat(prepared.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the prepared file is still there: %v", err)
	}
}

// TestVersions writes a file of two clients, of which the second finds out.
func TestVersions(t *testing.T) {
	s3test.Start(t)
	const path = "s3://bucket/run/run.json"
	first, err := storage.WriteVersion(path, []byte("1"), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.WriteVersion(path, []byte("other"), ""); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("a second file: got %v, want %v", err, storage.ErrChanged)
	}
	if again, err := storage.WriteVersion(path, []byte("1"), ""); err != nil || again != first {
		t.Errorf("an attempt whose answer was lost: got version %s and %v, want %s", again, err, first)
	}
	_, version, err := storage.ReadVersion(path)
	if err != nil || version != first {
		t.Fatalf("version: got %s and %v, want %s", version, err, first)
	}
	second, err := storage.WriteVersion(path, []byte("2"), version)
	if err != nil || second == first {
		t.Fatalf("next version: got %s and %v", second, err)
	}
	if _, err := storage.WriteVersion(path, []byte("3"), first); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("an old version: got %v, want %v", err, storage.ErrChanged)
	}
	if err := errors.Join(storage.CheckVersion(path, second), storage.CheckVersion(path, "")); err != nil {
		t.Error(err)
	}
	if err := storage.CheckVersion(path, first); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("check of an old version: got %v, want %v", err, storage.ErrChanged)
	}
}

// TestBucketErrors names bucket, key and what was expected, and no secret.
func TestBucketErrors(t *testing.T) {
	s3test.Start(t)
	check := func(name string, err error, wants ...string) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: got no error", name)
			return
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", name, err, want)
			}
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "tester") {
			t.Errorf("%s: a secret is in %v", name, err)
		}
	}
	check("no such bucket", storage.WriteFile("s3://none/key", nil, true), "s3://none/key", "bucket none does not exist at http://", "make it")
	check("list of no bucket", list("s3://none/key"), "s3://none/key", "bucket none does not exist")
	check("no name", read("s3:///key"), "s3:///key names no bucket: expected s3://bucket/prefix")
	check("no key", read("s3://bucket/none"), "s3://bucket/none", "does not exist")
	denying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>`))
	}))
	defer denying.Close()
	t.Setenv("AWS_ENDPOINT_URL", denying.URL)
	check("denied", storage.WriteFile("s3://bucket/key", nil, true), "s3://bucket/key", "SignatureDoesNotMatch", "expected credentials for bucket bucket in AWS_ACCESS_KEY_ID")
	for _, wrong := range []string{"s3.example.com", "http://u:secret@host", "http://host/path", "ftp://host", "http://host?secret"} {
		t.Setenv("AWS_ENDPOINT_URL", wrong)
		check(wrong, read("s3://bucket/key"), "AWS_ENDPOINT_URL: expected http:// or https://")
	}
}

// TestExistsWithoutAnswer asks services that fail or do not listen: nothing is known of the bucket.
func TestExistsWithoutAnswer(t *testing.T) {
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer failing.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "tester")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "us-east-1")
	for name, endpoint := range map[string]string{"answers 500": failing.URL, "refuses the connection": "http://" + porttest.Address(t)} {
		t.Setenv("AWS_ENDPOINT_URL", endpoint)
		found, err := storage.Exists("s3://bucket/run")
		if found || err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "s3://bucket/run") {
			t.Errorf("a service that %s: got %v and %v, want an error that names the bucket", name, found, err)
		}
	}
}
