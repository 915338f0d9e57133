package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/server"
	"github.com/fettle-dev/fettle/cli/hub/service"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/cli/hub/web"
	"github.com/fettle-dev/fettle/cli/internal/httpserve"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	addr, cert, certKey string
	keep                store.Retention
	maxStore            int64
	noSync              bool
	http                string   // of the web page
	hosts               []string // of requests to it
}

func (h *hub) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a hub: an embedded NATS server, or an existing cluster with --nats",
		Long: `Serves a hub until Ctrl-C. Without --nats it embeds a NATS server, whose users are those
of fettle-hub keys; the first run creates the user admin. An address that other machines
can reach requires --tls-cert and --tls-key. With --nats the hub uses a cluster, whose
users fettle-hub keys config prints for its configuration.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (f.cert == "") != (f.certKey == "") {
				return errors.New("--tls-cert and --tls-key require each other: give both")
			}
			return h.serve(cmd.Context(), &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "listen", defaultAddr, "`address` of the embedded server, HOST:PORT; port 0 selects a free port")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` with the certificate of the embedded server")
	flags.StringVar(&f.certKey, "tls-key", "", "`file` with the key of the certificate")
	flags.StringVar(&f.http, "http", "", "`address` of the web page, HOST:PORT; other machines can reach it only with --tls-cert (default: no page)")
	flags.StringSliceVar(&f.hosts, "allow-host", nil, "accepted `hosts` of requests to the web page, in addition to loopback hosts and the host of --http")
	flags.DurationVar(&f.keep.Log, "keep-log", 30*24*time.Hour, "`age` after which jobs and logs are removed")
	flags.DurationVar(&f.keep.Ledger, "keep-ledger", 0, "`age` after which entries of the ledger are removed (default: never)")
	flags.IntVar(&f.keep.Replicas, "replicas", 1, "`number` of servers of a cluster that store each message")
	flags.Int64Var(&f.maxStore, "max-store", 0, "maximum `bytes` of all streams of the embedded server (default: what the disk has)")
	flags.BoolVar(&f.noSync, "no-sync", false, "do not wait for the disk: a crash of the machine may lose acknowledged messages")
	return cmd
}

func (h *hub) serve(ctx context.Context, f *serveFlags) error {
	nc, closeServer, err := h.serverOf(ctx, f)
	if err != nil {
		return err
	}
	defer closeServer()
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	if err := store.Setup(ctx, js, f.keep); err != nil {
		return err
	}
	st, err := store.Open(ctx, nc)
	if err != nil {
		return err
	}
	api, err := service.Start(ctx, nc, st)
	if err != nil {
		return err
	}
	defer func() { _ = api.Close() }()
	if h.ready != nil {
		if err := h.ready(); err != nil {
			return err
		}
	}
	h.print("serving at " + h.target())
	if f.http == "" {
		<-ctx.Done()
		return nil
	}
	return h.serveWeb(ctx, f, nc, api)
}

// serveWeb serves the web page until ctx ends.
func (h *hub) serveWeb(ctx context.Context, f *serveFlags, nc *nats.Conn, api *service.Service) error {
	host, _, err := net.SplitHostPort(f.http)
	if err != nil {
		return fmt.Errorf("the address %q of --http is not HOST:PORT", f.http)
	}
	if !server.IsLoopback(host) && f.cert == "" {
		return fmt.Errorf("other machines can reach %s and TLS is not configured: give --tls-cert and --tls-key, or an address of 127.0.0.1", f.http)
	}
	site, err := web.New(ctx, web.Options{NC: nc, Service: api, Users: h.keys().Users, Hosts: append(slices.Clone(f.hosts), host), TLS: f.cert != ""})
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.http)
	if err != nil {
		_ = site.Close()
		return err
	}
	scheme := "http"
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.certKey)
		if err != nil {
			_, _ = l.Close(), site.Close()
			return err
		}
		l, scheme = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}), "https"
	}
	h.print("the web page is at " + scheme + "://" + l.Addr().String() + "/")
	return httpserve.Serve(ctx, l, site.Handler(), site.Close)
}

