// Package command implements the fettle-hub program: it parses the command line, connects, and
// prints results.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/server"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// defaultAddr is the address of the embedded server.
const defaultAddr = "127.0.0.1:7340"

// Main runs the program with the arguments, streams and signals of the process.
func Main() int {
	log.SetOutput(io.Discard) // SDKs of providers log to stderr
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	return Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// hub is one run of the program.
type hub struct {
	in       io.Reader
	out, err io.Writer
	dir      string // of the hub: users, keys and streams
	nats     string // URL of a server; "": that of dir
	key      string // file with the seed; "": the administrator's
	user     string // name of the user; "": of the file
	ca       string
	parsed   bool
	ready    func() error // announces the embedded server; nil: none
}

// Run runs a command line and returns the exit code.
func Run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	h := &hub{in: in, out: out, err: errs}
	root := h.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case !h.parsed:
		h.print(err.Error() + ". See fettle-hub --help.")
		return exitUsage
	}
	h.print(err.Error())
	return exitFailed
}

// print prints a message as one line on stderr.
func (h *hub) print(text string) {
	_, _ = fmt.Fprintln(h.err, "fettle-hub: "+display.Line(text))
}

func (h *hub) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "fettle-hub",
		Short: "Sessions on several machines: jobs, approvals and a ledger over NATS",
		Long: `fettle-hub serve starts a hub. A worker runs the jobs of a workspace as recorded
sessions; users submit jobs and answer their questions from anywhere.`,
		Example: `  fettle-hub serve
  fettle-hub keys add builder --role worker --workspace app
  fettle-hub worker --workspace ./app --key ~/.fettle/hub/keys/builder.nk
  fettle-hub submit --workspace app 'Fix the build.'`,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			h.parsed = true
			return h.complete()
		},
	}
	f := root.PersistentFlags()
	f.StringVar(&h.dir, "dir", "", "`directory` of the hub: users, keys and streams (default: ~/.fettle/hub)")
	f.StringVar(&h.nats, "nats", "", "`URL` of a NATS server, such as tls://nats.example.org:4222 (default: the hub of --dir)")
	f.StringVar(&h.key, "key", "", "`file` with the seed of your key (default: that of the administrator in --dir)")
	f.StringVar(&h.user, "user", "", "your `name` at the hub (default: the name of the key file)")
	f.StringVar(&h.ca, "ca", "", "`file` with the root certificates of the server (default: those of the system)")
	root.AddCommand(h.serveCommand(), h.keysCommand(), h.workerCommand())
	root.AddCommand(h.jobCommands()...)
	root.AddCommand(h.verifyCommand())
	return root
}

// complete sets the defaults of flags.
func (h *hub) complete() error {
	if h.dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return fmt.Errorf("there is no home directory: give --dir: %w", err)
		}
		h.dir = filepath.Join(home, ".fettle", "hub")
	}
	return nil
}

// admin is the name of the first user.
const admin = "admin"

func (h *hub) keys() keys.Dir { return keys.Dir(h.dir) }

// urlFile is the file with the URL of the running hub of a directory.
func (h *hub) urlFile() string { return filepath.Join(h.dir, "url") }

// target returns the URL of the server.
func (h *hub) target() string {
	if h.nats != "" {
		return h.nats
	}
	if data, err := os.ReadFile(h.urlFile()); err == nil {
		return strings.TrimSpace(string(data))
	}
	return "nats://" + defaultAddr
}

// connect connects as the user of the flags, and returns the name of the user.
func (h *hub) connect(more ...nats.Option) (*nats.Conn, string, error) {
	path := h.key
	if path == "" {
		path = h.keys().Seed(admin)
	}
	pair, err := keys.Load(path)
	if err != nil {
		return nil, "", err
	}
	name := h.user
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(path), ".nk")
	}
	nc, err := server.Connect(h.target(), name, pair, h.ca, more...)
	switch {
	case unanswered(err):
		return nil, "", fmt.Errorf("%w at %s (%w): start one with fettle-hub serve, or give --nats", errNoHub, h.target(), err)
	case errors.Is(err, nats.ErrAuthorization):
		return nil, "", fmt.Errorf("the hub does not know the key %s: fettle-hub keys add creates a user", path)
	}
	return nc, name, err
}

var errNoHub = errors.New("no hub answers")

// unanswered reports whether a connection failed because no server answered, or because it ended
// before it had answered. A refusal is an answer, and so is a certificate that is not trusted.
func unanswered(err error) bool {
	var network *net.OpError
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) ||
		errors.As(err, &network) && slices.Contains([]string{"dial", "read", "write"}, network.Op)
}
