package play

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// remoteFlags returns the flags without effect with --remote, and where to set each instead.
func remoteFlags() map[string]string {
	const (
		gateway  = "give it to toolsandbox serve agentgw there"
		toolHost = "give it to toolsandbox serve toolhost there"
		services = "give it to each toolsandbox serve there"
	)
	return map[string]string{
		"agent-ca": gateway, "attach-cert": gateway, "attach-client-ca": gateway, "attach-key": gateway, "attach-listen": gateway, "agentgw-breaker-failures": gateway,
		"agentgw-limit": gateway, "agentgw-limit-queue": gateway, "agentgw-max-pause": gateway, "agentgw-max-wait": gateway,
		"agentgw-price-file": gateway, "agentgw-template-dir": gateway,
		"toolhost-service-timeout": toolHost, "toolhost-service-url": toolHost, "toolhost-tool-server-timeout": toolHost,
		"orchestrator-respond-timeout": "give it to toolsandbox serve orchestrator there",
		"data-dir":                     "give --toolhost-dir to toolsandbox serve toolhost there",
		"sync":                         "give it to toolsandbox serve nats there",
		"trace-content":                services, "trace-ratio": services,
	}
}

// rejectUnused rejects flags without effect with --remote, from any source.
func (o *Options) rejectUnused() error {
	if !o.installation.Network.Remote {
		return nil
	}
	elsewhere := remoteFlags()
	var errs []error
	o.flags.VisitAll(func(flag *pflag.Flag) {
		instead, unused := elsewhere[flag.Name]
		if !unused || !process.IsSet(flag) {
			return
		}
		name := "--" + flag.Name
		if !flag.Changed {
			name = fmt.Sprintf("%s: %s", process.FlagSource(flag), name)
		}
		errs = append(errs, process.UsageErrorf("%s: given, but --remote ignores it here: %s", name, instead))
	})
	return errors.Join(errs...)
}
