package catalogue

import (
	"os"
	"path/filepath"
	"testing"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

// TestFreeze writes lists of tools that whoever may read the pack may read.
func TestFreeze(t *testing.T) {
	dir := t.TempDir()
	manifest := filepath.Join(dir, pack.ManifestFile)
	if err := os.WriteFile(manifest, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	frozen, err := Pack{dir, &pack.Pack{ToolServers: []*setupv1.ToolServer{{Name: "desk"}}}}.Freeze()
	if err != nil || len(frozen) != 1 || frozen[0] != filepath.Join(dir, "tools", "desk.json") {
		t.Fatalf("got %v and error %v", frozen, err)
	}
	var modes []os.FileMode
	for _, name := range []string{manifest, frozen[0]} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		modes = append(modes, info.Mode())
	}
	if modes[0] != modes[1] {
		t.Errorf("mode of the list: got %v, want %v as of the manifest", modes[1], modes[0])
	}
}
