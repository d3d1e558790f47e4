package tool

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const someTime = 1716399000

func frame(t *testing.T) *session.Frame {
	t.Helper()
	backend, err := service.NewOffline(someTime)
	if err != nil {
		t.Fatalf("offline services: %v", err)
	}
	return &session.Frame{Zone: time.UTC, Services: backend}
}

// rowIDs are the ids in random worlds and calls: some invented, some that a session draws.
func rowIDs(f *session.Frame) []string {
	ids, w := []string{"a", "b", ""}, session.NewWorld(f, 0)
	for range 3 {
		ids = append(ids, w.NewID())
	}
	return ids
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// randomWorld returns a world of which each part has few values, so that two of them often agree in
// some parts.
func randomWorld(random *rand.Rand, f *session.Frame, ids []string) session.World {
	w := session.NewWorld(f, pick[float64](random, someTime, someTime, someTime, 0, 1e18))
	w.SetActive(random.IntN(3) > 0)
	w.SetDrawn(int64(random.IntN(3)))
	flag := func() python.Value {
		return pick(random, python.Bool(true), python.Bool(true), python.Bool(false), python.Bool(false), python.None())
	}
	degree := func() python.Value { return pick(random, python.Float(37.3), python.Float(-122), python.None()) }
	text := func() python.Value { return pick(random, python.Str("+14085550000"), python.Str("x"), python.None()) }
	id := func() python.Value { return python.Str(pick(random, ids...)) }
	if random.IntN(10) > 0 {
		w.Load(world.Setting, []session.Row{{text(), flag(), flag(), flag(), flag(), degree(), degree()}}, true)
	}
	rows := func(row func() session.Row) []session.Row {
		var list []session.Row
		for range random.IntN(4) {
			list = append(list, row())
		}
		return list
	}
	load := func(name string, row func() session.Row) {
		w.Load(name, rows(row), random.IntN(2) > 0)
		if random.IntN(2) > 0 {
			w.Write(name, rows(row))
		}
	}
	load(contactTable, func() session.Row { return session.Row{id(), text(), text(), text(), flag()} })
	load(messagingTable, func() session.Row {
		return session.Row{id(), id(), text(), id(), text(), text(), python.Float(someTime)}
	})
	load(reminderTable, func() session.Row {
		return session.Row{id(), text(), python.Float(someTime), python.Float(someTime), degree(), degree()}
	})
	return w
}

// mixed returns the first world with some parts of the second.
func mixed(random *rand.Rand, a, b session.World) session.World {
	some := func() bool { return random.IntN(2) > 0 }
	if some() {
		a.SetActive(b.Active())
	}
	if some() {
		a.SetNow(b.Now())
	}
	if some() {
		a.SetDrawn(b.Drawn())
	}
	for _, name := range []string{contactTable, messagingTable, reminderTable} {
		if some() {
			a.Load(name, b.Rows(name), b.Ever(name))
		}
	}
	if rows := slices.Clone(a.Rows(contactTable)); len(rows) > 0 && some() {
		at := 1 + random.IntN(3) // the name, the number or the relationship
		for i := range rows {
			rows[i] = slices.Clone(rows[i])
			rows[i][at] = python.Str("other")
		}
		a.Load(contactTable, rows, true)
	}
	const setting = world.Setting
	if len(a.Rows(setting)) == 1 && len(b.Rows(setting)) == 1 {
		row := slices.Clone(a.Rows(setting)[0])
		for i := range row {
			if some() {
				row[i] = b.Rows(setting)[0][i]
			}
		}
		a.Load(setting, []session.Row{row}, true)
	} else if some() {
		a.Load(setting, b.Rows(setting), true)
	}
	return a
}

// randomArgs returns arguments of a tool, mostly of the right types, that name the ids of random
// worlds.
func randomArgs(random *rand.Rand, ids []string, t *Tool) (Args, bool) {
	dict := &python.Dict{}
	for _, param := range t.Params {
		if param.Optional && random.IntN(2) > 0 {
			continue
		}
		var value python.Value
		switch {
		case random.IntN(20) == 0:
			value = pick(random, python.None(), python.Int(7), python.Str("?"), python.Bool(true))
		case strings.HasSuffix(param.Name, "_id"):
			value = python.Str(pick(random, ids...))
		case strings.Contains(param.Name, "phone_number"):
			value = python.Str("+14085550000")
		case strings.HasSuffix(param.Name, "_code"):
			value = python.Str(pick(random, "USD", "CHF"))
		case strings.HasSuffix(param.Name, "_unit"):
			value = python.Str(pick(random, "inch", "meter"))
		case strings.Contains(param.Name, "timestamp"):
			value = python.Float(someTime)
		case param.Name == "year":
			value = python.Int(2024)
		case param.Type.kind == python.KindBool:
			value = python.Bool(random.IntN(2) > 0)
		case param.Type.kind == python.KindStr:
			value = python.Str(pick(random, "x", "Christmas", "Apple", "\xed\xa0\xbd"))
		default:
			value = python.Int(int64(1 + random.IntN(3)))
		}
		dict.Set(param.Name, value)
	}
	args, err := t.Bind(nil, dict)
	return args, err == nil && t.CheckArgs(args) == nil
}

// allParts lists every part of a world.
func allParts(ids []string) []Part {
	parts := []Part{activePart(), clockPart(), drawnPart(), selfPart(""), cellsPart(contactTable), cellsPart(messagingTable), cellsPart(reminderTable)}
	for _, column := range world.Builtin().Tables()[1].Columns {
		parts = append(parts, settingPart(column.Name))
	}
	for _, id := range ids {
		parts = append(parts, rowPart(contactTable, id), rowPart(reminderTable, id))
		if id != "" {
			parts = append(parts, selfPart(id))
		}
	}
	return parts
}

func key(p Part, w session.World) string { return string(p.AppendKey(nil, &w)) }

func agree(parts []Part, a, b session.World) bool {
	return !slices.ContainsFunc(parts, func(p Part) bool { return key(p, a) != key(p, b) })
}

// restores says whether a removal takes the last rows of a table that had none before.
func restores(effects Effects, w session.World) bool {
	return slices.ContainsFunc(effects.Changes, func(p Part) bool {
		table, _, removes := p.Removes()
		return removes && w.Blank(table) && p.count(&w) == len(w.Rows(table))
	})
}

// TestEffects compares what every tool does in pairs of random worlds with what it declares.
func TestEffects(t *testing.T) {
	f, random := frame(t), rand.New(rand.NewPCG(3, 4))
	ids := rowIDs(f)
	parts := allParts(ids)
	for _, subject := range Builtin().All() {
		t.Run(subject.Name, func(t *testing.T) {
			if subject.Effects == nil {
				t.Fatal("declares no effects")
			}
			pairs, raised, ran := 0, 0, 0
			for range 3000 {
				args, ok := randomArgs(random, ids, subject)
				if !ok {
					continue
				}
				a := randomWorld(random, f, ids)
				b := mixed(random, a, randomWorld(random, f, ids))
				effects := subject.EffectsOf(args)
				if subject.ReadOnly && len(effects.Changes) > 0 {
					t.Fatalf("%s: is read-only and declares changes", python.Repr(args.Trace()))
				}
				if restores(effects, a) || restores(effects, b) || !agree(effects.Raises, a, b) {
					continue
				}
				pairs++
				if checkPair(t, subject, args, parts, a, b) {
					raised++
				} else {
					ran++
				}
			}
			if pairs < 100 || ran < 20 {
				t.Errorf("looked at %d pairs, of which %d raise and %d do not: too few", pairs, raised, ran)
			}
		})
	}
}

// checkPair runs a call in two worlds that agree in what decides whether it raises, and says
// whether it does.
func checkPair(t *testing.T, subject *Tool, args Args, parts []Part, a, b session.World) bool {
	t.Helper()
	effects := subject.EffectsOf(args)
	afterA, afterB := a, b
	_, errA := subject.Run(t.Context(), &afterA, args)
	_, errB := subject.Run(t.Context(), &afterB, args)
	if (errA == nil) != (errB == nil) {
		t.Fatalf("%s: raises %v in one world and %v in another that agrees in %+v", python.Repr(args.Trace()), errA, errB, effects.Raises)
	}
	if errA != nil {
		return true
	}
	next := a
	drawn := next.NewID()
	may := func(p Part) (changes, clears bool) {
		clears = true
		for _, change := range effects.Changes {
			if change.Overlaps(p, func(id string) bool { return id == drawn }) {
				changes, clears = true, clears && change.Clears()
			}
		}
		return changes, changes && clears
	}
	for _, p := range parts {
		changes, clears := may(p)
		if before, after := key(p, a), key(p, afterA); before != after && (!changes || clears && p.Empty(&a)) {
			t.Fatalf("%s: changes %+v from %q to %q and declares %+v", python.Repr(args.Trace()), p, before, after, effects.Changes)
		}
		if changes && agree(append(slices.Clone(effects.Shapes), p), a, b) && key(p, afterA) != key(p, afterB) {
			t.Fatalf("%s: changes %+v to %q and to %q in worlds that agree in %+v", python.Repr(args.Trace()), p, key(p, afterA), key(p, afterB), effects.Shapes)
		}
	}
	return false
}
