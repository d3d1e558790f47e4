module github.com/toolsandbox/toolsandbox/scenarios

go 1.26
