package conversation

import "strconv"

// UniqueIDs gives every call of a transcript an id that no other has, and its result the same one.
// It keeps ids that are unique. Calls of demonstrations, plug-ins and other agents may have none,
// or one that another call has. A result without a call gets an id too.
func UniqueIDs(entries []Entry) {
	used := make(map[string]bool, len(entries))
	for _, entry := range entries {
		if entry.Kind == ToolCall || entry.Kind == Result {
			used[entry.CallID()] = true
		}
	}
	given := make(map[string]bool, len(entries)) // ids of the calls so far
	open := make(map[string][]string)            // by original id, the ids of calls without a result
	previous := Kind(0)
	for i := range entries {
		entry := &entries[i]
		original := entry.CallID()
		switch entry.Kind {
		case ToolCall:
			if previous != ToolCall {
				clear(open) // results follow their calls
			}
			id := original
			if id == "" || id == noID || given[id] {
				id = freeID(used, entry.Index)
			}
			open[original] = append(open[original], id)
			entry.rename(id)
			given[id] = true
		case Result:
			id := original
			switch waiting := open[original]; {
			case len(waiting) > 0:
				id, open[original] = waiting[0], waiting[1:]
			case id == "" || id == noID:
				id = freeID(used, entry.Index)
			}
			entry.rename(id)
		case System, User, Assistant:
		}
		previous = entry.Kind
	}
}

// rename sets the id of a call or a result.
func (e *Entry) rename(id string) {
	if e.ID = id; e.RowID == nil || *e.RowID != id {
		e.RowID = &id
	}
}

// freeID returns call_<index>, with underscores appended until it is unused.
func freeID(used map[string]bool, index int32) string {
	id := "call_" + strconv.Itoa(int(index))
	for used[id] {
		id += "_"
	}
	used[id] = true
	return id
}
