module github.com/toolsandbox/toolsandbox/services/toolhost

go 1.26.0

require (
	github.com/toolsandbox/toolsandbox/internal v0.0.0
	github.com/toolsandbox/toolsandbox/proto v0.0.0
)

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/nyaruka/phonenumbers v1.8.1 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/toolsandbox/toolsandbox/internal => ../../internal
	github.com/toolsandbox/toolsandbox/proto => ../../proto
)
