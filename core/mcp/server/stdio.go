package server

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Stdio serves one client that writes to in and reads from out. It returns when
// in ends, out cannot be written, ctx ends or the Server is closed; none of these
// is an error. It then cancels running work, waits for it, and closes the
// Service, whose error it returns. Only messages of the protocol are written to
// out.
//
// When in ends, running calls may still be answered for [Options.Linger], so that
// requests can come from a file or a pipe. A malformed message is answered with
// an error and otherwise ignored. At the end in is closed if it is an io.Closer;
// a Read of in, or a Write of out, that blocks even then is left behind.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.stdio(ctx, in, out, directKey+"/"+rand.Text()) // no client knows it
}

// stdio is Stdio with the method of direct calls; "": there are none.
func (s *Server) stdio(ctx context.Context, in io.Reader, out io.Writer, method string) error {
	c := s.begin(ctx, kind{})
	if c == nil {
		return fault.New(fault.NotInitialized, "server.stdio", "The server is closed.", "Create a new one.")
	}
	if err := c.acceptDirect(method); err != nil {
		return errors.Join(err, c.end())
	}
	l := newLines(in, out, s.o.RequestBytes, s.o.Linger, c.revision)
	l.method = method
	conn, err := c.sdk.Connect(c.ctx, l, nil)
	if err != nil {
		l.shut()
		return errors.Join(err, c.end())
	}
	c.connected(conn)
	stop := context.AfterFunc(ctx, l.shut)
	stopEnd := context.AfterFunc(c.ctx, l.shut)
	err = conn.Wait()
	stop()
	stopEnd()
	s.log.Debug("the client has disconnected", "error", err)
	err = c.end()
	l.shut()
	if closer, ok := in.(io.Closer); ok {
		_ = closer.Close()
	}
	select { // a message that is being written is completed if possible
	case <-l.ended:
	case <-time.After(time.Second):
	}
	return err
}

// revision returns the negotiated revision of a session, "" before the
// negotiation.
func (s *session) revision() string {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn == nil {
		return ""
	}
	if p := conn.InitializeParams(); p != nil {
		return p.ProtocolVersion
	}
	return ""
}
