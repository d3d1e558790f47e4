package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

const (
	// ConfirmationSuffix is the suffix of the variant in which built-in tools need consent.
	ConfirmationSuffix = "_confirmation"

	// askText is the beginning of the question of the variant's oracle, goAheadText the answer of its
	// user.
	askText     = "May I "
	goAheadText = "Yes, you may."

	// askMessages is the number of messages of a question: the question and the user's answer.
	// allowMessages is the number per consent: the user's call and its result.
	askMessages, allowMessages = 2, 2
	// messageLimit is the limit of max_messages in a setup.
	messageLimit     = 10000
	secondsPerMinute = 60
)

// requiredConsents returns those tools of a loaded scenario that need consent: the marked tools of
// the pack and, with the augmentation, the built-in ones.
func (o Options) requiredConsents(tools *setupv1.ToolSelection) []*setupv1.ConsentTool {
	list := o.moduleConsentTools
	if slices.Contains(tools.GetAugmentations(), setupv1.Augmentation_AUGMENTATION_CONFIRMATION) {
		list = slices.Concat(o.ConsentTools, o.moduleConsentTools)
	}
	return slices.DeleteFunc(slices.Clone(list), func(entry *setupv1.ConsentTool) bool {
		return !o.isKnownTool(entry.GetTool()) || slices.Contains(tools.GetDeny(), entry.GetTool())
	})
}

// requireConsent makes the agent's calls of tools need the user's consent: it adds the table of
// consents, which no automatic guardrail covers, and instructs the user. It changes fields of the
// scenario, its setup and its evaluation, but no value that they share with others.
func requireConsent(s *scenariov1.Scenario, confirm []*setupv1.ConsentTool) {
	setup, evaluation := s.GetSetup(), s.GetEvaluation()
	required := len(setup.GetConsentTools()) > 0
	if setup.ConsentTools = confirm; required || len(confirm) == 0 {
		return
	}
	setup.Schema = schemaWithConsents(setup.GetSchema())
	evaluation.Schema = setup.GetSchema()
	setup.Tables = append(slices.Clip(setup.GetTables()), &worldv1.Table{Name: world.Consent})
	user := &evaluationv1.User{}
	shareFields(evaluation.GetUser(), user)
	user.Tools = append(slices.Clip(user.GetTools()), world.AllowTool)
	setup.Messages = slices.Clone(setup.GetMessages())
	for i, m := range slices.Backward(setup.GetMessages()) {
		if m.GetSender() == worldv1.Role_ROLE_SYSTEM && m.GetRecipient() == worldv1.Role_ROLE_USER {
			message := proto.CloneOf(m)
			text := strings.TrimSuffix(m.GetText(), "\n") + "\n" + allowText // the author's own instructions
			if m.GetText() == instruction(evaluation.GetUser()) {
				text = instruction(user)
			}
			message.Body = &worldv1.Message_Text{Text: text}
			setup.Messages[i] = message
			break
		}
	}
	evaluation.User = user
	evaluation.Milestones, evaluation.Minefields = unguardConsents(evaluation.GetMilestones()), unguardConsents(evaluation.GetMinefields())
}

// schemaWithConsents returns the declared tables and that of consents.
func schemaWithConsents(declared []*worldv1.TableSchema) []*worldv1.TableSchema {
	return append(slices.Clip(declared), world.ConsentSchema())
}

// unguardConsents returns a graph without automatic guardrails for consents.
func unguardConsents(graph *evaluationv1.Graph) *evaluationv1.Graph {
	out := &evaluationv1.Graph{}
	shareFields(graph, out)
	out.Nodes = make([]*evaluationv1.Node, len(graph.GetNodes()))
	for i, node := range graph.GetNodes() {
		free := &evaluationv1.Node{}
		shareFields(node, free)
		free.UnguardedTables = append(slices.Clip(free.GetUnguardedTables()), world.Consent)
		out.Nodes[i] = free
	}
	return out
}

// addedConsentTools returns those of some tools that need consent only in the variant of a
// scenario: tools of the agent that do not need it already. If there are none, the scenario has no
// such variant.
func addedConsentTools(s *scenariov1.Scenario, confirm []*setupv1.ConsentTool) []*setupv1.ConsentTool {
	setup := s.GetSetup()
	if setup.GetFunctionCalling() != nil || !IsBase(s) || isStandalone(setup.GetSchema()) {
		return nil
	}
	required := slices.DeleteFunc(slices.Clone(confirm), func(entry *setupv1.ConsentTool) bool {
		return disallowedReason(setup.GetTools(), entry.GetTool()) != "" || slices.ContainsFunc(setup.GetConsentTools(), func(other *setupv1.ConsentTool) bool {
			return other.GetTool() == entry.GetTool() || other.GetAction() == entry.GetAction()
		})
	})
	if len(required) == 0 || len(setup.GetConsentTools()) > 0 {
		return required
	}
	if _, err := world.NewSchema(schemaWithConsents(setup.GetSchema())); err != nil {
		return nil // another table has the name
	}
	return required
}

