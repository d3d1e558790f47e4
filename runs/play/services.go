package play

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/process"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// servicesOf parses --services; empty leaves the choice to the scenario.
func servicesOf(text string) (toolhostv1.HostedServices, error) {
	if text == "" {
		return toolhostv1.HostedServices_HOSTED_SERVICES_UNSPECIFIED, nil
	}
	for number := range toolhostv1.HostedServices_name {
		if services := toolhostv1.HostedServices(number); number > 0 && servicesText(services) == text {
			return services, nil
		}
	}
	return 0, process.UsageErrorf("--services: %q given, expected recorded, offline, live or record", text)
}

// servicesText is the inverse of servicesOf.
func servicesText(services toolhostv1.HostedServices) string {
	if services == toolhostv1.HostedServices_HOSTED_SERVICES_UNSPECIFIED {
		return "the default"
	}
	return strings.ToLower(strings.TrimPrefix(services.String(), "HOSTED_SERVICES_"))
}
