module github.com/toolsandbox/toolsandbox

go 1.26.0

require (
	// The Go code of the options that protovalidate reads; it must be this one, since two copies of
	// one proto cannot be registered in a program.
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.2
	// Requests are checked by the rules beside their fields, the same in every language; its
	// predecessor protoc-gen-validate generates code for each language and is frozen.
	buf.build/go/protovalidate v1.4.0
	// Finds the memory limit of the cgroup, of both versions and through all its parents, or the
	// machine's memory, and makes it the collector's soft limit; the runtime knows neither, and the
	// files to read differ between systems.
	github.com/KimMachineGun/automemlimit v1.0.1
	// Jittered retries of one call within a context, a deadline and a number of tries, without
	// dependencies, and in the build anyway through the OTLP exporters; go-retryablehttp wraps the
	// whole HTTP client, logs requests by itself and knows no bound over all tries.
	github.com/cenkalti/backoff/v5 v5.0.3
	// The events and commands of the browser's protocol that chromedp speaks, a module of its own.
	github.com/chromedp/cdproto v0.159.0
	// Drives Debian's Chromium in the tests of pages, without a program between; rod and playwright-go
	// download a browser or a driver of their own.
	github.com/chromedp/chromedp v0.23.0
	// Verifies tokens of OpenID Connect: issuer, audience, times, algorithms and signature, as
	// Kubernetes does; golang-jwt leaves issuer, keys and their algorithms to its caller.
	github.com/coreos/go-oidc/v3 v3.21.0
	// Reads the keys of an issuer of tokens as go-oidc verifies them; the standard library has no JSON
	// Web Key Sets.
	github.com/go-jose/go-jose/v4 v4.1.9
	// Keeps the position of every node, so a mistake in a scenario is reported with line and
	// column, and refuses unknown and repeated keys; gopkg.in/yaml.v3 is no longer maintained.
	github.com/goccy/go-yaml v1.19.2
	// A file lock that all systems have and that ends with the process; the directory of an
	// installation has one.
	github.com/gofrs/flock v0.13.2
	// Prints the difference of two values and compares protos by meaning (protocmp);
	// reflect.DeepEqual does neither, testify adds a second language of assertions.
	github.com/google/go-cmp v0.7.0
	// Reads the profile that `bench` takes of itself, to say which layer the time went to; the
	// runtime writes profiles and cannot read them.
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe
	// Version 5 identifiers, checked parsing, no dependencies of its own; satori/uuid and its fork
	// had faulty releases.
	github.com/google/uuid v1.6.0
	// A typed, bounded cache in a few hundred lines without goroutines; ristretto may refuse or
	// delay an entry, which makes behaviour depend on timing.
	github.com/hashicorp/golang-lru/v2 v2.0.7
	// Tables that measure wide characters and colours rightly; text/tabwriter counts bytes or
	// runes, tablewriter has just replaced its whole interface.
	github.com/jedib0t/go-pretty/v6 v6.8.3
	// A server of S3 in the process of a test, with conditional writes; MinIO's and SeaweedFS are many
	// times their own size to build, and versitygw needs a file system with attributes.
	github.com/johannesboyne/gofakes3 v1.2.0
	// S2 for long messages of the bus, in the build anyway through NATS, which uses it for its own
	// files; gzip and zstd make messages shorter and take longer.
	github.com/klauspost/compress v1.20.3
	// Reads and writes buckets of any service that speaks S3, with conditional writes and the usual
	// chain of credentials; Amazon's SDK is larger and sends what other services do not know.
	github.com/minio/minio-go/v7 v7.4.1
	// The protocol's own SDK: stdio, streamable HTTP and all versions of the handshake, with bounds on
	// messages; mark3labs/mcp-go came before it and follows it, the protocol by hand would be a
	// thousand lines to keep right.
	github.com/modelcontextprotocol/go-sdk v1.8.0
	// The server of the bus as a library, so a run on a laptop and every test use the real one with
	// nothing to install.
	github.com/nats-io/nats-server/v2 v2.15.2
	// The client of the bus. One system is work queue, sharded log, document store and
	// create-if-absent register; Kafka has no fence on a single subject and no small server, Redis
	// Streams none and weaker durability.
	github.com/nats-io/nats.go v1.55.0
	// The maintained Go port of libphonenumber with its metadata; nothing smaller knows the
	// numbering plans of all countries.
	github.com/nyaruka/phonenumbers v1.8.1
	// Reads and writes Parquet by the tags of structs, in pure Go; Arrow's module is many times its
	// size, and xitongsys/parquet-go is no longer maintained.
	github.com/parquet-go/parquet-go v0.32.0
	// Answers scrapes of Prometheus, and adds the metrics of Go's runtime and of the process; it is what
	// OpenTelemetry's exporter registers with.
	github.com/prometheus/client_golang v1.24.1
	// Names of metrics in Prometheus, by the rules of its own OTLP receiver; the exporter below uses it.
	github.com/prometheus/otlptranslator v1.0.0
	// Testscript runs the real program from scripts that read like a terminal session; the go
	// command tests itself with the same engine, and shell scripts would need a shell and have no
	// golden update.
	github.com/rogpeppe/go-internal v1.16.0
	// A complete validator of draft 2020-12, to check the schema that editors get against the
	// catalogue; xeipuu/gojsonschema ends at draft 7.
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	// A circuit breaker that counts what runs and leaves out what says nothing, small and without
	// dependencies; failsafe-go brings retries, hedging and bulkheads along that are not wanted.
	github.com/sony/gobreaker/v2 v2.4.0
	// Subcommands, help and completion that users know from kubectl and gh; urfave/cli has its own
	// flag type and so would part the services' flags from the program's.
	github.com/spf13/cobra v1.10.2
	// GNU flags in the services' configuration without the commands of cobra, which uses it too;
	// the standard flag package has no lists and no short forms.
	github.com/spf13/pflag v1.0.10
	// Transactions that survive a kill, one file, pure Go, readers that do not wait for writers;
	// Badger and Pebble are built for write loads that a session does not have and need tuning and
	// compaction, SQLite needs cgo or a port of it.
	go.etcd.io/bbolt v1.5.0
	// One stats handler measures every call and forwards its trace; interceptors of our own would miss retries and sizes.
	go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc v0.72.0
	// The interface for traces and metrics that every collector takes; Prometheus' client has no
	// traces, a vendor's library ties operators to it.
	go.opentelemetry.io/otel v1.47.0
	// Sends metrics by OTLP over the gRPC that we have already.
	go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc v1.47.0
	// The exporter of spans itself, which has to be stopped by name if a shutdown runs out of time.
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.47.0
	// Sends spans by OTLP over the gRPC that we have already, instead of a protocol of one vendor.
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.47.0
	// Offers the metrics to scrapes of Prometheus; a second set of metrics by its client would have to
	// be kept equal.
	go.opentelemetry.io/otel/exporters/prometheus v0.69.0
	// OpenTelemetry's part for metrics, a module of its own.
	go.opentelemetry.io/otel/metric v1.47.0
	// What records spans behind OpenTelemetry's interface, and the recorder that tests read.
	go.opentelemetry.io/otel/sdk v1.47.0
	// What records metrics, a module of its own.
	go.opentelemetry.io/otel/sdk/metric v1.47.0
	// OpenTelemetry's part for spans, a module of its own.
	go.opentelemetry.io/otel/trace v1.47.0
	// End-to-end tests receive what the exporters send with the protocol's own messages; a fake
	// exporter would not test the export.
	go.opentelemetry.io/proto/otlp v1.11.1
	// Fails a package that leaves goroutines behind, with their stacks; comparing
	// runtime.NumGoroutine tells neither which nor why.
	go.uber.org/goleak v1.3.0
	// Writes a document with its comments in one indentation, for `scenario fmt`; goccy/go-yaml
	// prints nodes in the columns where they were read.
	go.yaml.in/yaml/v3 v3.0.5
	// Its dnsmessage reads and writes messages of DNS, for the names of a test's replicas, from the Go
	// team; miekg/dns is a server and a client of everything in DNS.
	golang.org/x/net v0.60.0
	// Finds and refreshes Google's application default credentials, in all their forms, for Vertex
	// AI; Google's newer cloud.google.com/go/auth does the same and brings more modules.
	golang.org/x/oauth2 v0.37.0
	// Its singleflight lets rollouts that start together share one read of the bus, its semaphore
	// lets those that wait on in their order, and its errgroup bounds tasks and stops them at the
	// first error, from the Go team; a cache would have to know when it is out of date, and a channel
	// promises no order.
	golang.org/x/sync v0.24.0
	// Tells Linux to put a whole run on disk at once, from the Go team; `syscall` is frozen and
	// lacks the call.
	golang.org/x/sys v0.49.0
	// Says whether the output is a terminal and how wide, from the Go team; mattn/go-isatty answers
	// half of that.
	golang.org/x/term v0.47.0
	// A token bucket for requests and tokens per minute whose size and rate change while it is in
	// use, from the Go team; uber-go/ratelimit spaces requests evenly and knows no tokens.
	golang.org/x/time v0.16.0
	// Its Mersenne Twister takes the keys that Python seeds it with, so that a data set splits as
	// EuroEval splits it; the standard library has none, and other packages seed with one number
	// only. Its incomplete beta function bounds the change between two runs.
	gonum.org/v1/gonum v0.17.0
	// Figures as SVG and PNG, in pure Go with its own fonts; go-echarts and others make pages that
	// need a browser.
	gonum.org/v1/plot v0.17.0
	// One stack gives streaming, deadlines that travel, client-side balancing and health checks;
	// connect-go needs other parts for balancing.
	google.golang.org/grpc v1.85.0
	// The reference implementation, which grpc uses anyway; gogo/protobuf is no longer maintained,
	// and faster ones generate code that reflection and protovalidate do not read.
	google.golang.org/protobuf v1.36.12
)

