package prove

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	tableSetting   = world.Setting
	tableContact   = world.Contact
	tableMessaging = world.Messaging
	tableReminder  = world.Reminder

	// strangeName, strangeNumber and strangeContent are in no world.
	strangeName    = "Quill Xanthe"
	strangeNumber  = "+12025550136"
	strangeContent = "Something unrequested"
	// day is the distance of an unrequested time from now, in seconds.
	day = 86400
)

// extra is an unrequested change of the world.
type extra struct {
	name  string
	table string
	call  *worldv1.ToolCall
}

func callOf(tool string, arguments ...argument) *worldv1.ToolCall {
	return &worldv1.ToolCall{Id: proto.String("call_extra"), Tool: tool, ArgumentsJson: encodeArguments(arguments)}
}

func text(name, value string) argument { return argument{name: name, value: quote(value)} }

func boolean(name string, value bool) argument {
	return argument{name: name, value: strconv.FormatBool(value)}
}

// planExtras plans the oracle with one additional change, before its last text.
func (s *candidate) planExtras() {
	at := s.oracle.lastSay()
	script := s.scenario.GetSetup().GetOracleScript()
	before := s.oracle.lastIndex()
	if at < len(script) {
		for _, st := range s.oracle.steps {
			if st.turn == at {
				before = st.index
			}
		}
	}
	for _, x := range s.extras(before) {
		if s.unguarded(x.table) || s.tools[x.call.GetTool()] == nil {
			continue
		}
		e := s.addMutant(&experiment{
			name: x.name, rule: ruleMutant, kind: lower, equivalence: sameWorld,
			fault:  fmt.Sprintf("an unrequested change makes no difference: %s %s", x.call.GetTool(), x.call.GetArgumentsJson()),
			remedy: fmt.Sprintf("let a milestone check what matters in %s, or leave the table out of the guardrails", x.table),
		}, slices.Insert(slices.Clone(script), at, &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{x.call}}))
		if e != nil {
			permit(e, x.call.GetTool())
		}
	}
}

// permit lets the agent of an experiment call a tool.
func permit(e *experiment, tool string) {
	selection := e.scenario.GetSetup().GetTools()
	if selection == nil {
		return
	}
	if len(selection.GetAllow()) > 0 && !slices.Contains(selection.GetAllow(), tool) {
		selection.Allow = append(selection.GetAllow(), tool)
	}
	selection.Deny = slices.DeleteFunc(selection.GetDeny(), func(name string) bool { return name == tool })
}

// unguarded returns whether a milestone's author lets a table change on purpose.
func (s *candidate) unguarded(table string) bool {
	return slices.ContainsFunc(s.scenario.GetEvaluation().GetMilestones().GetNodes(), func(node *evaluationv1.Node) bool {
		return node.GetRestrictGuardrails() && !slices.Contains(node.GetGuardrailTables(), table) || slices.Contains(node.GetUnguardedTables(), table)
	})
}

// extras returns possible changes right before a message that the oracle does not make.
func (s *candidate) extras(index int) []extra {
	var out []extra
	if call := s.toggle(index); call != nil {
		out = append(out, extra{"a setting changed", tableSetting, call})
	}
	out = append(out, extra{"a contact added", tableContact, callOf("add_contact", text("name", strangeName), text("phone_number", strangeNumber))})
	if id := s.unusedRow(tableContact, "person_id", index); id != "" {
		out = append(out, extra{"a contact removed", tableContact, callOf("remove_contact", text("person_id", id))})
	}
	later := strconv.FormatFloat(s.scenario.GetSetup().GetClock().GetNow()+day, 'f', 1, 64)
	out = append(out, extra{"a reminder added", tableReminder,
		callOf("add_reminder", text("content", strangeContent), argument{"reminder_timestamp", later})})
	if id := s.unusedRow(tableReminder, "reminder_id", index); id != "" {
		out = append(out, extra{"a reminder removed", tableReminder, callOf("remove_reminder", text("reminder_id", id))})
	}
	if s.setting("cellular", index) {
		out = append(out, extra{"a message sent", tableMessaging,
			callOf("send_message_with_phone_number", text("phone_number", strangeNumber), text("content", strangeContent))})
	}
	return append(out, s.extraRows(index)...)
}

// extraRows returns changes of the pack's declared tables, by tools named after them: add_note and
// remove_note for NOTE.
func (s *candidate) extraRows(index int) []extra {
	var out []extra
	for _, declared := range s.scenario.GetSetup().GetSchema() {
		table, _ := s.oracle.schema.Table(declared.GetName())
		if s.oracle.schema.IsBuiltin(table.Name) { // changed by built-in tools
			continue
		}
		name, id := world.AuthorName(table.Name), table.Columns[0].Name
		if calls := s.filled("add_"+name, nil); len(calls) > 0 {
			out = append(out, extra{"a row of " + name + " added", table.Name, calls[0]})
		}
		if row := s.unusedRow(table.Name, id, index); row != "" && s.tools["remove_"+name] != nil {
			out = append(out, extra{"a row of " + name + " removed", table.Name, callOf("remove_"+name, text(id, row))})
		}
	}
	return out
}

// setting returns whether a setting is on right before a message.
func (s *candidate) setting(column string, index int) bool {
	records := s.oracle.records(tableSetting, index-1)
	return len(records) > 0 && records[0][column].GetBoolean()
}

// toggle returns a change of a setting that the oracle does not touch, or nil.
func (s *candidate) toggle(index int) *worldv1.ToolCall {
	saving := s.setting("low_battery_mode", index)
	for _, on := range []bool{false, true} {
		for _, column := range []string{"wifi", "cellular", "location_service"} {
			if s.touched(column) || s.setting(column, index) == on || on && saving {
				continue
			}
			return callOf(setter(column), boolean("on", on))
		}
	}
	if s.touched("low_battery_mode") {
		return nil
	}
	return callOf(setter("low_battery_mode"), boolean("on", !saving))
}

// setter returns the tool that changes a setting.
func setter(column string) string {
	if column == "cellular" {
		column = "cellular_service"
	}
	return "set_" + column + "_status"
}

// touched returns whether the oracle changes a setting.
func (s *candidate) touched(column string) bool {
	first := s.setting(column, 1)
	for index := range s.oracle.messages {
		if s.setting(column, index+1) != first {
			return true
		}
	}
	return false
}

// unusedRow returns the id of a row that the oracle does not use; empty if there is none.
func (s *candidate) unusedRow(table string, column string, index int) string {
	for _, r := range s.oracle.records(table, index-1) {
		id := r.text(column)
		if id == "" || r["is_self"].GetBoolean() {
			continue
		}
		if !slices.ContainsFunc(s.oracle.steps, func(st *step) bool { return strings.Contains(st.call.GetArgumentsJson(), id) }) {
			return id
		}
	}
	return ""
}

// renamed returns a call with another id.
func renamed(call *worldv1.ToolCall, id string) *worldv1.ToolCall {
	call = proto.CloneOf(call)
	call.Id = &id
	return call
}
