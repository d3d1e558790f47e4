package toolserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Target is where a tool server is: an address, or a command that starts it.
type Target struct {
	// Address is grpc://host:port or grpcs://host:port of a server of toolsandbox.tools.v1, or the
	// http:// or https:// address of an MCP server. Empty with a command.
	Address string
	// Command starts an MCP server that speaks over its standard input and output.
	Command []string
	// Dir is where the command runs; empty is the directory of this process.
	Dir string
	// Environment names the variables of this process that the command gets beside inherited ones.
	Environment []string
}

// serverName is what the name of a server must look like; it is also the module of its tools.
var serverName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`)

// variableName is what the name of an environment variable must look like.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// stdio begins the text of a command: stdio:command, or stdio+NAME,NAME:command with environment
// variables.
const stdio = "stdio"

// schemes are those of addresses.
func schemes() []string { return []string{"grpc", "grpcs", "http", "https"} }

// ParseTarget reads an address, or stdio: with a command: words between spaces, or a list in JSON.
func ParseTarget(text string) (Target, error) {
	if head, command, ok := strings.Cut(text, ":"); ok && strings.HasPrefix(head, stdio) {
		var environment []string
		if names, some := strings.CutPrefix(head, stdio+"+"); some {
			environment = strings.Split(names, ",")
		} else if head != stdio {
			return Target{}, errTarget
		}
		words := strings.Fields(command)
		if strings.HasPrefix(strings.TrimSpace(command), "[") {
			if err := json.Unmarshal([]byte(command), &words); err != nil {
				return Target{}, fmt.Errorf("command is no list of texts in JSON: %w", err)
			}
		}
		target := Target{Command: words, Environment: environment}
		return target, target.Check()
	}
	target := Target{Address: text}
	return target, target.Check()
}

// errTarget says what a target is.
var errTarget = errors.New("expected grpc://host:port, grpcs://host:port, http://host:port/path, https://host/path, stdio:command or stdio+VARIABLE,VARIABLE:command")

// Check says what is wrong with a target.
func (t Target) Check() error {
	if t.Address == "" {
		if len(t.Command) == 0 || t.Command[0] == "" {
			return errors.New("neither an address nor a command")
		}
		for _, name := range t.Environment {
			if !variableName.MatchString(name) {
				return fmt.Errorf("%.60q is no name of an environment variable", name)
			}
		}
		return nil
	}
	parsed, err := url.Parse(t.Address)
	if err != nil || !slices.Contains(schemes(), parsed.Scheme) || parsed.Host == "" {
		return errTarget
	}
	if t.overGRPC() {
		if _, _, err := net.SplitHostPort(parsed.Host); err != nil || strings.Trim(parsed.Path, "/") != "" {
			return errors.New("expected grpc://host:port without a path")
		}
	}
	return nil
}

// overGRPC says whether the server speaks toolsandbox.tools.v1.
func (t Target) overGRPC() bool { return strings.HasPrefix(t.Address, "grpc") }

// CheckEnvironment says which variables that the command gets are missing in this process.
func (t Target) CheckEnvironment() error {
	_, _, err := t.environment()
	return err
}

// String names the target in errors. It leaves out what may be secret: user, query and arguments.
func (t Target) String() string {
	if t.Address == "" {
		return "program " + t.Command[0]
	}
	parsed, err := url.Parse(t.Address)
	if err != nil {
		return "its address"
	}
	return parsed.Scheme + "://" + parsed.Host + parsed.Path
}

// text is what ParseTarget reads, but for the directory.
func (t Target) text() string {
	if t.Address != "" {
		return t.Address
	}
	head := stdio
	if len(t.Environment) > 0 {
		head += "+" + strings.Join(t.Environment, ",")
	}
	return head + ":" + string(encode(t.Command))
}

// Targets holds the servers that a tool host reaches, by name. It is a flag.
type Targets map[string]Target

// Set implements pflag.Value: NAME=target, or several that are parted by semicolons.
func (t *Targets) Set(text string) error {
	for part := range strings.SplitSeq(text, ";") {
		name, at, ok := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); !ok || !serverName.MatchString(name) {
			return fmt.Errorf("%q, expected NAME=address or NAME=stdio:command with a name of lower-case letters, digits and underscores", part)
		}
		target, err := ParseTarget(strings.TrimSpace(at))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if *t == nil {
			*t = make(Targets)
		}
		(*t)[name] = target
	}
	return nil
}

// Type implements pflag.Value.
func (t *Targets) Type() string { return "NAME=address" }

// String implements pflag.Value.
func (t *Targets) String() string { return t.list(Target.text) }

// Recorded is String for records of runs: it leaves out what may be secret.
func (t *Targets) Recorded() string { return t.list(Target.String) }

func (t *Targets) list(text func(Target) string) string {
	var parts []string
	for name, target := range *t {
		parts = append(parts, name+"="+text(target))
	}
	slices.Sort(parts)
	return strings.Join(parts, ";")
}
