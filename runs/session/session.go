// Package session inspects sessions of the tool hosts: it finds them, reads their tables at any
// message, compares two messages, forks and replays.
package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

const (
	// pageSize is the number of sessions per answer.
	pageSize = 1000
	// maxNamed is the number of sessions in an error.
	maxNamed = 3
	// suggestSlack is the edit distance that a suggested name may always have.
	suggestSlack = 2
)

// validID is the form of a session's id; idForm describes it.
var validID = regexp.MustCompile(`^[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*$`)

const (
	idForm    = "letters, digits, _ and -, with single dots between them"
	maxLength = 200
)

// Client reads and changes the sessions of an installation. An impossible request of a person is
// process.ErrUsage. Safe for concurrent use.
type Client struct{ node *rpc.Node }

// New returns a client. The caller keeps the ownership of the connections.
func New(node *rpc.Node) *Client { return &Client{node: node} }

// toolHost returns the tool host that owns a session.
func (c *Client) toolHost(id string) toolhostv1.ToolHostServiceClient {
	return toolhostv1.NewToolHostServiceClient(c.node.ToolHost(id))
}

// List returns the sessions with an id prefix that the live tool hosts have, by id, with numbers in
// numeric order. Several hosts may have a session that moved; the longest copy counts.
func (c *Client) List(ctx context.Context, prefix string) ([]*toolhostv1.Session, error) {
	found := make(map[string]*toolhostv1.Session)
	err := c.node.EachToolHost(ctx, func(host grpc.ClientConnInterface) error {
		request := &toolhostv1.ListSessionsRequest{Prefix: prefix, PageSize: pageSize}
		for {
			page, err := toolhostv1.NewToolHostServiceClient(host).ListSessions(ctx, request)
			if err != nil {
				return err
			}
			for _, session := range page.GetSessions() {
				if known := found[session.GetId()]; known == nil || known.GetLastIndex() < session.GetLastIndex() {
					found[session.GetId()] = session
				}
			}
			if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
				return nil
			}
		}
	})
	if err != nil {
		return nil, sweep.WrapStatus("list sessions", err)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *toolhostv1.Session) int { return compareIDs(a.GetId(), b.GetId()) }), nil
}

// compareIDs orders ids by their text, and ids that differ only in the number after their last dot
// by that number.
func compareIDs(a, b string) int {
	baseA, numberA := splitID(a)
	baseB, numberB := splitID(b)
	return cmp.Or(cmp.Compare(baseA, baseB), cmp.Compare(numberA, numberB), cmp.Compare(a, b))
}

// splitID splits the number from the id of a rollout; other ids have none.
func splitID(id string) (base string, number int) {
	if dot := strings.LastIndexByte(id, '.'); dot >= 0 {
		if number, err := strconv.Atoi(id[dot+1:]); err == nil {
			return id[:dot], number
		}
	}
	return id, -1
}

// Find returns the session with an id, else the only session of a scenario with this name. Forks
// are found only by their id.
func (c *Client) Find(ctx context.Context, name string) (*toolhostv1.Session, error) {
	if validID.MatchString(name) && len(name) <= maxLength {
		session, err := c.get(ctx, name)
		if status.Code(err) != codes.NotFound {
			return session, err
		}
	}
	sessions, err := c.List(ctx, "")
	if err != nil {
		return nil, err
	}
	var found []*toolhostv1.Session
	var known []string
	for _, session := range sessions {
		known = append(known, session.GetId(), session.GetSetupName())
		if session.GetSetupName() == name && session.GetParentId() == "" {
			found = append(found, session)
		}
	}
	switch len(found) {
	case 0:
		return nil, unknown(name, known)
	case 1:
		return c.get(ctx, found[0].GetId()) // a list has no schemas
	default:
		return nil, ambiguous(name, found)
	}
}

// Verify checks a session against the log of its rollout, if that has ended without a failure. A
// session without a rollout has no log.
func (c *Client) Verify(ctx context.Context, session *toolhostv1.Session) error {
	trajectory, err := c.trajectory(ctx, session.GetId())
	if status.Code(err) == codes.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if !bus.IsComplete(trajectory.GetEnd()) {
		return nil // a call may have been executed without reaching the log
	}
	if got, want := session.GetDigest(), trajectory.GetSessionDigest(); !bytes.Equal(got, want) {
		return fmt.Errorf("session %s does not match its log: its digest is %.8x, the log's is %.8x: the tool host's directory was replaced or is older",
			session.GetId(), got, want)
	}
	return nil
}

// UnknownError means that no session has an id, nor is it a scenario's name. It is
// process.ErrUsage.
type UnknownError struct{ Name, hint string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("ID: no session and no scenario is called %q: %s", e.Name, e.hint)
}

// Unwrap returns process.ErrUsage.
func (e *UnknownError) Unwrap() error { return process.ErrUsage }

func unknown(name string, known []string) error {
	hint := "see toolsandbox session list"
	if nearest := spelling.Nearest(name, known, suggestSlack); nearest != "" && results.PlanNumber(name) < 0 {
		hint = fmt.Sprintf("did you mean %q?", nearest)
	}
	return &UnknownError{name, hint}
}

