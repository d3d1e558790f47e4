package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/world"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// errPlayerLeft means that the person left the conversation.
var errPlayerLeft = errors.New("ended by the person at the terminal")

// PlayerLeft returns whether a rollout ended because the person left, by its detail.
func PlayerLeft(detail string) bool { return strings.HasSuffix(detail, errPlayerLeft.Error()) }

const help = `  TEXT          say it
  tools         list the tools
  call [NAME]   fill in a call
  history       show the conversation again
  end           %s
  help          show this list
To say one of these words, write ' before it.
`

// The effect of end, by role.
const (
	agentEnds = "leave the conversation without a score; --resume asks you again"
	userEnds  = "end the conversation and score it"
)

// Console is a person's terminal. One turn at a time owns it. Safe for concurrent use.
type Console struct {
	out   io.Writer
	lines <-chan string
	leave func()
	// free holds a token while no turn owns the console.
	free chan struct{}
	// conversation is the last shown one, seen the number of its messages that each role saw, and
	// last the role that saw some last.
	conversation string
	seen         map[worldv1.Role]int
	last         worldv1.Role
}

// NewConsole returns a console on in and out. When a turn waits for input and in has ended, the
// console calls leave, which must eventually end the turn's context: nobody is there to continue.
// The reading goroutine ends with in; a read of a terminal cannot be interrupted, so it may outlive
// the console until the process ends.
func NewConsole(in io.Reader, out io.Writer, leave func()) *Console {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	c := &Console{out: out, lines: lines, leave: leave, free: make(chan struct{}, 1), seen: make(map[worldv1.Role]int)}
	c.free <- struct{}{}
	return c
}

// turn shows new messages and reads one turn. Errors: errPlayerLeft, or that of ctx.
func (c *Console) turn(ctx context.Context, role worldv1.Role, req *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	select {
	case <-c.free:
		defer func() { c.free <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.conversation != req.GetConversationId() {
		clear(c.seen)
		c.conversation = req.GetConversationId()
	}
	seen, ok := c.seen[role]
	switch {
	case !ok:
		c.printf("\n═══ a conversation, you are the %s ═══\n", roleName(role))
	case c.last != role:
		c.printf("\n─── you are the %s ───\n", roleName(role))
	}
	c.show(role, req.GetMessages(), seen)
	if !ok {
		c.printf("(help lists the commands)\n")
	}
	c.seen[role], c.last = len(req.GetMessages()), role
	for {
		line, err := c.readLine(ctx, "> ")
		if err != nil {
			return nil, err
		}
		answer, err := c.enter(ctx, role, req, line)
		if answer != nil || err != nil {
			return answer, err
		}
	}
}

// enter executes a line; a command that only shows something returns no answer.
func (c *Console) enter(ctx context.Context, role worldv1.Role, req *agentv1.ActRequest, line string) (*agentv1.ActResponse, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case word == "":
		return nil, nil
	case word == "help" && rest == "":
		c.printf(help, endCommandHelp(role))
	case word == "tools" && rest == "":
		c.showTools(req.GetTools())
	case word == "history" && rest == "":
		c.show(role, req.GetMessages(), 0)
	case word == "call" && len(strings.Fields(rest)) < 2:
		return c.calls(ctx, req.GetTools(), strings.TrimSpace(rest))
	case word == "end" && rest == "":
		return c.endConversation(role, req.GetTools())
	default:
		return &agentv1.ActResponse{Text: strings.TrimPrefix(line, "'")}, nil
	}
	return nil, nil
}

// endConversation ends the conversation in the way of the role: a user calls its tool, an agent
// leaves.
func (c *Console) endConversation(role worldv1.Role, tools []*agentv1.Tool) (*agentv1.ActResponse, error) {
	if role != worldv1.Role_ROLE_USER {
		return nil, errPlayerLeft
	}
	for _, tool := range tools {
		if tool.GetName() == world.EndTool {
			return &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Name: world.EndTool, ArgumentsJson: "{}"}}}, nil
		}
	}
	c.printf("  this user has no tool to end the conversation\n")
	return nil, nil
}

