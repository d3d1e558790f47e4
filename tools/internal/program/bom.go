package program

import (
	"debug/buildinfo"
	"encoding/json"
	"runtime/debug"
	"strings"
)

// component is a program or module in a CycloneDX document.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

// BillOfMaterials returns the modules of a compiled program as a CycloneDX document.
func BillOfMaterials(binary, name, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	return billOfMaterials(info, name, version)
}

// billOfMaterials returns the CycloneDX document of a program: Go's standard library and every
// module that it was built with.
func billOfMaterials(info *debug.BuildInfo, program, version string) ([]byte, error) {
	modules := []component{moduleOf("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		modules = append(modules, moduleOf(module.Path, module.Version))
	}
	document := map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{
			"component": component{Type: "application", Name: program, Version: version, PURL: moduleOf(info.Path, version).PURL},
		},
		"components": modules,
	}
	text, err := json.MarshalIndent(document, "", "  ")
	return append(text, '\n'), err
}

func moduleOf(path, version string) component {
	purl := "pkg:golang/" + path
	if version != "" {
		purl += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return component{Type: "library", Name: path, Version: version, PURL: purl}
}
