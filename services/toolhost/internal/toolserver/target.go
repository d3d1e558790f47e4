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

// Target is the location of a tool server: an address or a command.
type Target struct {
	// Address is grpc://host:port or grpcs://host:port of a toolsandbox.tools.v1 server, or the
	// http:// or https:// URL of an MCP server. It is empty for a command.
	Address string
	// Command starts an MCP server on standard input and output.
	Command []string
	// Dir is the command's working directory. Empty means that of this process.
	Dir string
	// Environment names the variables that the command gets in addition to inherited ones.
	Environment []string
}

// serverName matches server names, which are also the modules of their tools.
var serverName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`)

// variableName matches names of environment variables.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// stdio is the prefix of commands: stdio:command, or stdio+NAME,NAME:command with variables.
const stdio = "stdio"

// schemes are the URL schemes of addresses.
func schemes() []string { return []string{"grpc", "grpcs", "http", "https"} }

// ParseTarget parses an address, or stdio: and a command. The command is words separated by spaces,
// or a JSON list.
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

// errTarget states the syntax of a target.
var errTarget = errors.New("expected grpc://host:port, grpcs://host:port, http://host:port/path, https://host/path, stdio:command or stdio+VARIABLE,VARIABLE:command")

// Check validates the target.
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
	if t.isGRPC() {
		if _, _, err := net.SplitHostPort(parsed.Host); err != nil || strings.Trim(parsed.Path, "/") != "" {
			return errors.New("expected grpc://host:port without a path")
		}
	}
	return nil
}

// isGRPC reports whether the server speaks toolsandbox.tools.v1.
func (t Target) isGRPC() bool { return strings.HasPrefix(t.Address, "grpc") }

// CheckEnvironment returns an error if a variable of Environment is missing in this process.
func (t Target) CheckEnvironment() error {
	_, _, err := t.environment()
	return err
}

// String returns the target for errors. It omits possible secrets: user, query and arguments.
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

// format is the inverse of ParseTarget. It omits the directory.
func (t Target) format() string {
	if t.Address != "" {
		return t.Address
	}
	head := stdio
	if len(t.Environment) > 0 {
		head += "+" + strings.Join(t.Environment, ",")
	}
	return head + ":" + string(encode(t.Command))
}

// Targets are the targets of tool servers by name. It is a pflag.Value.
type Targets map[string]Target

// Set implements pflag.Value. It parses NAME=target, or several separated by semicolons.
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
func (t *Targets) String() string { return t.format(Target.format) }

// Redacted is String without possible secrets, for records of runs.
func (t *Targets) Redacted() string { return t.format(Target.String) }

func (t *Targets) format(text func(Target) string) string {
	var parts []string
	for name, target := range *t {
		parts = append(parts, name+"="+text(target))
	}
	slices.Sort(parts)
	return strings.Join(parts, ";")
}
