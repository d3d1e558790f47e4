package tool

import (
	"context"
	"errors"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/currency"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const rapidModule = "rapid_api_search_tools"

// placeLimit is the maximum number of places in a search.
const placeLimit = 4

// rapidTools returns the tools that use hosted services.
func rapidTools() []*Tool {
	latitude := Param{Name: "latitude", Type: OptionalFloat(), Optional: true, Description: "Latitude in degrees, the phone's own if both are left out."}
	longitude := Param{Name: "longitude", Type: OptionalFloat(), Optional: true, Description: "Longitude in degrees, the phone's own if both are left out."}
	return []*Tool{
		{
			Name: "search_lat_lon", Module: rapidModule, ReadOnly: true, Needs: []Need{NeedWifi},
			Description: "Returns the address at a place given by its coordinates, null if there is none.",
			Params: []Param{
				{Name: "latitude", Type: Float(), Description: "Latitude in degrees."},
				{Name: "longitude", Type: Float(), Description: "Longitude in degrees."},
			},
			Check: inEarthRange,
			Run:   searchAddress,
		},
		{
			Name: "search_location_around_lat_lon", Module: rapidModule, ReadOnly: true, Needs: []Need{NeedWifi}, DefaultNeeds: []Need{NeedLocationService},
			Description: "Finds shops, sights and other places by name or kind near a point and returns what is known about them.",
			Params: []Param{
				{Name: "location", Type: Str(), Description: "Name or kind of the place, for example a bakery."},
				latitude, longitude,
			},
			Check: checkPoint,
			Run:   searchPlaces,
		},
		{
			Name: "search_weather_around_lat_lon", Module: rapidModule, ReadOnly: true, Needs: []Need{NeedWifi}, DefaultNeeds: []Need{NeedLocationService},
			Description: "Returns the weather at a point, now or on a later day; null if there is no forecast for that day.",
			Params: []Param{
				{Name: "days", Type: Int(), Optional: true, Default: python.Int(0), Description: "Number of days from today, 0 for the weather now."},
				latitude, longitude,
			},
			Check: checkPoint,
			Run:   searchWeather,
		},
		{
			Name: "search_stock", Module: rapidModule, ReadOnly: true, Needs: []Need{NeedWifi},
			Description: "Finds the stock of a company with its symbol and its price, null if there is none.",
			Params:      []Param{{Name: "query", Type: Str(), Description: "Name of the company or symbol of the stock."}},
			Run:         searchStock,
		},
		{
			Name: "convert_currency", Module: rapidModule, ReadOnly: true, Needs: []Need{NeedWifi},
			Description: "Converts an amount of money to another currency.",
			Params: []Param{
				{Name: "amount", Type: Number(), Description: "Amount in the first currency."},
				{Name: "from_currency_code", Type: Str(), Description: "ISO 4217 code of the first currency, for example CHF."},
				{Name: "to_currency_code", Type: Str(), Description: "ISO 4217 code of the other currency."},
			},
			Check: func(args Args) error {
				if err := currency.Check(args.Str("from_currency_code")); err != nil {
					return err
				}
				return currency.Check(args.Str("to_currency_code"))
			},
			Run: convertCurrency,
		},
	}
}

// checkPoint checks that coordinates are both given or both missing.
func checkPoint(args Args) error {
	if err := inEarthRange(args); err != nil {
		return err
	}
	if args.Value("latitude").IsNone() != args.Value("longitude").IsNone() {
		return raise("ValueError", "Latitude and Longitude must be either both provided, or both not provided")
	}
	return nil
}

// point returns the given coordinates, by default those of the phone.
func point(w *session.World, args Args) (latitude, longitude python.Value, err error) {
	latitude, longitude = args.Value("latitude"), args.Value("longitude")
	if !latitude.IsNone() {
		return latitude, longitude, nil
	}
	if err := needLocation(w); err != nil {
		return latitude, longitude, err
	}
	latitude, longitude = setting(w, "latitude"), setting(w, "longitude")
	if latitude.IsNone() || longitude.IsNone() {
		return latitude, longitude, raise("AssertionError", "")
	}
	return latitude, longitude, nil
}

// request sends a request to a hosted service.
func request(ctx context.Context, w *session.World, url string, params ...python.Item) (python.Value, error) {
	if err := needWifi(w); err != nil {
		return python.Value{}, err
	}
	dict := &python.Dict{}
	for _, param := range params {
		dict.Set(param.Key, param.Value)
	}
	return w.Config().Services.Get(ctx, url, dict)
}

// getPath indexes a value repeatedly.
func getPath(value python.Value, keys ...python.Value) (python.Value, error) {
	for _, key := range keys {
		var err error
		if value, err = python.Index(value, key); err != nil {
			return python.Value{}, err
		}
	}
	return value, nil
}

// isMissing reports whether an error means that a part of an answer is missing, not malformed.
func isMissing(err error) bool {
	exception, ok := errors.AsType[*python.Exception](err)
	return ok && (exception.Type == "KeyError" || exception.Type == "IndexError")
}

func searchAddress(ctx context.Context, w *session.World, args Args) (python.Value, error) {
	place := python.Text(args.Value("latitude")) + "," + python.Text(args.Value("longitude"))
	answer, err := request(ctx, w, service.GeocodingURL,
		python.Item{Key: "location", Value: python.Str(place)},
		python.Item{Key: "language", Value: python.Str("en")},
	)
	if err != nil {
		return python.Value{}, err
	}
	address, err := getPath(answer, python.Str("results"), python.Int(0), python.Str("address"))
	if isMissing(err) {
		return python.None(), nil
	}
	return address, err
}

func searchPlaces(ctx context.Context, w *session.World, args Args) (python.Value, error) {
	latitude, longitude, err := point(w, args)
	if err != nil {
		return python.Value{}, err
	}
	answer, err := request(ctx, w, service.PlacesURL,
		python.Item{Key: "query", Value: args.Value("location")},
		python.Item{Key: "lat", Value: latitude},
		python.Item{Key: "lng", Value: longitude},
		python.Item{Key: "limit", Value: python.Int(placeLimit)},
		python.Item{Key: "country", Value: python.Str("us")},
		python.Item{Key: "lang", Value: python.Str("en")},
	)
	if err != nil {
		return python.Value{}, err
	}
	found, err := getPath(answer, python.Str("data"))
	if isMissing(err) {
		return python.List(), nil
	}
	if err != nil {
		return python.Value{}, err
	}
	return withoutKeys(found, "business_id", "place_id", "place_link", "verified", "photos")
}

// withoutKeys removes keys from each dict of a list. Other values raise the same exceptions as in
// Python.
func withoutKeys(list python.Value, keys ...string) (python.Value, error) {
	switch list.Kind() {
	case python.KindList:
	case python.KindStr, python.KindDict:
		if list.Truth() {
			return python.Value{}, raise("AttributeError", "'str' object has no attribute 'pop'")
		}
		return list, nil
	default:
		return python.Value{}, notIterable(list)
	}
	items, _ := list.AsList()
	result := make([]python.Value, len(items))
	for i, item := range items {
		switch item.Kind() {
		case python.KindDict:
			result[i] = without(item, keys...).Value()
		case python.KindList:
			return python.Value{}, raise("TypeError", "pop expected at most 1 argument, got 2")
		default:
			return python.Value{}, raise("AttributeError", "'"+item.TypeName()+"' object has no attribute 'pop'")
		}
	}
	return python.List(result...), nil
}

// without copies a dict except some keys.
func without(value python.Value, keys ...string) *python.Dict {
	leave := make(map[string]bool, len(keys))
	for _, key := range keys {
		leave[key] = true
	}
	dict, _ := value.AsDict()
	result := &python.Dict{}
	for _, item := range dict.Items() {
		if !leave[item.Key] {
			result.Set(item.Key, item.Value)
		}
	}
	return result
}

func notIterable(value python.Value) error {
	return raise("TypeError", "'"+value.TypeName()+"' object is not iterable")
}

func searchStock(ctx context.Context, w *session.World, args Args) (python.Value, error) {
	answer, err := request(ctx, w, service.StocksURL, python.Item{Key: "query", Value: args.Value("query")})
	if err != nil {
		return python.Value{}, err
	}
	stock, err := getPath(answer, python.Str("data"), python.Str("stock"), python.Int(0))
	if err == nil {
		stock, err = withoutExchange(stock)
	}
	if isMissing(err) {
		return python.None(), nil
	}
	return stock, err
}

// withoutExchange copies a stock without the exchange in its symbol.
func withoutExchange(stock python.Value) (python.Value, error) {
	symbol, err := getPath(stock, python.Str("symbol"))
	if err != nil {
		return python.Value{}, err
	}
	text, ok := symbol.AsStr()
	if !ok {
		return python.Value{}, raise("AttributeError", "'"+symbol.TypeName()+"' object has no attribute 'split'")
	}
	text, _, _ = strings.Cut(text, ":")
	result := without(stock)
	result.Set("symbol", python.Str(text))
	return result.Value(), nil
}

func convertCurrency(ctx context.Context, w *session.World, args Args) (python.Value, error) {
	answer, err := request(ctx, w, service.CurrencyURL,
		python.Item{Key: "from", Value: python.Str(strings.ToUpper(args.Str("from_currency_code")))},
		python.Item{Key: "to", Value: python.Str(strings.ToUpper(args.Str("to_currency_code")))},
		python.Item{Key: "amount", Value: args.Value("amount")},
	)
	if err != nil {
		return python.Value{}, err
	}
	amount, err := getPath(answer, python.Str("result"), python.Str("convertedAmount"))
	if isMissing(err) {
		return python.Value{}, raise("RuntimeError", "Conversion failed")
	}
	if err != nil {
		return python.Value{}, err
	}
	return toFloat(amount)
}

// toFloat implements Python's float(v).
func toFloat(v python.Value) (python.Value, error) {
	if number, ok := v.Number(); ok {
		return python.Float(number), nil
	}
	switch v.Kind() {
	case python.KindInt:
		return python.Value{}, raise("OverflowError", "int too large to convert to float")
	case python.KindStr:
		text, _ := v.AsStr()
		number, ok := python.ParseFloat(text)
		if !ok {
			return python.Value{}, raise("ValueError", "could not convert string to float: "+python.Repr(v))
		}
		return python.Float(number), nil
	default:
		return python.Value{}, raise("TypeError", "float() argument must be a string or a number, not '"+v.TypeName()+"'")
	}
}
