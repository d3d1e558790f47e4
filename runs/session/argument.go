package session

import (
	"context"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Verified finds a session and verifies it against its rollout's log.
func (c *Client) Verified(ctx context.Context, name string) (*toolhostv1.Session, error) {
	found, err := c.Find(ctx, name)
	if err == nil {
		err = c.Verify(ctx, found)
	}
	return found, err
}

// Diff compares the tables of a session at two messages, all or one. Other arguments than numbers
// of messages are process.ErrUsage.
func (c *Client) Diff(ctx context.Context, id, from, to, table string) (*Changes, error) {
	found, err := c.Verified(ctx, id)
	if err != nil {
		return nil, err
	}
	tables, err := TablesOf(world.SchemaOrBuiltin(found.GetSchema()), table)
	if err != nil {
		return nil, err
	}
	changes := &Changes{Session: found}
	last := int(found.GetLastIndex())
	if changes.From, err = MessageOf("FROM", from, last); err != nil {
		return nil, err
	}
	if changes.To, err = MessageOf("TO", to, last); err != nil {
		return nil, err
	}
	before, err := c.Tables(ctx, found, changes.From, nil)
	if err != nil {
		return nil, err
	}
	after, err := c.Tables(ctx, found, changes.To, nil)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		changes.Tables = append(changes.Tables, Compare(t, named(before, t.Name), named(after, t.Name)))
	}
	return changes, nil
}

// named returns the table of this name, nil if there is none.
func named(tables []*worldv1.Table, name string) *worldv1.Table {
	for _, table := range tables {
		if table.GetName() == name {
			return table
		}
	}
	return nil
}

// MessageOf parses the number of a message of a session with the given last message. name is the
// argument or flag.
func MessageOf(name, text string, last int) (int, error) {
	index, err := strconv.Atoi(text)
	if err != nil || index < 0 || index > last {
		return 0, process.UsageErrorf("%s: %s given, expected a message from 0 to %d, the tool host's last one", name, text, last)
	}
	return index, nil
}

// TablesOf returns the table of a flag, all without one.
func TablesOf(schema *world.Schema, text string) ([]world.Table, error) {
	if text == "" {
		return schema.StoredTables(), nil
	}
	var known []string
	for i, table := range schema.StoredTables() {
		if strings.EqualFold(text, table.Name) {
			return schema.StoredTables()[i : i+1], nil
		}
		known = append(known, table.Name)
	}
	return nil, process.UsageErrorf("--table: unknown table %q, expected one of %s", text, strings.Join(known, ", "))
}
