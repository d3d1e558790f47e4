package pack

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// testPack returns a pack with every kind of file.
func testPack(t *testing.T) fstest.MapFS {
	t.Helper()
	recorded := named("recorded", "recordings: [{file: rates}, {url: u, params: {}, response: 3}]\n"+testScenario)
	other := proto.CloneOf(loadOne(t, testScenario))
	other.Setup.Name = "canonical"
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(&scenariov1.Catalogue{Scenarios: []*scenariov1.Scenario{other}})
	if err != nil {
		t.Fatal(err)
	}
	other.Setup.Name = "canonical_json"
	text, err := protojson.Marshal(&scenariov1.Catalogue{Scenarios: []*scenariov1.Scenario{other}})
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for name, content := range map[string]string{
		"pack.yaml":             "name: kitchen\ndescription: For tests.\n",
		"tools.yaml":            "set_wifi_status:\n  description: Radio.\n  arguments: {on: Whether it shall be on.}\n",
		"recordings/rates.yaml": "- {url: a, params: {}, response: 1}\n- {url: b, params: {}, response: 2}\n",
		"a.yaml":                named("one", testScenario), "b.yaml": recorded, "worlds/base.yaml": testWorld,
		"catalogue.binpb": string(wire), "catalogue.json": string(text), "schema.json": "{}", "notes.txt": "Not read.",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

func TestPack(t *testing.T) {
	pack, err := Load(testPack(t), Options{Options: testOptions()})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := []string{pack.Name, pack.Description}, []string{"kitchen", "For tests."}; !slices.Equal(got, want) {
		t.Errorf("pack: got %q, want %q", got, want)
	}
	want := &setupv1.ToolDescription{
		Tool: "set_wifi_status", Description: proto.String("Radio."),
		Arguments: []*setupv1.ArgumentDescription{{Name: "on", Description: "Whether it shall be on."}},
	}
	var names []string
	for _, l := range pack.Scenarios {
		name := l.Scenario.GetSetup().GetName()
		names = append(names, name)
		if diff := cmp.Diff([]*setupv1.ToolDescription{want}, l.Scenario.GetSetup().GetTools().GetDescriptions(), protocmp.Transform()); diff != "" {
			t.Errorf("%s: descriptions (-want +got):\n%s", name, diff)
		}
		if name == "recorded" {
			var urls []string
			for _, answer := range l.Scenario.GetSetup().GetRecordings() {
				urls = append(urls, answer.GetUrl()+answer.GetResponseJson())
			}
			if want := []string{"a1", "b2", "u3"}; !slices.Equal(urls, want) {
				t.Errorf("recordings: got %v, want %v", urls, want)
			}
		}
	}
	if want := []string{"canonical", "canonical_json", "one", "recorded"}; !slices.Equal(names, want) {
		t.Errorf("scenarios: got %v, want %v", names, want)
	}
}

func TestPackErrors(t *testing.T) {
	noMilestone := loadOne(t, testScenario)
	noMilestone.Setup.Name = "canonical"
	noMilestone.Setup.Tools.Deny = []string{"no_tool"}
	wire, err := proto.Marshal(&scenariov1.Catalogue{Scenarios: []*scenariov1.Scenario{noMilestone, noMilestone}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, content, want string }{
		{"unknown field of the pack", "pack.yaml", "name: a\ntitle: b",
			"pack.yaml:2:1: title: unknown field; expected one of name, version, licence, description, standalone, original, categories, tools, needs"},
		{"version", "pack.yaml", "name: a\nversion: 1.2", "pack.yaml:2:10: version: is a number, expected a text (quote it)"},
		{"version of two numbers", "pack.yaml", "name: a\nversion: 1.2.x", `pack.yaml:2:10: version: is "1.2.x", expected three numbers as in 1.4.0`},
		{"not the original's", "pack.yaml", "name: a\noriginal: false",
			"pack.yaml:2:11: original: is false, expected true; omit it for scenarios that are not the original's"},
		{"not alone", "pack.yaml", "name: a\nstandalone: false",
			"pack.yaml:2:13: standalone: is false, expected true; omit it for a pack with the built-in tools and tables"},
		{"category", "pack.yaml", "name: a\ncategories: [late, CANONICALIZATION]",
			`pack.yaml:2:14: categories[0]: is "late", expected up to 60 capital letters, digits and underscores that start with a letter` +
				"\npack.yaml:2:20: categories[1]: CANONICALIZATION exists; remove it"},
		{"needs", "pack.yaml", "name: a\nneeds: {commands: uvx}", "pack.yaml:2:19: needs.commands: is a text, expected a list"},
		{"two packs", "pack.yaml", "name: a\n---\nname: b", "pack.yaml:1:1: document: has 2 documents, expected one description of the pack"},
		{"unknown tool", "tools.yaml", "set_wify_status: {}", `tools.yaml:1:1: set_wify_status: unknown tool "set_wify_status"; did you mean "set_wifi_status"?`},
		{"unknown field of a tool", "tools.yaml", "add_contact: {text: x}", "tools.yaml:1:15: add_contact.text: unknown field; expected one of description, arguments"},
		{"text that is none", "tools.yaml", "add_contact: {arguments: {name: 5}}", "tools.yaml:1:33: add_contact.arguments.name: is a number, expected a text (quote it)"},
		{"recordings no list", "recordings/rates.yaml", "url: a", "recordings/rates.yaml:1:1: document: is a mapping, expected a list"},
		{"recording without answer", "recordings/rates.yaml", "- {url: a, params: {}}",
			`recordings/rates.yaml:1:3: [0]: has no "response", which is required`},
		{"no such recordings", "b.yaml", named("two", "recordings: [{file: rate}]\n"+testScenario),
			`b.yaml:2:23: two.recordings[0].file: there is no recordings/rate.yaml; did you mean "rates"?`},
		{"broken catalogue", "catalogue.json", `{"scenario": []}`, `catalogue.json:1:1: document: is no toolsandbox.scenario.v1.Catalogue: `},
		{"bad scenario", "catalogue.binpb", string(wire), `catalogue.binpb:1:1: canonical: another scenario is called "canonical" too, at catalogue.binpb:1:1; names must be unique` +
			"\n" + `catalogue.binpb:1:1: scenarios[0].setup.tools.deny[0]: canonical: unknown tool "no_tool"; expected one of set_wifi_status, add_contact, end_conversation` +
			"\n" + `catalogue.binpb:1:1: scenarios[1].setup.tools.deny[0]: canonical: unknown tool "no_tool"; expected one of set_wifi_status, add_contact, end_conversation`},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := testPack(t)
			fsys[c.file] = &fstest.MapFile{Data: []byte(c.content)}
			_, err := Load(fsys, Options{Options: testOptions()})
			if got := errorText(err); got != c.want && !(strings.HasSuffix(c.want, ": ") && strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestBrokenToolFile checks that a broken file of tools is reported without errors at calls of its
// tools.
func TestBrokenToolFile(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"tools/Lend.py", "", `tools/Lend.py:1:1: document: the name is "Lend", expected up to 60 lower-case letters, digits and underscores that start with a letter`},
		{"tools/lend.py", "\xff", "tools/lend.py:1:1: document: is not UTF-8"},
	} {
		fsys := testPack(t)
		fsys[c.name] = &fstest.MapFile{Data: []byte(c.content)}
		fsys["lends.yaml"] = &fstest.MapFile{Data: []byte(named("lends", strings.ReplaceAll(testScenario, "set_wifi_status", "lend")))}
		_, err := Load(fsys, Options{Options: testOptions()})
		if got := errorText(err); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestManifest checks manifest and digest of packs.
func TestManifest(t *testing.T) {
	load := func(files fs.FS) *Pack {
		t.Helper()
		pack, err := Load(files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return pack
	}
	files := testPack(t)
	first := load(files)
	files["pack.yaml"] = &fstest.MapFile{Data: []byte(
		"name: a\nversion: 1.4.0-rc.1\nlicence: MIT\ndescription: B.\ncategories: [LATE]\nneeds: {environment: [KEY], commands: [uvx]}\n")}
	files["late.yaml"] = &fstest.MapFile{Data: []byte(named("late", "categories: [SINGLE_TOOL_CALL, LATE]\n"+strings.Replace(testScenario, "categories: [SINGLE_TOOL_CALL]\n", "", 1)))}
	pack := load(files)
	want := Manifest{Name: "a", Version: "1.4.0-rc.1", Licence: "MIT", Description: "B.", Categories: []string{"LATE"}, Needs: []Need{
		{Variable: "KEY", Position: document.Position{File: "pack.yaml", Line: 6, Column: 23}}, {Command: "uvx", Position: document.Position{File: "pack.yaml", Line: 6, Column: 40}},
	}}
	if diff := cmp.Diff(want, pack.Manifest); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if first.Digest == pack.Digest || len(pack.Digest) != 64 {
		t.Errorf("digests: got %q and %q, want two different ones", first.Digest, pack.Digest)
	}
	for _, s := range pack.Scenarios {
		if categories := s.Scenario.GetSetup().GetCategories(); s.Scenario.GetSetup().GetName() == "late" && (!slices.Contains(categories, "LATE") || len(scenario.Variants(s.Scenario)) != len(scenario.NamedVariants())) {
			t.Errorf("late: got categories %v and %d variants, want LATE and all", categories, len(scenario.Variants(s.Scenario)))
		}
	}
	archive, err := unzip(zipped(t, files, "folder/"), defaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if got := load(archive).Digest; got != pack.Digest {
		t.Errorf("digest of the archive: got %s, want that of the directory, %s", got, pack.Digest)
	}
	files["notes.txt"] = &fstest.MapFile{Data: []byte("not read")}
	if got := load(files).Digest; got != pack.Digest {
		t.Errorf("digest with a file that is not read: got %s, want %s", got, pack.Digest)
	}
}

// TestStandalone checks that scenarios of a standalone pack cannot use built-in tables.
func TestStandalone(t *testing.T) {
	files := fstest.MapFS{
		"pack.yaml":   {Data: []byte("name: a\nstandalone: true\n")},
		"schema.yaml": {Data: []byte("tables: [{name: note, columns: [{name: note_id, type: text}]}]\n")},
		"one.yaml":    {Data: []byte(named("one", "tables: {setting: []}\n"+testScenario))},
	}
	_, err := Load(files, Options{})
	if want := `one.yaml:2:12: one.tables.setting: unknown table "setting"`; !strings.HasPrefix(errorText(err), want) {
		t.Errorf("got %v, want an error that begins with %s", err, want)
	}
	declared, _, err := LoadSchema(files)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range world.SchemaOrBuiltin(declared).Tables() {
		names = append(names, table.Name)
	}
	if diff := cmp.Diff([]string{world.Sandbox, "NOTE"}, names); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// zipped returns an archive of files in a folder.
func zipped(t *testing.T, fsys fstest.MapFS, folder string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(fsys)) {
		file, err := w.Create(folder + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(fsys[name].Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{
		write("flat.zip", zipped(t, testPack(t), "")), write("folder.ZIP", zipped(t, testPack(t), "kitchen/")),
		write("mac.zip", zipped(t, withHiddenFiles(testPack(t), "lib/"), "")), write("worlds.zip", zipped(t, testPack(t), "worlds/")),
		write("marks.zip", zipped(t, withMarks(testPack(t)), "")), write("windows.zip", zipped(t, withBackslashes(testPack(t)), "")),
	} {
		files, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		pack, err := Load(files, Options{Options: testOptions()})
		if err != nil {
			t.Fatal(err)
		}
		if len(pack.Scenarios) != 4 || pack.Name != "kitchen" {
			t.Errorf("%s: got %d scenarios of %q, want 4 of kitchen", path, len(pack.Scenarios), pack.Name)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "worlds"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, file := range withHiddenFiles(fstest.MapFS{"a.yaml": {Data: []byte(named("one", testScenario))}, "worlds/base.yaml": {Data: []byte(testWorld)}}, "") {
		if !strings.HasPrefix(name, "__MACOSX") {
			write(name, file.Data)
		}
	}
	files, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err := readPack(files, testOptions()); err != nil || len(loaded) != 1 {
		t.Errorf("directory: got %d scenarios and %v, want 1", len(loaded), err)
	}
	if _, err := Open(write("a.tar", nil)); !errors.Is(err, ErrNotPack) {
		t.Errorf("another file: got %v, want ErrNotPack", err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v, want fs.ErrNotExist", err)
	}
}

// withHiddenFiles returns a pack in a folder, with the files that macOS and Emacs leave beside it.
func withHiddenFiles(fsys fstest.MapFS, folder string) fstest.MapFS {
	all := fstest.MapFS{".DS_Store": {Data: []byte{0}}, "__MACOSX/._lib": {Data: []byte{0}}, folder + ".#a.yaml": {Data: []byte{0}}}
	for name, file := range fsys {
		dir, base := path.Split(folder + name)
		all[folder+name] = file
		for _, hidden := range []string{dir + "._" + base, "__MACOSX/" + dir + "._" + base} {
			all[hidden] = &fstest.MapFile{Data: []byte{0, 5, 22, 7}}
		}
	}
	return all
}

// withBackslashes returns a pack in a folder, with the separators of Windows.
func withBackslashes(fsys fstest.MapFS) fstest.MapFS {
	all := fstest.MapFS{`lib\`: {}, `lib\worlds\`: {}}
	for name, file := range fsys {
		all[`lib\`+strings.ReplaceAll(name, "/", `\`)] = file
	}
	return all
}

// withMarks returns a pack with a byte order mark before each file.
func withMarks(fsys fstest.MapFS) fstest.MapFS {
	for _, file := range fsys {
		file.Data = append([]byte("\ufeff"), file.Data...)
	}
	return fsys
}

// TestOpenErrors checks errors for archives with paths outside the pack or excessive size.
func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		header zip.FileHeader
		want   string
	}{
		{"above", zip.FileHeader{Name: "../a.yaml"}, "leads out of the archive"},
		{"above, later", zip.FileHeader{Name: "a/../../b.yaml"}, "leads out of the archive"},
		{"root", zip.FileHeader{Name: "/a.yaml"}, "leads out of the archive"},
		{"other system", zip.FileHeader{Name: `..\a.yaml`}, "leads out of the archive"},
		{"drive", zip.FileHeader{Name: "c:a.yaml"}, "leads out of the archive"},
		{"link", linkHeader(), "neither a file nor a directory"},
	} {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		if _, err := w.CreateHeader(&c.header); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.zip")
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrNotPack) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want ErrNotPack that %s", c.name, err, c.want)
		}
	}
}

func linkHeader() zip.FileHeader {
	header := zip.FileHeader{Name: "a.yaml"}
	header.SetMode(fs.ModeSymlink | 0o777)
	return header
}

// FuzzUnzip checks that unzip does not panic and that accepted archives are readable within the
// limits.
func FuzzUnzip(f *testing.F) {
	var empty bytes.Buffer
	if err := zip.NewWriter(&empty).Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(empty.Bytes())
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := unzip(data, defaultLimits())
		if err != nil {
			return
		}
		if _, err := Load(files, Options{Options: testOptions()}); err == nil && len(data) == 0 {
			t.Error("nothing is a pack")
		}
	})
}

func TestDuplicatesInBothCatalogues(t *testing.T) {
	fsys := testPack(t)
	catalogue := &scenariov1.Catalogue{}
	if err := proto.Unmarshal(fsys["catalogue.binpb"].Data, catalogue); err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	fsys["catalogue.json"] = &fstest.MapFile{Data: text}
	const want = `catalogue.binpb:1:1: canonical: another scenario is called "canonical" too, at catalogue.json:1:1; names must be unique`
	for range 20 { // the order must not be random
		if _, err := Load(fsys, Options{Options: testOptions()}); err == nil || err.Error() != want {
			t.Fatalf("Load: got %v, want %s", err, want)
		}
	}
}
