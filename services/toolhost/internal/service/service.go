// Package service answers the requests that tools make to hosted services (maps, weather, stocks, exchange rates): from the
// answers that a session has recorded, or from data that is part of the program.
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

// Backend answers requests. What it answers depends on nothing but the session's setup and the request, and it may be asked
// the same thing many times. It is safe for concurrent use.
type Backend interface {
	// Get returns the body of the answer to a request for a URL with parameters. The body is shared: do not change it. The
	// error is a *python.Exception that a tool may pass on.
	Get(ctx context.Context, url string, params *python.Dict) (python.Value, error)
}

// New returns the backend of a session: its recordings if it has any, else Offline from a time in POSIX seconds on. The error
// says what is wrong with a recording.
func New(recordings []*setupv1.RecordedAnswer, now float64) (Backend, error) {
	if len(recordings) > 0 {
		return NewRecorded(recordings)
	}
	return NewOffline(now)
}

// Recorded answers with recorded answers: the first one whose URL is the request's and whose parameters equal those of the
// request. What was not recorded raises ConnectionError.
type Recorded struct {
	answers map[string][]answer
}

type answer struct{ params, body python.Value }

// NewRecorded returns a backend that answers with recordings. The error says which recording is not JSON.
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
	wanted := params.Value()
	for _, recorded := range r.answers[url] {
		if recorded.params.Equal(wanted) {
			return recorded.body, nil
		}
	}
	return python.Value{}, &python.Exception{Type: "ConnectionError", Text: "No recorded answer of " + url + " for " + python.Repr(wanted)}
}
