package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// maxRequests is the limit of different requests to hosted services per execution.
const maxRequests = 64

// serviceRecorder sends the requests of one execution to the hosted services and stores the
// answers, failures included. It stores each answer before it returns it. Thus another order of the
// same calls, the same execution after a crash, a fork and a replay find it. It is not safe for
// concurrent use: a session runs one execution at a time.
type serviceRecorder struct {
	host    *Host
	session *openSession
	id      string
	index   int32
	// stop ends an execution that cannot continue, because a request has no answer.
	stop context.CancelCauseFunc
	// loaded reports whether the stored answers are read.
	loaded bool
	// known are the session's answers of this execution, inherited those of its parents at this index,
	// earlier the successful ones of previous executions. earlier is empty unless the session reuses
	// answers.
	known, inherited, earlier []recordedAnswer
	// used marks those of known that answered a request of the given order to a server with state.
	used map[int]bool
}

// request is a tool's request. text is the JSON of its parameters.
type request struct {
	url, text string
	params    python.Value
}

// recordedAnswer is a request with its answer: a body or an exception.
type recordedAnswer struct {
	request

	body   python.Value
	raised *python.Exception
	// stored is the stored form of the answer.
	stored *toolhostv1.ServiceAnswer
	own    bool
}

// sessionConfig returns the configuration of an execution, and the recorder of hosted services, nil
// if the session contacts no service.
func (h *Host) sessionConfig(l *openSession, id string, index int32, stop context.CancelCauseFunc) (*session.Config, *serviceRecorder) {
	switch {
	case contactsServices(l.services), len(l.setup.servers) > 0:
		cfg, recorder := *l.world.Config(), &serviceRecorder{host: h, session: l, id: id, index: index, stop: stop, used: make(map[int]bool)}
		cfg.Services = recorder
		return &cfg, recorder
	default:
		return l.world.Config(), nil
	}
}

// contactsServices reports whether the setting sends requests to the hosted services.
func contactsServices(services toolhostv1.HostedServices) bool {
	return services == toolhostv1.HostedServices_HOSTED_SERVICES_LIVE || services == toolhostv1.HostedServices_HOSTED_SERVICES_RECORD
}

// executionAnswers returns the session's own answers of the execution, in the order of storage.
func (d *serviceRecorder) executionAnswers() []*toolhostv1.ServiceAnswer {
	if d == nil {
		return nil
	}
	var answers []*toolhostv1.ServiceAnswer
	for _, answer := range d.known {
		answers = append(answers, answer.stored)
	}
	return answers
}

// Get implements service.Backend.
func (d *serviceRecorder) Get(ctx context.Context, url string, params *python.Dict) (python.Value, error) {
	if ctx.Err() != nil {
		return python.Value{}, context.Cause(ctx)
	}
	req, err := newRequest(url, python.JSON(params.Value()))
	if err != nil {
		d.stop(err)
		return python.Value{}, err
	}
	server := d.session.setup.findServerTool(url)
	if server == nil && !contactsServices(d.session.services) {
		return d.session.setup.sessionConfig(d.session.services).Services.Get(ctx, url, params)
	}
	answer, err := d.find(ctx, req, params, server)
	if err != nil {
		d.stop(err)
		return python.Value{}, err
	}
	if answer.raised != nil {
		return python.Value{}, answer.raised
	}
	return answer.body, nil
}

// find returns the answer to a request. server is nil if the request is not for a tool server. The
// error means that the execution cannot continue.
func (d *serviceRecorder) find(ctx context.Context, req request, params *python.Dict, server *serverTool) (recordedAnswer, error) {
	if err := d.load(); err != nil {
		return recordedAnswer{}, err
	}
	if server.hasState() {
		return d.callStateful(ctx, req, params, server)
	}
	if found, ok := find(d.known, req); ok {
		return found, nil
	}
	if server != nil {
		return d.call(ctx, req, params, server)
	}
	if found, ok := find(d.inherited, req); ok {
		return found, d.keep(ctx, found)
	}
	if d.session.services == toolhostv1.HostedServices_HOSTED_SERVICES_RECORD {
		if body, ok := d.session.setup.recorded.Find(req.url, params); ok {
			return recordedAnswer{body: body}, nil
		}
		if found, ok := find(d.earlier, req); ok {
			if found.own {
				return found, nil
			}
			return found, d.keep(ctx, found)
		}
	}
	if d.session.replay {
		return recordedAnswer{raised: service.NotRecordedError(req.url, params)}, nil
	}
	return d.send(ctx, req, params)
}

// send sends the request to the service and stores the answer.
func (d *serviceRecorder) send(ctx context.Context, req request, params *python.Dict) (recordedAnswer, error) {
	if len(d.known) >= maxRequests {
		return recordedAnswer{}, fmt.Errorf("%w: more than %d requests to hosted services at once", ErrQuota, maxRequests)
	}
	stored := &toolhostv1.ServiceAnswer{Recording: &setupv1.RecordedAnswer{Url: req.url, ParamsJson: req.text}}
	body, err := d.host.services.Do(ctx, req.url, params)
	var exception *python.Exception
	switch {
	case err == nil:
		stored.Recording.ResponseJson = body
	case errors.As(err, &exception):
		stored.ExceptionType, stored.ExceptionText = exception.Type, exception.Text
	default:
		return recordedAnswer{}, err
	}
	answer, err := decodeAnswer(stored)
	if err != nil {
		return recordedAnswer{}, err
	}
	return answer, d.keep(ctx, answer)
}

