package executor

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// TestConsentBatches compares batches of calls that need consent with all their orders, in worlds
// with valid, used and expired consents.
func TestConsentBatches(t *testing.T) {
	const batches = 1500
	schema, err := world.NewSchema([]*worldv1.TableSchema{world.ConsentSchema()})
	if err != nil {
		t.Fatal(err)
	}
	env := environment(t)
	var confirm []*setupv1.ConsentTool
	var gated []*tool.Tool
	for _, declared := range env.catalogue.All() {
		if declared.ConsentAction != "" {
			confirm = append(confirm, &setupv1.ConsentTool{Tool: declared.Name, Action: declared.ConsentAction})
			gated = append(gated, declared, env.catalogue.Find("modify_contact"), env.catalogue.Find("set_cellular_service_status"))
		}
	}
	if env.selection, err = env.catalogue.RequireConsent(env.selection, confirm); err != nil {
		t.Fatal(err)
	}
	random, cfg := rand.New(rand.NewPCG(9, 10)), &session.Config{Zone: time.UTC, Services: recorded(t), Schema: schema}
	drawing := session.NewWorld(cfg, 0)
	ids := []string{"a", "b", drawing.NewID(), drawing.NewID()}
	compared, later := 0, 0
	for range batches {
		var pool []string
		for range 12 {
			pool = append(pool, generatedCall(random, ids, pick(random, gated...)))
		}
		base := collidingWorld(random, cfg, ids)
		base.Load(world.Consent, consents(random, base.Now(), confirm, ids))
		texts, calls := batch(random, env, pool, base)
		if len(calls) < 2 {
			continue
		}
		if compared++; compareOrders(t, env, base, texts) {
			later++
		}
	}
	if compared < batches/2 || later < compared/20 {
		t.Errorf("%d batches of which %d fail in an order that is not the given one: too few", compared, later)
	}
}

// consents returns up to five consents for some of the tools. Some name the arguments of calls for
// one row.
func consents(random *rand.Rand, now float64, confirm []*setupv1.ConsentTool, ids []string) []session.Row {
	idOf := map[string]string{"remove_contact": "person_id", "remove_reminder": "reminder_id"}
	var rows []session.Row
	for n := range random.IntN(6) {
		name, arguments := pick(random, confirm...).GetTool(), python.None()
		if argument := idOf[name]; argument != "" && random.IntN(2) == 0 {
			arguments = python.Str(`{"` + argument + `": "` + pick(random, ids...) + `"}`)
		}
		rows = append(rows, session.Row{
			python.Str("consent_" + strconv.Itoa(n+1)), python.Str(name),
			python.Str(pick(random, world.ConsentOnce, world.ConsentOnce, world.ConsentConversation)),
			python.Float(now + pick(random, 0.0, 600, 600, 600)), python.Bool(random.IntN(5) == 0), arguments,
		})
	}
	return rows
}
