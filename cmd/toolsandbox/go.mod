module github.com/toolsandbox/toolsandbox/cmd/toolsandbox

go 1.26.0

require (
	github.com/toolsandbox/toolsandbox/internal v0.0.0
	github.com/toolsandbox/toolsandbox/proto v0.0.0
	github.com/toolsandbox/toolsandbox/scenarios v0.0.0
	github.com/toolsandbox/toolsandbox/services/agentgw v0.0.0
	github.com/toolsandbox/toolsandbox/services/evaluator v0.0.0
	github.com/toolsandbox/toolsandbox/services/orchestrator v0.0.0
	github.com/toolsandbox/toolsandbox/services/toolhost v0.0.0
)

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jedib0t/go-pretty/v6 v6.8.3 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/toolsandbox/toolsandbox/internal => ../../internal
	github.com/toolsandbox/toolsandbox/proto => ../../proto
	github.com/toolsandbox/toolsandbox/scenarios => ../../scenarios
	github.com/toolsandbox/toolsandbox/services/agentgw => ../../services/agentgw
	github.com/toolsandbox/toolsandbox/services/evaluator => ../../services/evaluator
	github.com/toolsandbox/toolsandbox/services/orchestrator => ../../services/orchestrator
	github.com/toolsandbox/toolsandbox/services/toolhost => ../../services/toolhost
)
