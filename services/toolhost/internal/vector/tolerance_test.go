package vector

import "testing"

func TestAgree(t *testing.T) {
	trace := func(tool, result string) []string {
		return []string{`{"tool_name": "` + tool + `", "arguments": {"a": 1}, "result": ` + result + `}`}
	}
	const distance, conversion, other = "calculate_lat_lon_distance", "unit_conversion", "timestamp_diff"
	tests := []struct {
		name         string
		tool         string
		got, want    string
		differentArg bool
		agrees       bool
	}{
		{name: "equal texts", tool: other, got: "{'days': 1}", want: "{'days': 1}", agrees: true},
		{name: "near distance", tool: distance, got: "4132.4468955349175", want: "4132.446895534918", agrees: true},
		{name: "far distance", tool: distance, got: "4132.44689554", want: "4132.44689553"},
		{name: "near amount", tool: conversion, got: "1e+20", want: "1.00000000000001e+20", agrees: true},
		{name: "far amount", tool: conversion, got: "1e+20", want: "1.0000000001e+20"},
		{name: "another tool", tool: other, got: "1.0000000000000002", want: "1.0"},
		{name: "an exception", tool: distance, got: "ValueError: x", want: "1.0"},
		{name: "another argument", tool: distance, got: "1.0", want: "1.0", differentArg: true},
	}
	for _, test := range tests {
		got := trace(test.tool, test.got)
		if test.differentArg {
			got = []string{`{"tool_name": "` + test.tool + `", "arguments": {"a": 2}, "result": 1.0}`}
		}
		want := Answer{Content: test.want, Trace: trace(test.tool, test.want)}
		if agrees := want.agree(test.got, got); agrees != test.agrees {
			t.Errorf("%s: got %v, want %v", test.name, agrees, test.agrees)
		}
	}
}
