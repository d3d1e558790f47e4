package runner

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/process"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// servicesOf parses --services; empty leaves the choice to the scenario.
func servicesOf(text string) (toolhostv1.HostedServices, error) {
	switch text {
	case "":
		return toolhostv1.HostedServices_HOSTED_SERVICES_UNSPECIFIED, nil
	case "recorded":
		return toolhostv1.HostedServices_HOSTED_SERVICES_RECORDED, nil
	case "offline":
		return toolhostv1.HostedServices_HOSTED_SERVICES_OFFLINE, nil
	case "live":
		return toolhostv1.HostedServices_HOSTED_SERVICES_LIVE, nil
	case "record":
		return toolhostv1.HostedServices_HOSTED_SERVICES_RECORD, nil
	default:
		return 0, process.Usage("--services: %q given, expected recorded, offline, live or record", text)
	}
}

// servicesText is the inverse of servicesOf.
func servicesText(services toolhostv1.HostedServices) string {
	if services == toolhostv1.HostedServices_HOSTED_SERVICES_UNSPECIFIED {
		return "the default"
	}
	return strings.ToLower(strings.TrimPrefix(services.String(), "HOSTED_SERVICES_"))
}