func ambiguous(name string, found []*toolhostv1.Session) error {
	var ids []string
	for _, session := range found[:min(len(found), maxNamed)] {
		ids = append(ids, session.GetId())
	}
	if len(found) > maxNamed {
		ids = append(ids, "…")
	}
	return process.UsageErrorf("ID: scenario %[2]s has %[1]d sessions: give the id of one: %[3]s", len(found), name, strings.Join(ids, ", "))
}

func (c *Client) get(ctx context.Context, id string) (*toolhostv1.Session, error) {
	response, err := c.toolHost(id).GetSession(ctx, &toolhostv1.GetSessionRequest{SessionId: id})
	if err != nil {
		return nil, sweep.WrapStatus("read session "+id, err)
	}
	return response.GetSession(), nil
}

// Tables returns the versions at a message of a session, in table order; no names means all tables.
func (c *Client) Tables(ctx context.Context, session *toolhostv1.Session, message int, names []string) ([]*worldv1.Table, error) {
	request := &toolhostv1.ReadTablesRequest{SessionId: session.GetId(), Index: int32(message), Tables: names}
	response, err := c.toolHost(session.GetId()).ReadTables(ctx, request)
	if err != nil {
		return nil, sweep.WrapStatus("read tables of "+session.GetId(), err)
	}
	return response.GetTables(), nil
}

// Versions returns every stored version of a session's tables, by table, then index.
func (c *Client) Versions(ctx context.Context, id string) ([]*worldv1.Table, error) {
	var tables []*worldv1.Table
	err := rpc.Follow(ctx, func(ctx context.Context) (grpc.ServerStreamingClient[toolhostv1.ListVersionsResponse], error) {
		return c.toolHost(id).ListVersions(ctx, &toolhostv1.ListVersionsRequest{SessionId: id})
	}, func() { tables = nil }, func(response *toolhostv1.ListVersionsResponse) error {
		tables = append(tables, response.GetTable())
		return nil
	})
	if err != nil {
		return nil, sweep.WrapStatus("list versions of "+id, err)
	}
	return tables, nil
}

// Fork makes a session that shares another's history up to a message. It is idempotent. newID is no
// scenario's name, because Find looks for ids first.
func (c *Client) Fork(ctx context.Context, session *toolhostv1.Session, message int, newID string) (*toolhostv1.Session, error) {
	sessions, err := c.List(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, other := range sessions {
		if other.GetSetupName() == newID {
			return nil, process.UsageErrorf("NEW_ID: %s is the name of a scenario, whose session the fork would hide: choose another id", newID)
		}
	}
	return c.fork(ctx, session, message, newID, false)
}

// fork is Fork; with replay the new session asks no network.
func (c *Client) fork(ctx context.Context, session *toolhostv1.Session, message int, newID string, replay bool) (*toolhostv1.Session, error) {
	if !validID.MatchString(newID) || len(newID) > maxLength {
		return nil, process.UsageErrorf("NEW_ID: %q given, expected at most %d %s", newID, maxLength, idForm)
	}
	if !c.together(session.GetId(), newID) {
		return nil, process.UsageErrorf("NEW_ID: %s would be on another tool host than %s, with which it shares messages: choose another id", newID, session.GetId())
	}
	request := &toolhostv1.ForkSessionRequest{SessionId: session.GetId(), Index: int32(message), NewSessionId: newID, Replay: replay}
	response, err := c.toolHost(newID).ForkSession(ctx, request)
	switch status.Code(err) {
	case codes.OK:
		return response.GetSession(), nil
	case codes.AlreadyExists:
		return nil, process.UsageErrorf("NEW_ID: %s is another session: choose another id", newID)
	case codes.FailedPrecondition:
		return nil, process.UsageErrorf("--at: %s", status.Convert(err).Message())
	default:
		return nil, sweep.WrapStatus("fork session "+session.GetId(), err)
	}
}

// together returns whether two sessions are on the same tool host.
func (c *Client) together(id, other string) bool {
	return c.node.Owner(id) == c.node.Owner(other)
}

// Delete removes all copies of a session. Forks keep their shared history. It is idempotent.
func (c *Client) Delete(ctx context.Context, id string) error {
	err := c.node.EachToolHost(ctx, func(host grpc.ClientConnInterface) error {
		_, err := toolhostv1.NewToolHostServiceClient(host).DeleteSession(ctx, &toolhostv1.DeleteSessionRequest{SessionId: id})
		return err
	})
	if err != nil {
		return sweep.WrapStatus("delete session "+id, err)
	}
	return nil
}

// trajectory returns the trajectory of a rollout.
func (c *Client) trajectory(ctx context.Context, rolloutID string) (*orchestratorv1.GetTrajectoryResponse, error) {
	orchestrator := orchestratorv1.NewOrchestratorServiceClient(c.node.Conn(rpc.Orchestrator))
	response, err := orchestrator.GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: rolloutID})
	if err != nil {
		return nil, sweep.WrapStatus("read log of "+rolloutID, err)
	}
	return response, nil
}

// Recording returns the external input of a session's rollout; a fork has its origin's.
func (c *Client) Recording(ctx context.Context, session *toolhostv1.Session) ([]*orchestratorv1.RecordedItem, error) {
	id, _, err := c.root(ctx, session)
	if err != nil {
		return nil, err
	}
	return sweep.Recorded(ctx, orchestratorv1.NewOrchestratorServiceClient(c.node.Conn(rpc.Orchestrator)), id)
}
