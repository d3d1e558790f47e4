package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
)

func newNATS() *cobra.Command {
	cfg := natsserver.Config{Dir: "data/nats", Listen: "127.0.0.1:4222"}
	cmd := &cobra.Command{
		Use:   "nats",
		Short: "Run a NATS JetStream server for services that run apart",
		Long: `nats runs the NATS JetStream server that is built into this program. It is meant for one machine; a cluster runs
NATS as described in deploy/k8s.`,
		Example: `  toolsandbox nats --listen 127.0.0.1:4222 --dir data/nats`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := natsserver.Start(cfg)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "NATS is ready on %s, streams in %s\n", cfg.Listen, cfg.Dir); err != nil {
				return err
			}
			<-cmd.Context().Done()
			return server.Close()
		},
	}
	cmd.Flags().StringVar(&cfg.Listen, "listen", cfg.Listen, "host:port for clients")
	cfg.Sync.RegisterFlag(cmd.Flags())
	cmd.Flags().StringVar(&cfg.Dir, "dir", cfg.Dir, "directory for the streams")
	return cmd
}
