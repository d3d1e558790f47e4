package celexpr

import (
	"slices"
	"sync"
)

// builtInSources returns the sources of the built-in extractors.
func builtInSources() []struct{ name, text string } {
	return []struct{ name, text string }{
		{"current_temperature_extractor", `[{"amount": float(trace.result.current_temperature)}]`},
		{"days_extractor", `[{"days": whole(trace.result.days)}]`},
		{"lat_lon_dict_extractor", `[{"latitude": number(trace.result.latitude), "longitude": number(trace.result.longitude)}]`},
		{"min_temperature_amount_extractor", `[{"amount": float(trace.result.min_temperature)}]`},
		{"min_temperature_extractor", `[0, 1, 2, 3].map(n, {"min_temperature": decimals(trace.result, n)})`},
		{"result_to_reminder_timestamp_lowerbound_extractor", `[{"reminder_timestamp_lowerbound": float(trace.result)}]`},
		{"result_to_temperature_extractor", `[0, 1, 2, 3].map(n, {"temperature": decimals(trace.result, n)})`},
		{"result_to_timestamp0_extractor", `[{"timestamp_0": float(trace.result)}]`},
		{"result_to_timestamp1_extractor", `[{"timestamp_1": float(trace.result)}]`},
		{
			"search_weather_around_lat_lon_temperature_extractor",
			`[0, 1, 2, 3].map(n, {"temperature": decimals(trace.result.current_temperature, n)})`,
		},
	}
}

// compiledBuiltIns compiles the built-in extractors once.
var compiledBuiltIns = sync.OnceValues(func() (map[string]*Extractor, error) {
	extractors := map[string]*Extractor{}
	for _, known := range builtInSources() {
		extractor, err := CompileExtractor(known.text)
		if err != nil {
			return nil, err
		}
		extractors[known.name] = extractor
	}
	return extractors, nil
})

// BuiltIn returns a built-in extractor by name. ok is false if it is unknown.
func BuiltIn(name string) (*Extractor, bool) {
	extractors, err := compiledBuiltIns()
	if err != nil {
		return nil, false // impossible: a test compiles all
	}
	extractor, ok := extractors[name]
	return extractor, ok
}

// BuiltInNames returns the sorted names of all built-in extractors. The caller owns the result.
func BuiltInNames() []string {
	var names []string
	for _, source := range builtInSources() {
		names = append(names, source.name)
	}
	slices.Sort(names)
	return names
}
