package pack

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// Server is a tool server of a pack, as pack.yaml describes it.
type Server struct {
	// Name is the name of the server in the tool host's configuration and in recordings.
	Name string
	// Address is grpc://host:port or the URL of an MCP server, empty with a command.
	Address string
	// Command starts an MCP server in the pack's directory.
	Command []string
	// Stateful reports that the server keeps state for each session.
	Stateful bool
	// Environment lists the environment variables that the command gets.
	Environment []Need
	// Frozen reports that the pack contains the list of the server's tools.
	Frozen bool
	// Position is its position in pack.yaml.
	document.Position
}

// readServers reads the tool servers of a pack that has needs.
func readServers(r *document.Reader, v *document.Value, needs []Need) []Server {
	variables := slices.DeleteFunc(slices.Clone(needs), func(n Need) bool { return n.Variable == "" })
	var servers []Server
	for _, item := range r.Items(v) {
		before := len(r.Errors)
		server := readServer(r, item)
		if len(r.Errors) > before {
			continue
		}
		if at := slices.IndexFunc(servers, func(s Server) bool { return s.Name == server.Name }); at >= 0 {
			r.Fail(item, "another server is called %s, in line %d; rename one of them", server.Name, servers[at].Line)
			continue
		}
		server.Environment = variables
		servers = append(servers, server)
	}
	return servers
}

// readServer reads one tool server.
func readServer(r *document.Reader, v *document.Value) Server {
	if v = form.ToolServer().Read(r, v); v == nil {
		return Server{}
	}
	out := Server{Position: r.At(v)}
	overGRPC, overMCP := v.Get("server"), v.Get("mcp")
	address, url, command := r.Text(v.Get("address")), r.Text(v.Get("url")), r.Texts(v.Get("command"))
	switch {
	case overGRPC != nil && overMCP == nil && address != "" && url == "" && len(command) == 0:
		out.Name, out.Address = r.Text(overGRPC), address
		if !strings.Contains(address, "://") {
			out.Address = "grpc://" + address
		}
	case overMCP != nil && overGRPC == nil && address == "" && (url == "") != (len(command) == 0):
		out.Name, out.Address, out.Command = r.Text(overMCP), url, command
	default:
		r.Fail(v, "expected {server: NAME, address: host:port}, {mcp: NAME, command: [program, …]} or {mcp: NAME, url: http://…}")
	}
	if !form.DeclaredExpression.MatchString(out.Name) {
		r.Fail(v, "the name is %q, expected up to 60 lower-case letters, digits and underscores that start with a letter", spelling.Truncate(out.Name))
	}
	if state := v.Get("state"); r.CheckShape(state, document.ShapeText) {
		if out.Stateful = state.Text == form.StateSession; !out.Stateful {
			r.Fail(state, "is %q, expected session", spelling.Truncate(state.Text))
		} else if overMCP == nil {
			r.Fail(state, "a server over gRPC keeps nothing between calls: it gets the rows that its tools declare; leave it out")
		}
	}
	return out
}

// loadServers gets the tools of the pack's servers from files in tools/, otherwise from the
// servers.
func (l *loader) loadServers(servers []Server) {
	for i := range servers {
		server := &servers[i]
		out := &setupv1.ToolServer{Name: server.Name, SessionState: server.Stateful}
		name := path.Join(form.ToolFolder, server.Name+".json")
		_, err := fs.Stat(l.fsys, name)
		if server.Frozen = !l.opts.RefreshTools && !errors.Is(err, fs.ErrNotExist); server.Frozen {
			l.file(name, func(r *document.Reader, data []byte) {
				list := &toolsv1.ListToolsResponse{}
				if err := protojson.Unmarshal(data, list); err != nil || len(list.GetTools()) == 0 {
					r.Fail(document.Top(), "is no list of the tools of %s; write it anew with toolsandbox pack freeze", server.Name)
				}
				out.Tools = list.GetTools()
			})
		} else if out.Tools, err = l.opts.listTools(*server); err != nil {
			mistake, placed := errors.AsType[*document.Error](err)
			if !placed {
				mistake = &document.Error{
					File: server.File, Line: server.Line, Column: server.Column, Field: "tools",
					Reason: err.Error(),
				}
			}
			l.mistakes = append(l.mistakes, mistake)
		}
		if len(out.GetTools()) > 0 {
			l.servers = append(l.servers, out)
		}
	}
}

// serverScheme is the scheme of the URLs of recorded answers of tool servers.
const serverScheme = "tools://"

// rejectRecordings reports recorded answers of a server with state: equal requests can have
// different answers.
func (l *loader) rejectRecordings(scenarios []Loaded) {
	for _, loaded := range scenarios {
		setup := loaded.Scenario.GetSetup()
		for _, answer := range setup.GetRecordings() {
			of, isServer := strings.CutPrefix(answer.GetUrl(), serverScheme)
			of, _, _ = strings.Cut(of, "/")
			if isServer && slices.ContainsFunc(l.servers, func(s *setupv1.ToolServer) bool { return s.GetName() == of && s.GetSessionState() }) {
				l.mistakes = append(l.mistakes, &document.Error{
					File: loaded.Position.File, Line: loaded.Position.Line, Column: loaded.Position.Column, Field: setup.GetName() + ".recordings",
					Reason: of + " keeps a state, so that its answers depend on earlier calls; leave out the answer of " + answer.GetUrl(),
				})
			}
		}
	}
}

// listTools requests the tools of a server.
func (o Options) listTools(server Server) ([]*toolsv1.Tool, error) {
	if o.ListTools == nil {
		return nil, errors.New("the tools of " + server.Name + " are unknown, and this command does not ask the server; store their list in the pack with toolsandbox pack freeze")
	}
	return o.ListTools(server)
}

// setPositions sets the positions of mistakes in tools of servers.
func setPositions(mistakes document.Errors, servers []Server) document.Errors {
	for _, mistake := range mistakes {
		of, _, _ := strings.Cut(mistake.Field, ".")
		at := slices.IndexFunc(servers, func(s Server) bool { return s.Name == of })
		if mistake.File == ManifestFile && mistake.Line == 0 && at >= 0 {
			mistake.Line, mistake.Column = servers[at].Line, servers[at].Column
		}
	}
	return mistakes
}