// serverOf returns a connection with all permissions: to the embedded server, which it starts, or
// to the server of --nats.
func (h *hub) serverOf(ctx context.Context, f *serveFlags) (*nats.Conn, func(), error) {
	if h.nats != "" {
		nc, _, err := h.connect()
		return nc, func() {}, err
	}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, nil, err
	}
	users, err := h.keys().Users()
	if err != nil {
		return nil, nil, err
	}
	if len(users) == 0 {
		seed, err := h.keys().Add(keys.User{Name: admin, Roles: []keys.Role{keys.Admin}})
		if err != nil {
			return nil, nil, err
		}
		h.print("created the user admin; its key is " + seed)
		if users, err = h.keys().Users(); err != nil {
			return nil, nil, err
		}
	}
	s, err := server.Start(server.Options{Addr: f.addr, Dir: filepath.Join(h.dir, "streams"), Users: users, CertFile: f.cert, KeyFile: f.certKey, MaxStore: f.maxStore, NoSync: f.noSync})
	if err != nil {
		return nil, nil, err
	}
	nc, err := s.Connect()
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	h.ready = func() error { return os.WriteFile(h.urlFile(), []byte(s.URL()+"\n"), 0o600) }
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.followUsers(watching, s, users)
	}()
	return nc, func() {
		stop()
		<-done
		_ = os.Remove(h.urlFile())
		s.Close()
	}, nil
}

// followUsers applies changes of the users to the server.
func (h *hub) followUsers(ctx context.Context, s *server.Server, users []keys.User) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := h.keys().Users()
		if err == nil && !slices.EqualFunc(now, users, sameUser) {
			if err = s.SetUsers(now); err == nil {
				users = now
			}
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != last && text != "" {
			h.print(text + "; the previous users stay in force")
		}
		last = text
	}
}

func sameUser(a, b keys.User) bool {
	return a.Name == b.Name && a.Key == b.Key && a.Workspace == b.Workspace && slices.Equal(a.Roles, b.Roles)
}

// inForce waits until the running hub of the directory knows a new key, so that the next command can
// use it. Without one it returns at once.
func (h *hub) inForce(ctx context.Context, seed, name string) error {
	url, err := os.ReadFile(h.urlFile())
	if err != nil {
		return nil
	}
	pair, err := keys.Load(seed)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		nc, err := server.Connect(strings.TrimSpace(string(url)), name, pair, h.ca)
		if err == nil {
			nc.Close()
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			return nil // known, or the hub does not run any more
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	h.print("The hub does not know the new key yet.")
	return nil
}

func (h *hub) keysCommand() *cobra.Command {
	root := &cobra.Command{Use: "keys", Short: "Manage the users of the hub and their keys", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var u keys.User
	var roles []string
	add := &cobra.Command{
		Use: "add NAME", Short: "Create a user, and print the path of its key", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.Name = args[0]
			for _, r := range roles {
				u.Roles = append(u.Roles, keys.Role(r))
			}
			if err := os.MkdirAll(h.dir, 0o700); err != nil {
				return err
			}
			seed, err := h.keys().Add(u)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintln(h.out, seed)
			return h.inForce(cmd.Context(), seed, u.Name)
		},
	}
	add.Flags().StringSliceVar(&roles, "role", nil, "`roles` of the user: admin, worker, submitter, approver, viewer")
	add.Flags().StringVar(&u.Workspace, "workspace", "", "`name` of the workspace of a worker")
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Remove a user and its key", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return h.keys().Remove(args[0]) },
	}
	list := &cobra.Command{
		Use: "list", Short: "List the users", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			users, err := h.keys().Users()
			for _, u := range users {
				names := make([]string, len(u.Roles))
				for i, r := range u.Roles {
					names[i] = string(r)
				}
				_, _ = fmt.Fprintln(h.out, strings.TrimSpace(strings.Join([]string{u.Name, strings.Join(names, ","), u.Key, u.Workspace}, " ")))
			}
			return err
		},
	}
	config := &cobra.Command{
		Use: "config", Short: "Print the users as configuration of a NATS server", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			users, err := h.keys().Users()
			if err == nil {
				_, err = fmt.Fprint(h.out, keys.Configuration(users))
			}
			return err
		},
	}
	token := &cobra.Command{
		Use: "token NAME", Short: "Create a new token of a user for the web page, and print it", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			secret, err := h.keys().NewToken(args[0])
			if err == nil {
				_, err = fmt.Fprintln(h.out, secret)
			}
			return err
		},
	}
	root.AddCommand(token, add, list, remove, config)
	return root
}
