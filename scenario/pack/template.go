package pack

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// templateFiles is a valid pack. NAME in pack.yaml is the placeholder of its name.
//
//go:embed template
var templateFiles embed.FS

// ErrName means that a name is not valid for a pack.
var ErrName = errors.New("name")

const (
	templateFolder = "template"
	// editorSchema is the schema that the first line of each file names for editors.
	editorSchema = "schema.json"
)

// WriteTemplate writes a new pack to a new or empty directory: a table, tools, a world,
// scenarios that can be run, scored and proven, and schema.json for editors. The pack has the
// directory's name. It returns the names of the files. The error is ErrName for an invalid name and
// fs.ErrExist if the directory contains files.
func WriteTemplate(dir string) (written []string, err error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	name := filepath.Base(absolute)
	if !form.NameExpression.MatchString(name) {
		return nil, fmt.Errorf("%w: %q is none of a pack, expected letters, digits, dots, dashes and underscores that start with a letter or digit", ErrName, name)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s holds %s: %w", dir, entries[0].Name(), fs.ErrExist)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	files, err := fs.Sub(templateFiles, templateFolder)
	if err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	if err := os.CopyFS(dir, files); err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	manifest, err := fs.ReadFile(files, ManifestFile)
	if err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ManifestFile), bytes.Replace(manifest, []byte("NAME"), []byte(name), 1), 0o644); err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	declared, categories, err := LoadSchema(files)
	if err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	schema, err := form.JSONSchema(world.SchemaOrBuiltin(declared), categories)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, editorSchema), schema, 0o644); err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			written = append(written, name)
		}
		return err
	})
	return written, err
}

// WriteScenario writes a new scenario to dir/name.yaml and, unless it exists, its world to
// dir/worlds. The error is fs.ErrExist if there is such a scenario.
func WriteScenario(dir, name string, text, world []byte) error {
	worlds := filepath.Join(dir, "worlds")
	if err := os.MkdirAll(worlds, 0o755); err != nil {
		return fmt.Errorf("write scenario: %w", err)
	}
	if err := writeNew(filepath.Join(dir, name+".yaml"), text); err != nil {
		return fmt.Errorf("write scenario: %w", err)
	}
	if err := writeNew(filepath.Join(worlds, scenario.TemplateWorld+".yaml"), world); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write scenario: %w", err)
	}
	return nil
}

// writeNew writes a file that must not exist.
func writeNew(name string, content []byte) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(content)
	return err
}
