package bus

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// answerTime is how long a role may answer a request. A forwarded turn may take as long as its
// model.
const answerTime = 24 * time.Hour

// Permissions are what NATS lets the user of a role do. It denies everything else.
type Permissions struct {
	// Publish and Subscribe are subjects, sorted.
	Publish, Subscribe []string
	// AnswerTime is how long the role may answer a message with one message, 0 if not at all.
	AnswerTime time.Duration
}

// PermissionsOf returns the permissions of a role in an installation with a number of shards, from
// the table of subjects.
func PermissionsOf(role Role, shards int) Permissions {
	p := Permissions{Subscribe: []string{InboxPrefix(role) + ".>"}}
	for _, row := range Subjects() {
		for _, row := range row.onShards(shards) {
			p.add(role, row)
		}
	}
	for _, list := range []*[]string{&p.Publish, &p.Subscribe} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return p
}

// add adds what a role may do with the subjects of a row.
func (p *Permissions) add(role Role, row Subject) {
	publishes, reads := slices.Contains(row.Publish, role), slices.Contains(row.Read, role)
	if publishes {
		p.Publish = append(p.Publish, row.Name)
	}
	if row.Stream == "" {
		if reads {
			p.Subscribe = append(p.Subscribe, row.Name)
		}
		if reads && row.Answered {
			p.AnswerTime = answerTime
		}
		return
	}
	api := func(forms ...string) {
		for _, form := range forms {
			p.Publish = append(p.Publish, fmt.Sprintf(form, row.Stream))
		}
	}
	if role == RoleOperator {
		api("$JS.API.STREAM.INFO.%s", "$JS.API.STREAM.CREATE.%s", "$JS.API.STREAM.UPDATE.%s")
	}
	if row.uses(role) {
		api("$JS.API.STREAM.INFO.%s")
	}
	if publishes && !row.Grows {
		api("$JS.API.STREAM.PURGE.%s", "$JS.API.STREAM.MSG.DELETE.%s")
	}
	if slices.Contains(row.Remove, role) {
		api("$JS.API.STREAM.PURGE.%s")
	}
	if slices.Contains(row.Get, role) || publishes && !row.Grows {
		api("$JS.API.DIRECT.GET.%s." + row.Name)
	}
	if reads {
		// The last one is the reply subject of each delivered message. The server would remember each
		// that it does not find here as one to be answered.
		api("$JS.API.DIRECT.GET.%s", "$JS.API.DIRECT.GET.%s.>", "$JS.API.CONSUMER.CREATE.%s.>", "$JS.API.CONSUMER.INFO.%s.*",
			"$JS.API.CONSUMER.DELETE.%s.*", "$JS.API.CONSUMER.MSG.NEXT.%s.*", "$JS.ACK.%s.>")
	}
	if reads && row.Stream == jobStream {
		api("$JS.API.CONSUMER.LIST.%s")
	}
}

// WritePermissions writes the users of all roles as configuration of a NATS server. Each user is
// found by the DNS name of a client certificate that is the role (verify_and_map). With passwords,
// each has one, in the variable of the server's environment that PasswordVariable names.
func WritePermissions(w io.Writer, shards int, passwords bool) error {
	var out strings.Builder
	fmt.Fprintf(&out, "# Made by toolsandbox bus permissions, for %d shards.\nauthorization {\n  users: [\n", shards)
	for _, role := range Roles() {
		p := PermissionsOf(role, shards)
		fmt.Fprintf(&out, "    {\n      user: %s\n", role)
		if passwords {
			fmt.Fprintf(&out, "      password: $%s\n", PasswordVariable(role))
		}
		out.WriteString("      permissions: {\n")
		writeSubjects(&out, "publish", p.Publish)
		writeSubjects(&out, "subscribe", p.Subscribe)
		if p.AnswerTime > 0 {
			fmt.Fprintf(&out, "        allow_responses: {max: 1, expires: %q}\n", p.AnswerTime)
		}
		out.WriteString("      }\n    }\n")
	}
	out.WriteString("  ]\n}\n")
	_, err := io.WriteString(w, out.String())
	return err
}

func writeSubjects(out *strings.Builder, what string, subjects []string) {
	fmt.Fprintf(out, "        %s: {allow: [\n", what)
	for _, subject := range subjects {
		fmt.Fprintf(out, "          %q\n", subject)
	}
	out.WriteString("        ]}\n")
}

// PasswordVariable returns the variable of a NATS server's environment with a role's password.
func PasswordVariable(role Role) string { return strings.ToUpper(string(role)) + "_PASSWORD" }
