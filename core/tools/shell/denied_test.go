package shell

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// SB-05: the errors of programs that a sandbox causes, and the paths and hosts that they name.
func TestDenied(t *testing.T) {
	for output, want := range map[string]string{
		"bash: line 1: .git/hooks/x: Read-only file system":                                                              ".git/hooks/x",
		"touch: cannot touch '/etc/x': Read-only file system":                                                            "/etc/x",
		"fatal: Unable to create '/w/.git/index.lock': Read-only file system":                                            "/w/.git/index.lock",
		"mkdir: cannot create directory ‘/opt/a’: Permission denied":                                                     "/opt/a",
		"bash: .env: Read-only file system":                                                                              ".env",
		"open /home/u/x: permission denied":                                                                              "/home/u/x",
		"PermissionError: [Errno 1] Operation not permitted: '/w/x'":                                                     "/w/x",
		"Error: EROFS: read-only file system, open '/etc/x'":                                                             "/etc/x",
		"curl: (6) Could not resolve host: example.com":                                                                  "example.com",
		"fatal: unable to access 'https://a.example/': Could not resolve host: a.example":                                "a.example",
		`go: example.com/m: Get "https://p.example/x": dial tcp: lookup p.example on 9.9.9.9:53: network is unreachable`: "p.example",
		"dial tcp 10.1.2.3:443: connect: network is unreachable":                                                         "10.1.2.3:443",
		"npm error getaddrinfo EAI_AGAIN registry.example":                                                               "registry.example",
		"Error: connect ENETUNREACH 1.2.3.4:443":                                                                         "1.2.3.4:443",
		"ping: connect: Network is unreachable":                                                                          "",
		"cat: /home/u/.aws/x: No such file or directory":                                                                 "/home/u/.aws/x (the home directory is hidden)",
	} {
		what, found := denied("first line\n"+output+"\nlast", "/home/u")
		require.True(t, found, output)
		require.Equal(t, want, what, output)
	}
	for _, output := range []string{"", "FAIL", "cat: /w/x: No such file or directory", "cat: /home/user/x: No such file or directory"} {
		_, found := denied(output, "/home/u")
		require.False(t, found, output)
	}
}

func TestSandboxed(t *testing.T) {
	by := &process.Confinement{Kind: process.Namespaces, PerCommand: true, NoTCP: true}
	for _, tt := range []struct {
		as     process.Confine
		exit   process.Exit
		output string
		want   string
	}{
		{process.ConfineWrite, process.Exit{Code: 1}, "x: Read-only file system", "unconfined: true and a reason"},
		{process.ConfineWrite, process.Exit{Code: 1}, "x: Read-only file system", "no network but 127.0.0.1"},
		{process.ConfineRead, process.Exit{Code: 1}, "x: Read-only file system", "in the temporary directory only"},
		{process.ConfineWrite, process.Exit{}, "x: Read-only file system", "It failed at x."},
		{process.ConfineWrite, process.Exit{Code: -1, Signal: "SIGSYS"}, "", "ran in the sandbox (namespaces)"},
		{process.ConfineRead, process.Exit{}, "x: Read-only file system", ""},
		{process.ConfineWrite, process.Exit{}, "find: ‘/x’: Permission denied", ""},
		{process.ConfineWrite, process.Exit{Code: 1}, "--- FAIL: TestX", ""},
	} {
		var a answer
		a.sandboxed(by, tt.as, tt.exit, tt.output)
		if tt.want == "" {
			require.Empty(t, a.b.String())
			continue
		}
		require.Contains(t, a.b.String(), tt.want)
	}
}