// endCommandHelp describes the command end.
func endCommandHelp(role worldv1.Role) string {
	if role == worldv1.Role_ROLE_USER {
		return userEnds
	}
	return agentEnds
}

// readLine reads a line, again until it is UTF-8: a message cannot hold other bytes. Errors: that
// of ctx, also at the end of input.
func (c *Console) readLine(ctx context.Context, prompt string) (string, error) {
	for {
		c.printf("%s", prompt)
		select {
		case line, ok := <-c.lines:
			switch {
			case !ok:
				c.printf("\n")
				c.leave()
				<-ctx.Done()
				return "", ctx.Err()
			case utf8.ValidString(line):
				return line, nil
			}
			c.printf("  this line is not UTF-8; the terminal may have another encoding: enter it again, e.g. without accents\n")
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// printf writes to the terminal; reading notices a lost one.
func (c *Console) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }

// show writes the messages from an index on. Those before a user's instructions are examples of how
// to play, with a heading and each speaker's name.
func (c *Console) show(role worldv1.Role, messages []*agentv1.Message, from int) {
	examples := demonstrations(messages)
	for i := from; i < len(messages); i++ {
		if i < examples {
			if i == from {
				c.printf("─── examples from other conversations: how to play the %s ───\n", roleName(role))
			}
			c.message("e.g. "+roleName(role), "e.g. "+roleName(counterpart(role)), "e.g. ", messages[i])
			continue
		}
		if i == examples && i > 0 {
			c.printf("─── end of the examples; now it is your turn ───\n")
		}
		c.message("you", roleName(counterpart(role)), "", messages[i])
	}
}

// demonstrations returns the number of messages before the first instructions; 0 without
// instructions.
func demonstrations(messages []*agentv1.Message) int {
	return max(0, slices.IndexFunc(messages, func(m *agentv1.Message) bool { return m.GetSpeaker() == agentv1.Speaker_SPEAKER_SYSTEM }))
}

// message writes a message under the names of the sides; mark precedes a tool's text.
func (c *Console) message(self, other, mark string, m *agentv1.Message) {
	switch m.GetSpeaker() {
	case agentv1.Speaker_SPEAKER_SYSTEM:
		c.block("instructions", m.GetText())
	case agentv1.Speaker_SPEAKER_USER:
		c.block(other, m.GetText())
	case agentv1.Speaker_SPEAKER_AGENT:
		if m.GetText() != "" || len(m.GetCalls()) == 0 {
			c.block(self, m.GetText())
		}
		for _, call := range m.GetCalls() {
			c.block(self, call.GetName()+" "+call.GetArgumentsJson())
		}
	case agentv1.Speaker_SPEAKER_TOOL:
		outcome := "tool"
		if m.GetFailed() {
			outcome = "tool failed"
		}
		c.block(mark+outcome, m.GetToolName()+" → "+m.GetText())
	case agentv1.Speaker_SPEAKER_NOTIFICATION:
		c.block("notification", m.GetText())
	case agentv1.Speaker_SPEAKER_UNSPECIFIED:
	default:
	}
}

// block writes a message after its speaker, or below it in narrow terminals, with further lines
// indented.
func (c *Console) block(speaker, text string) {
	first, next := fmt.Sprintf("%12s │ ", speaker), "             │ "
	if width := output.Width(c.out); width > 0 && width < narrow {
		first, next = speaker+"\n  │ ", "  │ "
	}
	c.paragraph(first, next, strings.TrimRight(text, "\n"))
}

func roleName(role worldv1.Role) string {
	if role == worldv1.Role_ROLE_USER {
		return "user"
	}
	return "agent"
}

func counterpart(role worldv1.Role) worldv1.Role {
	if role == worldv1.Role_ROLE_USER {
		return worldv1.Role_ROLE_AGENT
	}
	return worldv1.Role_ROLE_USER
}
