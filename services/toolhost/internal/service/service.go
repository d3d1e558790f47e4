// Package service answers the requests of tools to hosted services (maps, weather, stocks, exchange
// rates): from recordings, from built-in data, or from the services themselves.
package service

import (
	"context"
	"fmt"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// Addresses of the hosted services.
const (
	GeocodingURL = "https://trueway-geocoding.p.rapidapi.com/ReverseGeocode"
	PlacesURL    = "https://maps-data.p.rapidapi.com/searchmaps.php"
	WeatherURL   = "https://weatherapi-com.p.rapidapi.com/forecast.json"
	StocksURL    = "https://real-time-finance-data.p.rapidapi.com/search"
	CurrencyURL  = "https://currency-converter18.p.rapidapi.com/api/v1/convert"
)

// addresses are the hosted services by name, in the order of Names.
func addresses() [][2]string {
	return [][2]string{{"geocoding", GeocodingURL}, {"places", PlacesURL}, {"weather", WeatherURL}, {"stocks", StocksURL}, {"currencies", CurrencyURL}}
}

// Names returns the names of the hosted services.
func Names() (names []string) {
	for _, service := range addresses() {
		names = append(names, service[0])
	}
	return names
}

// Address returns the address of a hosted service by its name.
func Address(name string) (url string, ok bool) {
	for _, service := range addresses() {
		if service[0] == name {
			return service[1], true
		}
	}
	return "", false
}

// Backend answers requests. It gives the same answer to equal requests of one execution. It is safe
// for concurrent use unless its own comment says otherwise.
type Backend interface {
	// Get returns the body of the response to a request for a URL with parameters. The body is shared
	// and must not be changed. The error is a *python.Exception that a tool may return, or the cause
	// of ctx's end.
	Get(ctx context.Context, url string, params *python.Dict) (python.Value, error)
}

// Recorded answers from recordings: with the first one that has the request's URL and equal
// parameters. A request without a recording raises ConnectionError.
type Recorded struct {
	answers map[string][]answer
}

type answer struct{ params, body python.Value }

// NewRecorded returns a backend that answers from recordings. The error names a recording that is
// not JSON.
func NewRecorded(recordings []*setupv1.RecordedAnswer) (*Recorded, error) {
	r := &Recorded{answers: make(map[string][]answer)}
	for i, recording := range recordings {
		params, err := python.ParseJSON(recording.GetParamsJson())
		if err != nil {
			return nil, fmt.Errorf("recording %d of %s: parameters: %w", i, recording.GetUrl(), err)
		}
		body, err := python.ParseJSON(recording.GetResponseJson())
		if err != nil {
			return nil, fmt.Errorf("recording %d of %s: response: %w", i, recording.GetUrl(), err)
		}
		r.answers[recording.GetUrl()] = append(r.answers[recording.GetUrl()], answer{params: params, body: body})
	}
	return r, nil
}

// Get implements Backend.
func (r *Recorded) Get(_ context.Context, url string, params *python.Dict) (python.Value, error) {
	if body, ok := r.Find(url, params); ok {
		return body, nil
	}
	return python.Value{}, NotRecordedError(url, params)
}

// Find returns the recorded answer to a request, if there is one. It must not be changed.
func (r *Recorded) Find(url string, params *python.Dict) (body python.Value, ok bool) {
	paramsValue := params.Value()
	for _, recorded := range r.answers[url] {
		if recorded.params.Equal(paramsValue) {
			return recorded.body, true
		}
	}
	return python.Value{}, false
}

// NotRecordedError returns the exception of a request without a recording.
func NotRecordedError(url string, params *python.Dict) *python.Exception {
	return &python.Exception{Type: "ConnectionError", Text: "No recorded answer of " + url + " for " + python.Repr(params.Value())}
}
