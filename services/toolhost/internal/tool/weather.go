package tool

import (
	"context"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// imperialKeys returns the keys that search_weather_around_lat_lon removes from an answer: values
// in Fahrenheit, miles and inches, and precipitation.
func imperialKeys() []string {
	return []string{
		"temp_f", "feelslike_f", "vis_miles", "wind_mph", "maxtemp_f", "mintemp_f", "avgtemp_f", "maxwind_mph", "avgvis_miles",
		"pressure_in", "precip_mm", "precip_in", "totalprecip_mm", "totalprecip_in",
	}
}

// metricKeys returns the keys that get a descriptive name, in the order in which they are last in
// the result.
func metricKeys() [][2]string {
	return [][2]string{
		{"temp_c", "current_temperature"},
		{"feelslike_c", "perceived_temperature"},
		{"vis_km", "visibility_distance"},
		{"wind_kph", "wind_speed"},
		{"maxtemp_c", "max_temperature"},
		{"mintemp_c", "min_temperature"},
		{"avgtemp_c", "average_temperature"},
		{"maxwind_kph", "max_wind_speed"},
		{"avgvis_km", "average_visibility_distance"},
		{"pressure_mb", "barometric_pressure"},
		{"avghumidity", "average_humidity"},
	}
}

func searchWeather(ctx context.Context, w *session.World, args Args) (python.Value, error) {
	latitude, longitude, err := point(w, args)
	if err != nil {
		return python.Value{}, err
	}
	days := toInteger(args.Value("days"))
	if days.Sign() < 0 {
		return python.Value{}, raise("ValueError", "Days must be positive integer, found days="+days.String()+".")
	}
	answer, err := request(ctx, w, service.WeatherURL,
		python.Item{Key: "q", Value: python.Str(python.Text(latitude) + ", " + python.Text(longitude))},
		python.Item{Key: "days", Value: python.BigInt(new(big.Int).Add(days, big.NewInt(1)))},
	)
	if err != nil {
		return python.Value{}, err
	}
	weather, err := weatherOf(answer, days)
	if isMissing(err) {
		return python.None(), nil
	}
	if err != nil {
		return python.Value{}, err
	}
	return metric(weather), nil
}

// toInteger converts an int or a bool.
func toInteger(value python.Value) *big.Int {
	if days, ok := value.AsBigInt(); ok {
		return days
	}
	if on, _ := value.AsBool(); on {
		return big.NewInt(1)
	}
	return new(big.Int)
}

// weatherOf merges an answer's data about a day, and about the current time if the day is today.
func weatherOf(answer python.Value, days *big.Int) (*python.Dict, error) {
	day, err := getPath(answer, python.Str("forecast"), python.Str("forecastday"), python.BigInt(days))
	if err != nil {
		return nil, err
	}
	merged := &python.Dict{}
	for _, part := range []struct {
		of  python.Value
		key string
	}{{day, "day"}, {day, "astro"}, {answer, "location"}} {
		value, err := getPath(part.of, python.Str(part.key))
		if err != nil {
			return nil, err
		}
		dict, ok := value.AsDict()
		if !ok {
			return nil, raise("TypeError", "'"+value.TypeName()+"' object is not a mapping")
		}
		for _, item := range dict.Items() {
			merged.Set(item.Key, item.Value)
		}
	}
	merged.Set("temperature_unit", python.Str("Celsius"))
	merged.Set("distance_unit", python.Str("Kilometer"))
	if days.Sign() != 0 {
		return merged, nil
	}
	current, err := getPath(answer, python.Str("current"))
	if err != nil {
		return nil, err
	}
	return merged, dictUpdate(merged, current)
}

// metric removes the imperial keys and renames the metric ones.
func metric(weather *python.Dict) python.Value {
	leave := imperialKeys()
	for _, rename := range metricKeys() {
		leave = append(leave, rename[0])
	}
	renamed := without(weather.Value(), leave...)
	for _, rename := range metricKeys() {
		if value, ok := weather.Get(rename[0]); ok {
			renamed.Set(rename[1], value)
		}
	}
	return renamed.Value()
}

// dictUpdate implements Python's dict.update with a dict or a sequence of pairs. Keys other than
// texts raise TypeError.
func dictUpdate(dict *python.Dict, value python.Value) error {
	switch value.Kind() {
	case python.KindDict:
		other, _ := value.AsDict()
		for _, item := range other.Items() {
			dict.Set(item.Key, item.Value)
		}
		return nil
	case python.KindList, python.KindStr:
	default:
		return notIterable(value)
	}
	for i, pair := range elements(value) {
		place := "dictionary update sequence element #" + strconv.Itoa(i)
		switch pair.Kind() {
		case python.KindList, python.KindStr, python.KindDict:
		default:
			return raise("TypeError", "cannot convert "+place+" to a sequence")
		}
		parts := elements(pair)
		if len(parts) != 2 {
			return raise("ValueError", place+" has length "+strconv.Itoa(len(parts))+"; 2 is required")
		}
		key, ok := parts[0].AsStr()
		if !ok {
			return raise("TypeError", "unhashable type: '"+parts[0].TypeName()+"'")
		}
		dict.Set(key, parts[1])
	}
	return nil
}

// elements returns the items over which Python iterates in a list, dict or text.
func elements(value python.Value) []python.Value {
	if list, ok := value.AsList(); ok {
		return list
	}
	var items []python.Value
	if dict, ok := value.AsDict(); ok {
		for _, item := range dict.Items() {
			items = append(items, python.Str(item.Key))
		}
		return items
	}
	for text, _ := value.AsStr(); text != ""; {
		_, size := utf8.DecodeRuneInString(text)
		items = append(items, python.Str(text[:size]))
		text = text[size:]
	}
	return items
}
