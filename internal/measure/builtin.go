package measure

import (
	"slices"
	"sync"
)

// builtInSources returns the sources of the built-in extractors.
func builtInSources() []struct{ name, text string } {
	return []struct{ name, text string }{
		{"current_temperature_extractor", `[{"amount": float(result["current_temperature"])}]`},
		{"days_extractor", `[{"days": int(result["days"])}]`},
		{"lat_lon_dict_extractor", `[{"latitude": result["latitude"], "longitude": result["longitude"]}]`},
		{"min_temperature_amount_extractor", `[{"amount": float(result["min_temperature"])}]`},
		{"min_temperature_extractor", `[{"min_temperature": f"{result:.{n}f}"} for n in range(4)]`},
		{"result_to_reminder_timestamp_lowerbound_extractor", `[{"reminder_timestamp_lowerbound": float(result)}]`},
		{"result_to_temperature_extractor", `[{"temperature": f"{result:.{n}f}"} for n in range(4)]`},
		{"result_to_timestamp0_extractor", `[{"timestamp_0": float(result)}]`},
		{"result_to_timestamp1_extractor", `[{"timestamp_1": float(result)}]`},
		{
			"search_weather_around_lat_lon_temperature_extractor",
			`[{"temperature": f"{result['current_temperature']:.{n}f}"} for n in range(4)]`,
		},
	}
}

// builtIns compiles the built-in extractors once.
var builtIns = sync.OnceValues(func() ([]*Function, error) {
	var extractors []*Function
	for _, source := range builtInSources() {
		extractor, err := compileExpression(source.name, source.text)
		if err != nil {
			return nil, err
		}
		extractors = append(extractors, extractor)
	}
	return extractors, nil
})

// BuiltIn returns a built-in extractor by name, nil if it is unknown.
func BuiltIn(name string) *Function {
	extractors, err := builtIns()
	if err != nil {
		return nil // impossible: a test compiles all
	}
	return (&Set{functions: extractors}).Find(name, Extractor)
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
