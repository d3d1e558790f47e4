// Package service answers the requests that tools make to hosted services (maps, weather, stocks,
// exchange rates): from recorded answers, from data that is part of the program, or by asking the
// services themselves.
package service

import (
	"context"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/python"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// Addresses of the hosted services.
const (
	GeocodingURL = "https://trueway-geocoding.p.rapidapi.com/ReverseGeocode"
	PlacesURL    = "https://maps-data.p.rapidapi.com/searchmaps.php"
	WeatherURL   = "https://weatherapi-com.p.rapidapi.com/forecast.json"
	StocksURL    = "https://real-time-finance-data.p.rapidapi.com/search"
	CurrencyURL  = "https://currency-converter18.p.rapidapi.com/api/v1/convert"
)

// Backend answers requests. It may be asked the same thing many times in one execution and answers
// the same each time. It is safe for concurrent use unless its own comment says otherwise.
type Backend interface {
	// Get returns the body of the answer to a request for a URL with parameters. The body is
	// shared: do not change it. The error is a *python.Exception that a tool may pass on, or says
	// that nothing can be asked any more because ctx has ended.
	Get(ctx context.Context, url string, params *python.Dict) (python.Value, error)
}

// Replay answers with recorded answers: the first one whose URL is the request's and whose
// parameters equal those of the request. What was not recorded raises ConnectionError.
type Replay struct {
	answers map[string][]answer
}

type answer struct{ params, body python.Value }

// NewReplay returns a backend that answers with recordings. The error says which recording is not
// JSON.
func NewReplay(recordings []*setupv1.RecordedAnswer) (*Replay, error) {
	r := &Replay{answers: make(map[string][]answer)}
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
func (r *Replay) Get(_ context.Context, url string, params *python.Dict) (python.Value, error) {
	if body, ok := r.Find(url, params); ok {
		return body, nil
	}
	return python.Value{}, NotRecordedError(url, params)
}

// Find returns the recorded answer to a request, if there is one. Do not change it.
func (r *Replay) Find(url string, params *python.Dict) (body python.Value, ok bool) {
	paramsValue := params.Value()
	for _, recorded := range r.answers[url] {
		if recorded.params.Equal(paramsValue) {
			return recorded.body, true
		}
	}
	return python.Value{}, false
}

// NotRecordedError is what a request raises that only a recording could answer.
func NotRecordedError(url string, params *python.Dict) *python.Exception {
	return &python.Exception{Type: "ConnectionError", Text: "No recorded answer of " + url + " for " + python.Repr(params.Value())}
}