// confirmationVariant returns the variant of a base scenario in which some of its tools need
// consent. Its oracle asks before the first call of each, and its user consents. All else is the
// same.
func confirmationVariant(s *scenariov1.Scenario, confirm []*setupv1.ConsentTool) *scenariov1.Scenario {
	variant := Variant{ConfirmationSuffix, []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_CONFIRMATION}}.apply(s)
	evaluation := &evaluationv1.Evaluation{}
	shareFields(s.GetEvaluation(), evaluation)
	variant.Evaluation = evaluation
	setup := variant.GetSetup()
	for _, entry := range confirm {
		allow := max(1, len(neededConsents(setup, entry.GetTool())))
		setup.MaxMessages = min(setup.GetMaxMessages()+askMessages+int32(allowMessages*allow), messageLimit)
	}
	requireConsent(variant, slices.Concat(setup.GetConsentTools(), confirm))
	q := newQuestions(setup, confirm)
	script, user := q.insert(s.GetSetup().GetOracleScript())
	if len(script) > len(s.GetSetup().GetOracleScript()) {
		if at := slices.Index(setup.GetCategories(), singleUserTurn); at >= 0 {
			setup.Categories[at] = multipleUserTurn
		}
	}
	setup.OracleScript, setup.UserScript = script, user
	if s.GetProof() != nil {
		variant.Proof = &scenariov1.Proof{}
		shareFields(s.GetProof(), variant.Proof)
		variant.Proof.Orders = q.orders(s, script, user)
	}
	return variant
}

// question is a question for consent to calls of one tool.
type question struct {
	tool  string
	ask   *worldv1.ScriptTurn
	reply []*worldv1.ScriptTurn
}

// questions are the questions of an oracle.
type questions struct {
	list []question
	user []*worldv1.ScriptTurn
	// userFirst reports whether the user speaks before the agent.
	userFirst bool
}

// newQuestions returns the questions for a setup that still has the scripts of its base scenario.
func newQuestions(setup *setupv1.Setup, confirm []*setupv1.ConsentTool) *questions {
	messages := setup.GetMessages()
	q := &questions{user: setup.GetUserScript()}
	q.userFirst = len(messages) > 0 && messages[len(messages)-1].GetRecipient() == worldv1.Role_ROLE_USER
	clock := setup.GetClock()
	longest := (clock.GetStep() + max(clock.GetUserTurn(), clock.GetAgentTurn())) * float64(setup.GetMaxMessages()) // of the conversation
	minutes := int(min(math.Ceil(longest/secondsPerMinute), world.MaxConsentMinutes))
	calls := 0
	for _, entry := range confirm {
		reply := &worldv1.ScriptTurn{}
		for _, consent := range neededConsents(setup, entry.GetTool()) {
			arguments := `{"action": ` + document.Quote(entry.GetAction())
			if consent.calls > 1 {
				arguments += `, "scope": "` + world.ConsentConversation + `"`
			}
			if minutes > world.ConsentMinutes {
				arguments += `, "minutes": ` + strconv.Itoa(minutes)
			}
			if consent.arguments != "" {
				arguments += `, "arguments": ` + consent.arguments
			}
			calls++
			reply.Calls = append(reply.Calls, &worldv1.ToolCall{
				Id: proto.String("call_allow_" + strconv.Itoa(calls)), Tool: world.AllowTool, ArgumentsJson: arguments + "}",
			})
		}
		q.list = append(q.list, question{
			tool: entry.GetTool(), ask: &worldv1.ScriptTurn{Say: askText + entry.GetAction() + "?"},
			reply: []*worldv1.ScriptTurn{reply, {Say: goAheadText}},
		})
	}
	return q
}

// consent is a consent to calls of a tool. arguments is the JSON of the required arguments, empty
// if there are none.
type consent struct {
	arguments string
	calls     int // of the oracle
}

// neededConsents returns the consents for the oracle's calls of a tool.
func neededConsents(setup *setupv1.Setup, tool string) (list []consent) {
	exact := exactColumns(setup.GetSchema())
	for call := range Calls(setup.GetOracleScript()...) {
		if call.GetTool() != tool {
			continue
		}
		arguments := identifyingArguments(call, exact)
		at := slices.IndexFunc(list, func(other consent) bool { return other.arguments == arguments })
		if at < 0 {
			at, list = len(list), append(list, consent{arguments: arguments})
		}
		list[at].calls++
	}
	return list
}

