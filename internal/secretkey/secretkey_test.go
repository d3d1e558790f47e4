package secretkey_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/secretkey"
)

// TestLookup reads each text from a variable and from a file.
func TestLookup(t *testing.T) {
	const wanted = "sk-1_A/b+c="
	for _, test := range []struct{ text, want, wrong string }{
		{wanted, wanted, ""},
		{wanted + "\n", wanted, ""},
		{" \t" + wanted + "\r\n\r\n", wanted, ""},
		{"\ufeff" + wanted + "\r\n", wanted, ""},
		{"\n\ufeff " + wanted, wanted, ""},
		{"\u00a0" + wanted + "\u00a0", wanted, ""},
		{"sk 1", "", "has U+0020 as its character 3: expected printable ASCII without blanks, on one line"},
		{"sk\n1", "", "has U+000A as its character 3"},
		{"sk\t1", "", "has U+0009 as its character 3"},
		{"sk-\u200b1", "", "has U+200B as its character 4"},
		{"sk-é", "", "has U+00E9 as its character 4"},
		{"sk\xff", "", "has U+FFFD as its character 3"},
		{"sk\x001", "", "has U+0000 as its character 3"},
		{`"sk-1"`, "", "stands in quotes: remove them"},
		{"\xff\xfes\x00k\x00", "", "is UTF-16: save the file as UTF-8"},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for source, environment := range map[string]map[string]string{
			"the key in A_KEY":                     {"A_KEY": test.text, "A_KEY_FILE": "unused"},
			"the key in A_KEY_FILE, " + path + ",": {"A_KEY_FILE": path},
		} {
			got, err := secretkey.Lookup(func(name string) string { return environment[name] }, "A_KEY")
			switch {
			case got != test.want:
				t.Errorf("%s %q: got %q, want %q", source, test.text, got, test.want)
			case test.wrong == "" && err != nil:
				t.Errorf("%s %q: got %v", source, test.text, err)
			case test.wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), source+" "+test.wrong)):
				t.Errorf("%s %q: got %v, want %q", source, test.text, err, test.wrong)
			}
		}
	}
}

// TestLookupNone checks what is no key: nothing in either variable, an empty or a missing file.
func TestLookupNone(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"": "", empty: "the key in A_KEY_FILE, " + empty + ", is missing: the file is empty", empty + "x": "read A_KEY_FILE: open " + empty + "x: no such file",
	} {
		key, err := secretkey.Lookup(func(name string) string {
			if name == "A_KEY_FILE" {
				return file
			}
			return " "
		}, "A_KEY")
		if key != "" || (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %q and %v, want no key and %q", file, key, err, want)
		}
	}
}
