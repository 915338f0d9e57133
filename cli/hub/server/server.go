// Package server embeds a NATS server with JetStream whose users are those of a hub, and connects
// to it or to a cluster. It refuses addresses that other machines can reach without TLS. It does
// not know what the messages mean.
package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fettle-dev/fettle/cli/hub/keys"
)

// MaxPayload is the largest message in bytes: a question with its diff, or an edited file.
const MaxPayload = 8 << 20

// startTime is the time by which the server must be ready; recovering large streams takes longer
// than an empty start.
const startTime = time.Minute

// Options configure an embedded server.
type Options struct {
	Addr              string // HOST:PORT; port 0 selects a free port
	Dir               string // of the streams
	Users             []keys.User
	CertFile, KeyFile string // TLS; required unless only this machine can reach Addr
	MaxStore          int64  // bytes of all streams; 0: no limit but the disk
	// NoSync leaves it to the system when acknowledged messages reach the disk: a crash of the
	// machine, though not of the process, may lose the last ones.
	NoSync bool
}

// Server is an embedded server.
type Server struct {
	nats *server.Server
	o    server.Options
	own  nkeys.KeyPair // of the hub itself
	// unlock releases the directory.
	unlock func()
}

// Start starts a server. The caller calls Close.
func Start(o Options) (*Server, error) {
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("server: the address %q is not HOST:PORT: %w", o.Addr, err)
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		return nil, fmt.Errorf("server: the port of %q is invalid: %w", o.Addr, err)
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	own, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("server: create a key: %w", err)
	}
	s := &Server{own: own, o: server.Options{
		ServerName: "fettle-hub", Host: host, Port: number, NoLog: true, NoSigs: true, MaxPayload: MaxPayload,
		JetStream: true, StoreDir: o.Dir, JetStreamMaxStore: o.MaxStore, SyncAlways: !o.NoSync, SyncInterval: 10 * time.Second,
	}}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("server: read the certificate: %w", err)
		}
		s.o.TLSConfig, s.o.TLSTimeout = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}, 5
	} else if !IsLoopback(host) {
		return nil, errors.New("server: other machines can reach " + o.Addr + " and TLS is not configured: give a certificate and its key, or listen on 127.0.0.1")
	}
	if s.o.Nkeys, err = s.users(o.Users); err != nil {
		return nil, err
	}
	if s.unlock, err = lock(o.Dir); err != nil {
		return nil, err
	}
	if err := free(o.Addr); err != nil {
		s.unlock()
		return nil, err
	}
	options := s.o
	if s.nats, err = server.NewServer(&options); err != nil {
		s.unlock()
		return nil, fmt.Errorf("server: start: %w", err)
	}
	s.nats.Start()
	if !s.nats.ReadyForConnections(startTime) {
		s.Close()
		return nil, fmt.Errorf("server: not ready within %s at %s: is another server using the address or the directory %s?", startTime, o.Addr, o.Dir)
	}
	return s, nil
}

// lock keeps other servers out of a directory: two of them would destroy its streams.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("server: create the directory: %w", err)
	}
	unlock, err = keys.TryLock(filepath.Join(dir, "lock"))
	if errors.Is(err, keys.ErrLocked) {
		return nil, fmt.Errorf("server: another hub uses the directory %s: end it, or give another --dir", dir)
	}
	return unlock, err
}

// free returns an error if the address is in use, for which the server itself would wait.
func free(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("server: the address %s cannot be used; give another --listen: %w", addr, err)
	}
	return l.Close()
}

// users returns the users for the server, with the hub itself.
func (s *Server) users(all []keys.User) ([]*server.NkeyUser, error) {
	own, err := s.own.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("server: own key: %w", err)
	}
	list := []*server.NkeyUser{{Nkey: own}}
	for _, u := range all {
		p := keys.PermissionsOf(u)
		one := &server.NkeyUser{Nkey: u.Key, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: p.Publish}, Subscribe: &server.SubjectPermission{Allow: p.Subscribe},
		}}
		if p.Replies > 0 {
			one.Permissions.Response = &server.ResponsePermission{MaxMsgs: p.Replies, Expires: p.ReplyTime}
		}
		list = append(list, one)
	}
	return list, nil
}

// SetUsers replaces the users. Connections of removed users end.
func (s *Server) SetUsers(all []keys.User) error {
	list, err := s.users(all)
	if err != nil {
		return err
	}
	options := s.o
	options.Nkeys = list
	if err := s.nats.ReloadOptions(&options); err != nil {
		return fmt.Errorf("server: reload users: %w", err)
	}
	return nil
}

// URL returns the URL of the server.
func (s *Server) URL() string { return s.nats.ClientURL() }

// Connect returns a connection of the hub itself, without the network.
func (s *Server) Connect() (*nats.Conn, error) {
	public, err := s.own.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("server: own key: %w", err)
	}
	nc, err := nats.Connect("", append(common("hub"), nats.InProcessServer(s.nats), nats.Nkey(public, s.own.Sign))...)
	if err != nil {
		return nil, fmt.Errorf("server: connect: %w", err)
	}
	return nc, nil
}

// Close ends the server.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	s.unlock()
	s.own.Wipe()
}

// common are the options of each connection.
func common(name string) []nats.Option {
	return []nats.Option{
		nats.Name("fettle-hub " + name), nats.CustomInboxPrefix(keys.Inbox(name)), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, time.Second),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

// Connect connects to a server as the user with a name and a key. A server on another machine must
// use TLS. caFile is a file of root certificates; "": those of the system.
func Connect(target, name string, pair nkeys.KeyPair, caFile string, more ...nats.Option) (*nats.Conn, error) {
	for one := range strings.SplitSeq(target, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("server: %q is not a URL: give nats://127.0.0.1:PORT or tls://HOST:PORT", one)
		}
		if u.Scheme != "tls" && !IsLoopback(u.Hostname()) {
			return nil, fmt.Errorf("server: the connection to %s would not be encrypted: give tls://%s", u.Host, u.Host)
		}
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("server: key: %w", err)
	}
	options := append(common(name), nats.Nkey(public, pair.Sign))
	if caFile != "" {
		options = append(options, nats.RootCAs(caFile))
	}
	nc, err := nats.Connect(target, append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("server: connect to %s: %w", target, err)
	}
	return nc, nil
}

// IsLoopback reports whether only this machine can reach a host.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
