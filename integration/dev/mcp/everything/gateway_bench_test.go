package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkGateway measures the round trip of a call, with and without the gateway
// of fettle-guard before the server, over stdin and stdout.
func BenchmarkGateway(b *testing.B) {
	home := b.TempDir()
	large := strings.Repeat(`a line of text with "quotes"\n`, 3000)
	for _, call := range []struct{ name, args string }{
		{"small", `{"name":"test_simple_text","arguments":{}}`},
		{"90KB", `{"name":"test_simple_text","arguments":{},"_meta":{"x":"` + strings.ReplaceAll(large, `"`, `\"`) + `"}}`},
	} {
		for _, way := range []struct {
			name string
			args []string
			env  []string
		}{
			{"direct", nil, []string{"EVERYTHING_SERVE=1"}},
			{"gateway", []string{"mcp", "--dir", home, "--grant", "*", "--env", "EVERYTHING_SERVE=1", "--", os.Args[0]}, []string{"EVERYTHING_GUARD=1", "HOME=" + home}},
		} {
			b.Run(call.name+"/"+way.name, func(b *testing.B) {
				server := exec.CommandContext(b.Context(), os.Args[0], way.args...)
				server.Env = append(os.Environ(), way.env...)
				in, err := server.StdinPipe()
				require.NoError(b, err)
				out, err := server.StdoutPipe()
				require.NoError(b, err)
				require.NoError(b, server.Start())
				answers := bufio.NewReaderSize(out, 1<<20)
				ask := func(line string) {
					_, err := fmt.Fprintln(in, line)
					require.NoError(b, err)
					answer, err := answers.ReadString('\n')
					require.NoError(b, err)
					require.NotContains(b, answer, `"isError":true`)
				}
				ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
				_, err = fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				require.NoError(b, err)
				for b.Loop() {
					ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + call.args + `}`)
				}
				require.NoError(b, in.Close())
				require.NoError(b, server.Wait())
			})
		}
	}
}
