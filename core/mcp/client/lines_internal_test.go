package client

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that does not read the answers to its invalid requests is disconnected, and nothing
// keeps running.
func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fromServer, toClient := io.Pipe()
		fromClient, toServer := io.Pipe()
		c := newLineConn(newTap(), fromServer, toServer, 1<<10, time.Minute)
		go func() {
			for {
				if _, err := io.WriteString(toClient, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`+"\n"); err != nil {
					return
				}
			}
		}()
		start, read := time.Now(), 0
		for {
			if _, err := c.Read(t.Context()); err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
			read++
		}
		require.Equal(t, deniedTime, time.Since(start))
		require.GreaterOrEqual(t, read, maxDenied)
		require.ErrorIs(t, c.failure(), errNotRead)
		require.NoError(t, fromClient.Close())
		require.NoError(t, toClient.Close())
		c.finish()
	})
}

// A server that reads receives all answers.
func TestRefusalsOfABurst(t *testing.T) {
	fromServer, toClient := io.Pipe()
	fromClient, toServer := io.Pipe()
	c := newLineConn(newTap(), fromServer, toServer, 1<<10, time.Minute)
	const burst = 20 * maxDenied
	go func() {
		for range burst {
			_, _ = io.WriteString(toClient, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`+"\n")
		}
	}()
	answers := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(fromClient)
		answers <- all
	}()
	for range burst {
		_, err := c.Read(t.Context())
		require.NoError(t, err)
	}
	require.NoError(t, c.Close())
	require.Equal(t, burst, bytes.Count(<-answers, []byte("\n")))
	require.NoError(t, toClient.Close())
	c.finish()
}
