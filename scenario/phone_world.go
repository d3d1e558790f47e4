package scenario

import (
	"io/fs"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/packs"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// phonePrefix begins the names of worlds of the pack phone.
const phonePrefix = packs.Phone + "/"

func isPhoneWorld(name string) bool { return strings.HasPrefix(name, phonePrefix) }

// phoneWorlds are the worlds of the pack phone with the tables of another pack. A world is built
// once something names it, and does not count as a part of the other pack. It is safe for
// concurrent use.
type phoneWorlds struct {
	mu     sync.Mutex
	reader *worldReader // nil until something names a world
}

// world returns the world with a name that isPhoneWorld for the pack that r reads, or records why
// there is none and returns nil. The world must not be changed.
func (p *phoneWorlds) world(r *reader, at *document.Value) *startWorld {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reader == nil {
		p.reader = newWorldReader(phoneWorldFiles(), r.schema, &Budget{Rows: math.MaxInt, Visits: math.MaxInt})
	}
	name := strings.TrimPrefix(at.Text, phonePrefix)
	if p.reader.readers[name] == nil {
		r.Fail(at, "the pack %s has no worlds/%s.yaml%s", packs.Phone, name, spelling.Hint(name, slices.Sorted(maps.Keys(p.reader.readers))))
		return nil
	}
	built := p.reader.build(name)
	if built.broken {
		r.Fail(at, "worlds/%s.yaml of the pack %s does not fit the tables of this pack", name, packs.Phone)
		return nil
	}
	return built
}

// phoneWorldFiles returns the worlds of the pack phone.
func phoneWorldFiles() []WorldFile {
	files, err := packs.Open(packs.Phone)
	if err != nil {
		panic(err) // it is embedded
	}
	names, err := fs.Glob(files, "worlds/*.yaml")
	if err != nil {
		panic(err) // the pattern is valid
	}
	worlds := make([]WorldFile, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err) // Glob has found it
		}
		worlds = append(worlds, WorldFile{Reader: &document.Reader{File: phonePrefix + name}, Data: data})
	}
	return worlds
}

// failWorld records that a pack has no world of a name.
func failWorld(r *document.Reader, at *document.Value, names iter.Seq[string]) {
	hint := spelling.Hint(at.Text, slices.Sorted(names))
	for _, file := range phoneWorldFiles() {
		if baseName(file.File) == at.Text {
			hint = "; that of the phone is " + phonePrefix + at.Text
		}
	}
	r.Fail(at, "there is no worlds/%s.yaml%s", at.Text, hint)
}
