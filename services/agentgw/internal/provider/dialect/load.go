package dialect

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/python"
)

// suffix is the extension of template files.
const suffix = ".tmpl"

// maxTemplate bounds the bytes of a user's template.
const maxTemplate = 1 << 20

//go:embed template/*.tmpl
var embedded embed.FS

// Load returns the dialects by name, with the built-in templates. A file NAME.tmpl in dir replaces
// the template of that name. An empty dir replaces none. The error names the file and, where
// possible, the line.
func Load(dir string) (map[string]Codec, error) {
	codecs := make(map[string]Codec)
	files, err := fs.ReadDir(embedded, "template")
	if err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(embedded, "template/"+file.Name())
		if err != nil {
			return nil, fmt.Errorf("read templates: %w", err)
		}
		if err := add(codecs, file.Name(), file.Name(), string(text)); err != nil {
			return nil, err
		}
	}
	if dir == "" {
		return codecs, nil
	}
	return codecs, replace(codecs, dir)
}

// replace replaces templates by those of a directory.
func replace(codecs map[string]Codec, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read templates: %w", err)
	}
	for _, file := range files {
		if file.IsDir() || filepath.Ext(file.Name()) != suffix {
			continue
		}
		path := filepath.Join(dir, file.Name())
		info, err := file.Info()
		if err != nil {
			return fmt.Errorf("read templates: %w", err)
		}
		if info.Size() > maxTemplate {
			return fmt.Errorf("template %s: %d bytes, expected at most %d", path, info.Size(), maxTemplate)
		}
		text, err := bom.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read templates: %w", err)
		}
		if err := add(codecs, file.Name(), path, string(text)); err != nil {
			return err
		}
		if err := codecs[strings.TrimSuffix(file.Name(), suffix)].check(); err != nil {
			return err
		}
	}
	return nil
}

// add parses a template.
func add(codecs map[string]Codec, file, path, text string) error {
	parsed, err := template.New(path).Funcs(template.FuncMap{
		"ascii": func(v any) (string, error) { return jsonText(v, python.ASCIIJSON) },
		"json":  func(v any) (string, error) { return jsonText(v, python.JSON) },
		"trim":  strings.TrimSpace,
		"line":  func(s string) string { return strings.Join(strings.Fields(s), " ") },
	}).Parse(text)
	if err != nil {
		return templateError(err)
	}
	c, ok := codec(strings.TrimSuffix(file, suffix), parsed)
	if !ok {
		return fmt.Errorf("template %s: expected one of %s", path, strings.Join(Files(), ", "))
	}
	codecs[strings.TrimSuffix(file, suffix)] = c
	return nil
}

// check renders all samples, so that a broken template fails before a model is asked. It returns
// the first error. The error names the sample, unless all samples fail.
func (c Codec) check() error {
	var first error
	name, wrote := "", false
	for _, trial := range samples() {
		_, err := c.prompt(trial.query)
		wrote = wrote || err == nil
		if err != nil && first == nil {
			first, name = err, trial.name
		}
	}
	if first != nil && wrote {
		return fmt.Errorf("%w; this was tried with %s: a template has to cope with that too", first, name)
	}
	return first
}

// templateError returns the error of a template with file and line.
func templateError(err error) error {
	return errors.New("template " + strings.TrimPrefix(err.Error(), "template: "))
}

// jsonText is the template function that renders JSON of a text or a value.
func jsonText(v any, write func(python.Value) string) (string, error) {
	switch v := v.(type) {
	case python.Value:
		return write(v), nil
	case string:
		return write(python.Str(v)), nil
	case []Tool:
		return "", errors.New("no JSON of .Tools: .ToolList has all of them as OpenAI describes them, .Form of each has one")
	case Tool, []Parameter, Parameter:
		return "", errors.New("no JSON of a tool: its .Form is how OpenAI describes it, with its parameters")
	default:
		return "", fmt.Errorf("no JSON of a %T: expected a text, arguments, a result's value, .ToolList or a tool's .Form", v)
	}
}
