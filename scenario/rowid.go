package scenario

import (
	"slices"

	"github.com/google/uuid"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// rowID returns the default id of a row: the UUID v5 of its content in the URL namespace, e.g. of a
// contact's name. Rows of a table without such a column share an id.
func rowID(schema world.Table, row *worldv1.Row) string {
	if at := schema.Column(nameColumn(schema)); at >= 0 {
		return contentID(row.GetCells()[at].GetText())
	}
	return contentID("my_phone")
}

// contentID returns the id of a row with a content.
func contentID(about string) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(about)).String() }

// idSource is where a row has its id from.
type idSource struct {
	at *document.Value
	// drawn reports that the id is made of the row's content.
	drawn bool
}

// origin returns the position of a row's id, or of its content if that makes the id. The worlds
// that this one extends know their own rows.
func (w *startWorld) origin(row *worldv1.Row) document.Position {
	for ; w != nil; w = w.base {
		if at, ok := w.origins[row]; ok {
			return at
		}
	}
	return document.Position{}
}

// setSource records where a row has its id from.
func (e *tableEdit) setSource(row *worldv1.Row, source idSource) {
	e.sources[row], e.world.origins[row] = source, e.At(source.at)
}

// duplicates reports each row whose id another row has, if the edit wrote one of them.
func (e *tableEdit) duplicates() {
	first := make(map[cellKey]*worldv1.Row, len(e.rows))
	for _, row := range e.rows {
		id := keyOf(row.GetCells()[0])
		other := first[id]
		if other == nil || id == (cellKey{}) {
			first[id] = row
			continue
		}
		if _, written := e.sources[row]; !written {
			row, other = other, row
		}
		if source, written := e.sources[row]; written && !e.world.broken && !e.isMisread(source) {
			e.failDuplicate(source, e.world.origin(other))
		}
	}
}

// isMisread reports whether the content that makes an id is missing because of another mistake.
func (e *tableEdit) isMisread(source idSource) bool {
	return source.drawn && len(source.at.Fields) > 0 && e.schema.Column(nameColumn(e.schema)) >= 0 && slices.ContainsFunc(source.at.Fields, func(f document.Field) bool {
		return e.schema.Column(f.Key) < 0
	})
}

// failDuplicate records that a row has the id of another.
func (e *tableEdit) failDuplicate(source idSource, other document.Position) {
	table, id := world.AuthorName(e.schema.Name), e.schema.Columns[0].Name
	switch at := e.At(source.at); {
	case at == other:
		e.Fail(source.at, "gives several rows of %s the same %s; change one row at a time", table, id)
	case source.drawn && e.schema.Column(nameColumn(e.schema)) < 0:
		e.Fail(source.at, "is the row of %s at %s once more: both are without %s, so they share one; write %s: $… with a name of its own", table, other, id, id)
	case source.drawn:
		e.Fail(source.at, "has the %s of the row of %s at %s, as it is made of %s; write another one, or %s: $… with a name of its own",
			id, table, other, nameColumn(e.schema), id)
	default:
		e.Fail(source.at, "is the %s of the row of %s at %s too; give each row its own", id, table, other)
	}
}
