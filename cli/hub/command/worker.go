package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/worker"
	"github.com/fettle-dev/fettle/cli/internal/keychain"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/providers"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

func (h *hub) workerCommand() *cobra.Command {
	var g program.Flags
	o := worker.Options{Global: &g}
	var dir, as string
	cmd := &cobra.Command{
		Use:   "worker --workspace DIR",
		Short: "Run the jobs of a workspace",
		Long: `Runs the jobs of a workspace, one after another, as recorded sessions of its directory.
Settings, policy and hooks are those of fettle in that directory. A second worker of the
same workspace waits until the first one ends. Ctrl-C queues the running job again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return fmt.Errorf("a worker requires --workspace DIR")
			}
			path, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				return fmt.Errorf("the workspace %s is not a directory", path)
			}
			g.Cwd = path
			if err := g.Check(cmd.Flags()); err != nil {
				return err
			}
			o.Workspace = as
			if o.Workspace == "" {
				o.Workspace = nameOf(path)
			}
			ctx, refused := context.WithCancelCause(cmd.Context())
			defer refused(nil)
			nc, name, err := h.await(ctx, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
				if errors.Is(err, nats.ErrPermissionViolation) { // requests would only time out
					refused(fmt.Errorf("the hub does not allow this user to work for the workspace %s: fettle-hub keys add NAME --role worker --workspace %s creates one: %w", o.Workspace, o.Workspace, err))
				}
			}))
			if err != nil {
				return err
			}
			defer nc.Close()
			seed := h.key
			if seed == "" {
				seed = h.keys().Seed(admin)
			}
			if o.Pair, err = keys.Load(seed); err != nil {
				return err
			}
			secret, err := o.Pair.Seed()
			if err != nil {
				return err
			}
			o.NC, o.Name, o.Secrets, o.Report = nc, name, []string{string(secret)}, h.print
			o.Program = &program.Program{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Open: program.Open}
			o.Program.Providers = providers.All{Keys: func() *credentials.Store { return o.Program.Keys }}
			o.Program.Keys = credentials.Open(program.KeysFile(&g), keychain.System())
			err = worker.Run(ctx, o)
			if cause := context.Cause(ctx); err == nil && cmd.Context().Err() == nil && cause != nil {
				return cause
			}
			return err
		},
	}
	g.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&dir, "workspace", "", "`directory` of the workspace")
	f.StringVar(&as, "as", "", "`name` of the workspace at the hub (default: the name of its directory)")
	f.DurationVar(&o.LeaseFor, "lease", 15*time.Second, "`time` after which another worker takes over from a silent one")
	f.DurationVar(&o.Within, "answer-within", 10*time.Minute, "`time` for an answer to a question; afterwards the answer is no")
	_ = cmd.PersistentFlags().MarkHidden("cwd") // the flag exists
	return cmd
}

// await connects like connect, and waits for a hub that does not answer yet: workers and hubs start
// in any order. It does not wait for a host that does not exist.
func (h *hub) await(ctx context.Context, more ...nats.Option) (*nats.Conn, string, error) {
	for waiting := false; ; waiting = true {
		nc, name, err := h.connect(more...)
		unknown := new(net.DNSError)
		if !errors.Is(err, errNoHub) || errors.As(err, &unknown) && unknown.IsNotFound {
			return nc, name, err
		}
		if !waiting {
			h.print(err.Error() + ". The worker waits for it.")
		}
		select {
		case <-ctx.Done():
			return nil, "", err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// nameOf returns the name of a directory as a name at the hub.
func nameOf(path string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, filepath.Base(path))
	return name[:min(len(name), 64)]
}
