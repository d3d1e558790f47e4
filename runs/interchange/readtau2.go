package interchange

import (
	"cmp"
	"encoding/json"
	"strings"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// tau2Results is what is read of a file of results of tau2.
type tau2Results struct {
	Info struct {
		Agent       tau2Player `json:"agent_info"`
		User        tau2Player `json:"user_info"`
		Environment struct {
			Domain string `json:"domain_name"`
		} `json:"environment_info"`
	} `json:"info"`
	Simulations []struct {
		Task        json.RawMessage `json:"task_id"`
		Trial       int             `json:"trial"`
		Duration    float64         `json:"duration"`
		Termination string          `json:"termination_reason"`
		AgentCost   *float64        `json:"agent_cost"`
		Reward      *struct {
			Reward *float64 `json:"reward"`
		} `json:"reward_info"`
		Messages []tau2Message `json:"messages"`
	} `json:"simulations"`
}

type tau2Player struct {
	Implementation string `json:"implementation"`
	LLM            string `json:"llm"`
}

// tau2Message is a message of a role, or an answer of a tool, or several of those.
type tau2Message struct {
	Role    string `json:"role"`
	Content parts  `json:"content"`
	Calls   []struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"tool_calls"`
	ID        string        `json:"id"`
	Requestor string        `json:"requestor"`
	Error     bool          `json:"error"`
	Answers   []tau2Message `json:"tool_messages"`
}

// readTau2 reads the simulations of a file.
func readTau2(name string, data []byte) (*foreignRun, error) {
	file := &tau2Results{}
	if err := decode(name, data, file); err != nil {
		return nil, err
	}
	if len(file.Simulations) == 0 {
		return nil, formatError(name, "simulations: expected at least one; a directory with simulations in files of their own is not read")
	}
	run := &foreignRun{agent: file.Info.Agent.name(), user: file.Info.User.name()}
	for i, simulation := range file.Simulations {
		task := idOf(simulation.Task)
		if task == "" {
			return nil, formatError(name, "simulations.%d.task_id: missing", i)
		}
		if simulation.Trial < 0 || simulation.Trial > maxTrial {
			return nil, formatError(name, "simulations.%d.trial: expected 0 to %d, got %d", i, maxTrial, simulation.Trial)
		}
		r := foreignRollout{scenario: task, trial: simulation.Trial, seconds: simulation.Duration}
		if file.Info.Environment.Domain != "" {
			r.categories = []string{file.Info.Environment.Domain}
		}
		if simulation.Reward != nil {
			r.score = scoreOf(simulation.Reward.Reward)
		}
		if simulation.AgentCost != nil {
			r.usage = &results.RoleUsage{CostUSD: simulation.AgentCost}
		}
		if r.score == nil && simulation.Termination != "" {
			r.failure = &simulation.Termination
		}
		for at, m := range simulation.Messages {
			turns, err := m.turns()
			if err != "" {
				return nil, formatError(name, "simulations.%d.messages.%d.%s", i, at, err)
			}
			r.turns = append(r.turns, turns...)
		}
		run.rollouts = append(run.rollouts, r)
	}
	return run, nil
}

func (p tau2Player) name() string {
	return cmp.Or(strings.TrimSpace(p.Implementation+" "+p.LLM), "unknown")
}

// turns returns what a message says. wrong is what is wrong with it, by field.
func (m tau2Message) turns() (turns []turn, wrong string) {
	speakers := map[string]worldv1.Role{"system": worldv1.Role_ROLE_SYSTEM, "user": worldv1.Role_ROLE_USER, "assistant": worldv1.Role_ROLE_AGENT}
	if m.Role == "tool" {
		for _, answer := range m.Answers {
			turns = append(turns, answer.answer())
		}
		if len(m.Answers) == 0 {
			turns = append(turns, m.answer())
		}
		return turns, ""
	}
	speaker, ok := speakers[m.Role]
	if !ok {
		return nil, "role: expected system, user, assistant or tool, got " + strings.TrimSpace(m.Role+" ")
	}
	said := turn{speaker: speaker, text: string(m.Content)}
	for _, call := range m.Calls {
		if call.Name == "" {
			return nil, "tool_calls: a name is missing"
		}
		said.calls = append(said.calls, newCall(call.ID, call.Name, string(call.Arguments)))
	}
	return []turn{said}, ""
}

func (m tau2Message) answer() turn {
	asker := worldv1.Role_ROLE_AGENT
	if m.Requestor == "user" {
		asker = worldv1.Role_ROLE_USER
	}
	return turn{answer: true, asker: asker, id: m.ID, text: string(m.Content), failed: m.Error}
}