require (
	cel.dev/cel-go v0.32.0 // indirect
	cel.dev/expr v0.25.3 // indirect
	cloud.google.com/go/compute/metadata v0.9.0 // indirect
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/andybalholm/brotli v1.1.1 // indirect
	github.com/antithesishq/antithesis-sdk-go v0.8.0-default-no-op // indirect
	github.com/antlr4-go/antlr/v4 v4.13.1 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.31.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/klauspost/cpuid/v2 v2.4.0 // indirect
	github.com/klauspost/crc32 v1.3.0 // indirect
	github.com/mattn/go-runewidth v0.0.24 // indirect
	github.com/minio/crc64nvme v1.1.1 // indirect
	github.com/minio/highwayhash v1.0.4 // indirect
	github.com/minio/md5-simd v1.1.2 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/nats-io/jwt/v2 v2.8.2 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/parquet-go/bitpack v1.0.0 // indirect
	github.com/parquet-go/jsonlite v1.0.0 // indirect
	github.com/pbnjay/memory v0.0.0-20210728143218-7b4eea64cf58 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/pierrec/lz4/v4 v4.1.21 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/ryszard/goskiplist v0.0.0-20150312221310-2dfbae5fcf46 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/twpayne/go-geom v1.6.1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.shabbyrobe.org/gocovmerge v0.0.0-20230507111327-fa4f82cfbf4d // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/exp v0.0.0-20260908205506-85c1c2202aba // indirect
	golang.org/x/image v0.30.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
	gopkg.in/ini.v1 v1.67.3 // indirect
)
