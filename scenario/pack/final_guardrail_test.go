package pack

import (
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// TestFinalGuardrails checks the guardrails of the last milestones, written as TABLE since
// REFERENCE.
func TestFinalGuardrails(t *testing.T) {
	const head = `extra_tools: all
categories: [SINGLE_TOOL_CALL, SINGLE_USER_TURN]
clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}
tables: {setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 1, longitude: 1}]}
user: {goal: Something., says: Do it.}
`
	for _, c := range []struct {
		name, rest string
		want       []string // by milestone
	}{
		{"nothing changes", "oracle: [{say: Done.}]\nmilestones: {told: {says: Done.}}",
			[]string{"setting since -1, contact since -1, messaging since -1, reminder since -1"}},
		{"not the last", "oracle: [{say: Done.}]\nmilestones: {told: {says: Done.}, m1: {says: Bye.}}",
			[]string{"", "setting since -1, contact since -1, messaging since -1, reminder since -1"}},
		{"named by a table", "oracle: [{calls: [{tool: set_wifi_status}]}, {say: Done.}]\nmilestones: {m0: {table: setting, expect: {wifi: true}}, m1: {says: Bye.}, told: {says: Done.}}",
			[]string{"", "", "setting since 0, contact since -1, messaging since -1, reminder since -1"}},
		{"named by a call", "oracle: [{calls: [{tool: add_contact}]}, {say: Done.}]\nmilestones: {m0: {call: {tool: add_contact}}, told: {says: Done.}}",
			[]string{"", "contact since 0"}},
		{"named by one call of two", "oracle: [{calls: [{tool: add_contact}, {tool: modify_contact}]}]\nmilestones: {m0: {call: {tool: add_contact}}, told: {says: Done.}}",
			[]string{"", ""}},
		{"named by itself", "oracle: [{say: Done., milestone: none}]\nmilestones: {m0: {table: contact, measure: addition, reference: start, expect: {name: A}}}",
			[]string{"setting since -1, messaging since -1, reminder since -1"}},
		{"wanted by itself", "oracle: [{say: Done., milestone: none}]\nmilestones: {m0: {call: [{tool: get_wifi_status}, {tool: remove_reminder}]}}",
			[]string{"setting since -1, contact since -1, messaging since -1"}},
		{"changed and not named", "oracle: [{calls: [{tool: send_message_with_phone_number}]}]\nmilestones: {told: {says: Done.}}",
			[]string{""}},
		{"named twice in order", "oracle: [{say: Done.}]\nmilestones: {m0: {table: setting, expect: {wifi: true}}, m1: {table: setting, expect: {wifi: false}}, told: {says: Done.}}",
			[]string{"", "", "setting since 1, contact since -1, messaging since -1, reminder since -1"}},
		{"named twice in any order", "oracle: [{calls: [{tool: set_wifi_status}]}]\nmilestones: {x: {after: [], table: setting, expect: {wifi: true}}, " +
			"y: {after: [], table: setting, expect: {cellular: true}}, m2: {after: [x, y], says: Done.}}", []string{"", "", ""}},
		{"left out", "oracle: [{say: Done.}]\nguardrails: {except: [contact]}\nmilestones: {told: {says: Done.}, m1: {says: Bye., guardrails: {only: [reminder]}}}",
			[]string{"", "reminder since -1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			loaded, err := readPack(fstest.MapFS{"a.yaml": {Data: []byte(named("a", head+c.rest))}}, scenario.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, node := range loaded[0].Scenario.GetEvaluation().GetMilestones().GetNodes() {
				var anchors []string
				for _, c := range node.GetConstraints() {
					if c.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL {
						anchors = append(anchors, world.AuthorName(c.GetTable())+" since "+strconv.Itoa(int(c.GetReference())))
					}
				}
				got = append(got, strings.Join(anchors, ", "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
