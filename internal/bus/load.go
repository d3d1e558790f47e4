package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

const (
	loadSubject = "load."
	// allSweeps stands for all sweeps in a subject. No sweep has this id.
	allSweeps = "$all"
	// firstLoadWait is how long a request waits for the first answer.
	firstLoadWait = time.Second
	// LoadWait is how long a request waits for each further answer, unless it matters that none is
	// missing.
	LoadWait = 100 * time.Millisecond
)

// Load returns the sum of what all processes do for a sweep, or for all sweeps if sweepID is empty.
// It ends when no further answer comes for wait, because nobody knows how many processes will
// answer. One that answers later is missing.
func (b Loads) Load(ctx context.Context, sweepID string, wait time.Duration) (*busv1.Load, error) {
	sum := &busv1.Load{}
	conn := b.js.Conn()
	inbox := conn.NewInbox()
	answers, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("load of %s: %w: %w", sweepID, ErrUnavailable, err)
	}
	defer func() { _ = answers.Unsubscribe() }() // fails only with the connection
	if err := conn.PublishRequest(loadSubject+cmp.Or(sweepID, allSweeps), inbox, nil); err != nil {
		return nil, fmt.Errorf("load of %s: %w: %w", sweepID, ErrUnavailable, err)
	}
	for next := max(firstLoadWait, wait); ; next = wait {
		waiting, cancel := context.WithTimeout(ctx, next)
		answer, err := answers.NextMsgWithContext(waiting)
		cancel()
		switch {
		case errors.Is(err, context.Canceled):
			return nil, err
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			return sum, nil
		case err != nil:
			return nil, fmt.Errorf("load of %s: %w: %w", sweepID, ErrUnavailable, err)
		}
		load, err := decode[busv1.Load](answer.Subject, answer.Data)
		if err != nil {
			return nil, err
		}
		sum.Running, sum.Ahead, sum.Scoring = sum.Running+load.GetRunning(), sum.Ahead+load.GetAhead(), sum.Scoring+load.GetScoring()
		for name, added := range load.GetProviders() {
			if sum.Providers == nil {
				sum.Providers = make(map[string]*busv1.ProviderLoad)
			}
			earlier := sum.GetProviders()[name]
			sum.Providers[name] = &busv1.ProviderLoad{Asked: earlier.GetAsked() + added.GetAsked(), Limited: earlier.GetLimited() + added.GetLimited()}
		}
	}
}

// ServeLoad answers what this process does for a sweep, or for all sweeps if sweepID is empty,
// until stop is called. load must return at once.
func (b Loads) ServeLoad(load func(sweepID string) *busv1.Load) (stop func() error, err error) {
	subscription, err := b.js.Conn().Subscribe(loadSubject+"*", func(message *nats.Msg) {
		sweepID := strings.TrimPrefix(message.Subject, loadSubject)
		if sweepID == allSweeps {
			sweepID = ""
		}
		if raw, err := proto.Marshal(load(sweepID)); err == nil {
			_ = message.Respond(raw) // the requester does without
		}
	})
	if err != nil {
		return nil, fmt.Errorf("serve load: %w", err)
	}
	return func() error {
		if err := subscription.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			return fmt.Errorf("serve load: stop: %w", err)
		}
		return nil
	}, nil
}