// identifyingArguments returns the JSON of those arguments that identify the subject of a call.
// These have the name of a column whose values are compared exactly. An agent may choose the
// wording of other texts.
func identifyingArguments(call *worldv1.ToolCall, exact map[string]bool) string {
	var arguments map[string]json.RawMessage
	if json.Unmarshal([]byte(call.GetArgumentsJson()), &arguments) != nil {
		return "" // the script's own check says so
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		value := arguments[name]
		if exact[name] {
			fields = append(fields, document.Quote(name)+": "+string(value))
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// exactColumns returns the names of the columns that every table of a schema compares exactly.
func exactColumns(declared []*worldv1.TableSchema) map[string]bool {
	exact := map[string]bool{}
	for _, table := range world.SchemaOrBuiltin(declared).StoredTables() {
		for _, column := range table.Columns {
			others, known := exact[column.Name]
			exact[column.Name] = column.Measure == world.DefaultMeasure && (others || !known)
		}
	}
	return exact
}

// insert inserts each question before the first call that needs it. It returns that script and the
// user's script with the answers.
func (q *questions) insert(script []*worldv1.ScriptTurn) (asking, answering []*worldv1.ScriptTurn) {
	left, open := q.user, slices.Clone(q.list)
	reply := func() { // the user's turns up to its next text
		for spoken := false; !spoken && len(left) > 0 && !hasCall(left[0], world.EndTool); left = left[1:] {
			answering, spoken = append(answering, left[0]), left[0].GetSay() != ""
		}
	}
	if q.userFirst {
		reply()
	}
	for _, turn := range script {
		open = slices.DeleteFunc(open, func(ask question) bool {
			if !hasCall(turn, ask.tool) {
				return false
			}
			asking, answering = append(asking, ask.ask), append(answering, ask.reply...)
			return true
		})
		if asking = append(asking, turn); turn.GetSay() != "" {
			reply()
		}
	}
	return asking, append(answering, left...)
}

// orders converts the orders of the base scenario's oracle to its asking one. It omits those that
// change the order of the user's turns.
func (q *questions) orders(s *scenariov1.Scenario, asking, answering []*worldv1.ScriptTurn) []*scenariov1.Order {
	var out []*scenariov1.Order
	base := s.GetSetup().GetOracleScript()
	for _, order := range s.GetProof().GetOrders() {
		permuted := make([]*worldv1.ScriptTurn, len(base))
		for i, at := range order.GetTurns() {
			permuted[i] = base[at]
		}
		script, user := q.insert(permuted)
		if !slices.Equal(user, answering) {
			continue
		}
		moved := &scenariov1.Order{}
		for _, turn := range script {
			moved.Turns = append(moved.Turns, int32(slices.Index(asking, turn)))
		}
		out = append(out, moved)
	}
	return out
}

// confirm checks the tools that need consent, and that the scenario has what consent requires.
func (c *checker) confirm(setup *setupv1.Setup) {
	confirm, tools := setup.GetConsentTools(), setup.GetTools()
	for i, entry := range confirm {
		path := fmt.Sprintf("setup.confirm[%d]", i)
		c.tool(path, entry.GetTool())
		if entry.GetAction() == "" {
			c.fail(path, "does not say what the user allows")
		}
		for _, other := range confirm[:i] {
			if other.GetTool() == entry.GetTool() || other.GetAction() == entry.GetAction() {
				c.fail(path, "tool %q or action %q occurs twice", entry.GetTool(), entry.GetAction())
			}
		}
	}
	for _, entry := range c.opts.moduleConsentTools {
		listed := slices.ContainsFunc(confirm, func(other *setupv1.ConsentTool) bool { return other.GetTool() == entry.GetTool() })
		if !listed && whyDenied(tools, entry.GetTool()) == "" {
			c.fail("setup.confirm", "lacks %q, which @confirm marks", entry.GetTool())
		}
	}
	if declared := world.HasConsent(setup.GetSchema()); declared != (len(confirm) > 0) {
		c.fail("setup.schema", "declares the table %s: %v, expected it where tools need consent and nowhere else", world.AuthorName(world.Consent), declared)
	}
	if asks := slices.Contains(tools.GetAugmentations(), setupv1.Augmentation_AUGMENTATION_CONFIRMATION); asks && len(confirm) == 0 {
		c.fail("setup.tools", "CONFIRMATION changes nothing: the agent has no tool that needs consent")
	}
	for _, list := range [][]string{tools.GetAllow(), tools.GetDeny(), tools.GetUser()} {
		if slices.Contains(list, world.AllowTool) {
			c.fail("setup.tools", "the user has %s by default if tools need consent; remove it", world.AllowTool)
		}
	}
	for i, turn := range setup.GetUserScript() {
		for j, call := range turn.GetCalls() {
			c.allowCall(fmt.Sprintf("setup.user_script[%d].calls[%d].arguments_json", i, j), call, confirm)
		}
	}
}

// allowCall checks a call of the user that consents.
func (c *checker) allowCall(path string, call *worldv1.ToolCall, confirm []*setupv1.ConsentTool) {
	consent := callArguments(call).Value()
	action, _ := consent.Field("action").AsStr()
	if call.GetTool() != world.AllowTool || len(confirm) == 0 || action == "" {
		return // the script's own check says so
	}
	arguments, _ := consent.Field("arguments").AsDict()
	actions := make([]string, len(confirm))
	for i, entry := range confirm {
		actions[i] = entry.GetAction()
	}
	at := slices.Index(actions, action)
	if at < 0 {
		c.fail(path, "nothing is called %q%s", action, spelling.Hint(action, actions))
		return
	}
	c.arguments(path, confirm[at].GetTool(), arguments, false)
}
