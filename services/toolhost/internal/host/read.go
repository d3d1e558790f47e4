package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxScan is the maximum number of stored entries to read for one page of sessions.
const maxScan = 10_000

// Tables returns the table versions at a message. Without names it returns all tables.
func (h *Host) Tables(ctx context.Context, id string, index int32, names []string) ([]*worldv1.Table, error) {
	defer h.lock(id)()
	l, err := h.current(ctx, id)
	if err != nil {
		return nil, err
	}
	var tables []*worldv1.Table
	for _, shape := range l.setup.schema.StoredTables() {
		if len(names) > 0 && !slices.Contains(names, shape.Name) {
			continue
		}
		table, err := h.versionAt(id, l, shape.Name, index)
		if err != nil {
			return nil, fmt.Errorf("read tables of session %s: %w", id, err)
		}
		if table != nil {
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// Versions returns every version of a session's tables, including those shared with parents, by
// table, then index.
func (h *Host) Versions(ctx context.Context, id string) ([]*worldv1.Table, error) {
	defer h.lock(id)()
	l, err := h.current(ctx, id)
	if err != nil {
		return nil, err
	}
	tables := slices.Clone(l.setup.tables)
	if err := h.history(id, l.record(), func(table *worldv1.Table) { tables = append(tables, table) }); err != nil {
		return nil, fmt.Errorf("list versions of session %s: %w", id, err)
	}
	slices.SortStableFunc(tables, l.setup.schema.Compare)
	return tables, nil
}

// Get returns the description of a session.
func (h *Host) Get(ctx context.Context, id string) (*toolhostv1.Session, error) {
	defer h.lock(id)()
	l, err := h.current(ctx, id)
	if err != nil {
		return nil, err
	}
	session := describe(id, l.record())
	session.Schema = l.setup.declared
	return session, nil
}

func describe(id string, record *toolhostv1.SessionRecord) *toolhostv1.Session {
	return &toolhostv1.Session{
		Id:          id,
		SetupName:   record.GetSetupName(),
		SetupDigest: record.GetSetupDigest(),
		LastIndex:   record.GetLastIndex(),
		ParentId:    record.GetParentId(),
		ForkedAt:    record.GetForkedAt(),
		IdsDrawn:    record.GetIdsDrawn(),

		HostedServices: record.GetHostedServices(),
		Digest:         record.GetDigest(),
	}
}

// List returns up to limit sessions after an id. more reports whether further sessions exist.
func (h *Host) List(prefix, after string, limit int) (sessions []*toolhostv1.Session, more bool, err error) {
	for range maxScan / max(limit, 1) {
		more, err = h.store.List(prefix, after, limit, func(id string, meta []byte, _ int32) error {
			after = id
			if strings.HasPrefix(id, ownPrefix) || len(sessions) == limit {
				return nil
			}
			record := &toolhostv1.SessionRecord{}
			if err := proto.Unmarshal(meta, record); err != nil {
				return fmt.Errorf("session %s: %w", id, err)
			}
			if !record.GetDeleted() {
				sessions = append(sessions, describe(id, record))
			}
			return nil
		})
		if err != nil {
			return nil, false, fmt.Errorf("list sessions: %w", err)
		}
		if !more || len(sessions) == limit || strings.HasPrefix(after, ownPrefix) {
			break
		}
	}
	return sessions, more && !strings.HasPrefix(after, ownPrefix), nil
}