// keep stores an answer as one of the session's own.
func (d *serviceRecorder) keep(ctx context.Context, answer recordedAnswer) error {
	stored := &toolhostv1.ServiceAnswer{
		Index:         d.index,
		Recording:     answer.stored.GetRecording(),
		ExceptionType: answer.stored.GetExceptionType(),
		ExceptionText: answer.stored.GetExceptionText(),
	}
	data, err := proto.Marshal(stored)
	if err != nil {
		return fmt.Errorf("store answer of %s: %w", answer.url, err)
	}
	if err := d.host.store.PutAnswer(ctx, d.id, store.Answer{Index: d.index, Number: uint32(len(d.known)), Data: data}); err != nil {
		return err
	}
	answer.stored, answer.own = stored, true
	d.known = append(d.known, answer)
	return nil
}

// load reads the stored answers of the session and of its parents. At the same index, a parent had
// the same world.
func (d *serviceRecorder) load() error {
	if d.loaded {
		return nil
	}
	from := d.index
	if d.session.services == toolhostv1.HostedServices_HOSTED_SERVICES_RECORD {
		from = 0
	}
	err := d.host.lineage(d.id, &toolhostv1.SessionRecord{ParentId: d.session.parent}, d.index, func(id string, _ int32) (more bool, err error) {
		answers, err := d.host.answers(id, from, d.index)
		if err != nil {
			return false, err
		}
		for _, stored := range answers {
			answer, err := decodeAnswer(stored)
			if err != nil {
				return false, fmt.Errorf("session %s: %w", id, err)
			}
			answer.own = id == d.id
			switch {
			case stored.GetIndex() < d.index && answer.raised == nil:
				d.earlier = append(d.earlier, answer)
			case stored.GetIndex() < d.index:
			case answer.own:
				d.known = append(d.known, answer)
			default:
				d.inherited = append(d.inherited, answer)
			}
		}
		return true, nil
	})
	d.loaded = err == nil
	return err
}

// find returns the first answer to a request.
func find(answers []recordedAnswer, req request) (recordedAnswer, bool) {
	if at := slices.IndexFunc(answers, req.answeredBy); at >= 0 {
		return answers[at], true
	}
	return recordedAnswer{}, false
}

// answeredBy reports whether an answer belongs to the request.
func (r request) answeredBy(answer recordedAnswer) bool {
	// Compare the text too: NaN equals nothing.
	return answer.url == r.url && (answer.text == r.text || answer.params.Equal(r.params))
}

func newRequest(url, text string) (request, error) {
	params, err := python.ParseJSON(text)
	if err != nil {
		return request{}, fmt.Errorf("parameters of a request to %s: %w", url, err)
	}
	return request{url: url, text: text, params: params}, nil
}

// decodeAnswer reads a stored answer.
func decodeAnswer(stored *toolhostv1.ServiceAnswer) (recordedAnswer, error) {
	recorded, err := newRequest(stored.GetRecording().GetUrl(), stored.GetRecording().GetParamsJson())
	if err != nil {
		return recordedAnswer{}, err
	}
	answer := recordedAnswer{request: recorded, stored: stored}
	if stored.GetExceptionType() != "" {
		answer.raised = &python.Exception{Type: stored.GetExceptionType(), Text: stored.GetExceptionText()}
		return answer, nil
	}
	if answer.body, err = python.ParseJSON(stored.GetRecording().GetResponseJson()); err != nil {
		return recordedAnswer{}, fmt.Errorf("answer of %s: %w", recorded.url, err)
	}
	return answer, nil
}

// answers reads a session's own answers between two indexes.
func (h *Host) answers(id string, from, to int32) ([]*toolhostv1.ServiceAnswer, error) {
	stored, err := h.store.Answers(id, from, to)
	if err != nil {
		return nil, err
	}
	answers := make([]*toolhostv1.ServiceAnswer, len(stored))
	for i := range stored {
		answers[i] = &toolhostv1.ServiceAnswer{}
		if err := proto.Unmarshal(stored[i].Data, answers[i]); err != nil {
			return nil, fmt.Errorf("read answers of %s: %w", id, err)
		}
	}
	return answers, nil
}

// Answers returns the answers of hosted services to a session and to its parents before the fork,
// by index, then in the order of the requests.
func (h *Host) Answers(ctx context.Context, id string) ([]*toolhostv1.ServiceAnswer, error) {
	defer h.lock(id)()
	l, err := h.current(ctx, id)
	if err != nil {
		return nil, err
	}
	return h.answersWithParents(id, l.record(), math.MaxInt32)
}

// answersWithParents returns the answers of a session up to an index, with those of its parents
// before the fork.
func (h *Host) answersWithParents(id string, record *toolhostv1.SessionRecord, until int32) ([]*toolhostv1.ServiceAnswer, error) {
	var all []*toolhostv1.ServiceAnswer
	err := h.lineage(id, record, until, func(id string, until int32) (more bool, err error) {
		answers, err := h.answers(id, 0, until)
		if err != nil {
			return false, fmt.Errorf("list answers of session %s: %w", id, err)
		}
		all = append(answers, all...)
		return true, nil
	})
	return all, err
}

// storeAnswers stores the answers as if the session had received them. Each creation repeats it,
// because an earlier one may have been interrupted. The session must be locked.
func (h *Host) storeAnswers(ctx context.Context, id string, answers []*toolhostv1.ServiceAnswer) error {
	numbers := make(map[int32]uint32)
	for _, answer := range answers {
		data, err := proto.Marshal(answer)
		if err != nil {
			return fmt.Errorf("store answers of session %s: %w", id, err)
		}
		index := answer.GetIndex()
		if err := h.store.PutAnswer(ctx, id, store.Answer{Index: index, Number: numbers[index], Data: data}); err != nil {
			return fmt.Errorf("store answers of session %s: %w", id, err)
		}
		numbers[index]++
	}
	return nil
}
