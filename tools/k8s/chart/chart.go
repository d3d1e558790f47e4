// Package chart renders the Helm chart as the helm command does.
package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// Separator stands between the YAML documents of a chart, and of what kustomize builds.
const Separator = "\n---\n"

// Render returns the YAML documents of the chart in a directory, for a namespace and with values in
// YAML.
func Render(dir, namespace, values string) ([]byte, error) {
	loaded, err := loader.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("load chart %s: %w", dir, err)
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, fmt.Errorf("read values: %w", err)
	}
	release := chartutil.ReleaseOptions{Name: "toolsandbox", Namespace: namespace, Revision: 1, IsInstall: true}
	merged, err := chartutil.ToRenderValues(loaded, given, release, nil)
	if err != nil {
		return nil, fmt.Errorf("check values: %w", err)
	}
	files, err := engine.Render(loaded, merged)
	if err != nil {
		return nil, fmt.Errorf("render chart: %w", err)
	}
	return []byte(strings.Join(slices.Sorted(maps.Values(files)), Separator)), nil
}
