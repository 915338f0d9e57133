package a2a

import (
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, r io.Reader, limit int) ([]string, error) {
	t.Helper()
	var all []string
	err := events(r, limit, func(data []byte) bool {
		all = append(all, string(data))
		return true
	})
	return all, err
}

func TestEvents(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"one":         {"data: a\n\n", []string{"a"}},
		"no blank":    {"data:a\n\n", []string{"a"}},
		"lines":       {"data: a\ndata:  b\ndata\n\n", []string{"a\n b\n"}},
		"endings":     {"data: a\r\n\r\ndata: b\r\rdata: c\n\n", []string{"a", "b", "c"}},
		"other lines": {": x\nid: 1\nevent: e\nretry: 5\ndatax: y\ndata: a\n\n", []string{"a"}},
		"cut":         {"data: a\n\ndata: b", []string{"a", "b"}},
		"none":        {"\n\n\nid: 1\n\n", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text)), iotest.DataErrReader(strings.NewReader(tt.text))} {
				got, err := read(t, r, 1000)
				require.NoError(t, err)
				require.Equal(t, tt.want, got)
			}
		})
	}
	_, err := read(t, strings.NewReader("data: "+strings.Repeat("x", 100)), 50)
	require.ErrorIs(t, err, errLongEvent)
	_, err = read(t, strings.NewReader(strings.Repeat("data: xxxxx\n", 100)), 50)
	require.ErrorIs(t, err, errLongEvent)
	broken := errors.New("broken")
	got, err := read(t, io.MultiReader(strings.NewReader("data: a\n\n"), iotest.ErrReader(broken)), 50)
	require.ErrorIs(t, err, broken)
	require.Equal(t, []string{"a"}, got)
}

// The events are the same, however the stream is split.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: a\r\n\r\ndata: b\n\n", "data\rdata:\r\n\r", ": c\n\n", "\xffdata: x\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole, err := read(t, strings.NewReader(text), 1<<20)
		require.NoError(t, err)
		single, err := read(t, iotest.OneByteReader(strings.NewReader(text)), 1<<20)
		require.NoError(t, err)
		require.Equal(t, whole, single)
	})
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[null,{"artifactId":"a","parts":[{"kind":"text","text":"x"}]}],"history":[null]}`,
		`{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"data","data":null}]}`,
		`{"kind":"artifact-update","taskId":"t","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[]}}`,
		`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working","message":null},"final":true}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := new(answer)
		for range 2 {
			a.take([]byte(text))
			_ = a.text()
		}
	})
}

func TestIsPrivate(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": false, "1.1.1.1": false, "2606:4700::1111": false,
		"127.0.0.1": true, "10.1.2.3": true, "172.16.0.1": true, "192.168.1.1": true, "169.254.169.254": true, "100.64.0.1": true,
		"0.0.0.0": true, "0.1.2.3": true, "255.255.255.255": true, "240.0.0.1": true, "224.0.0.1": true,
		"::1": true, "::": true, "fe80::1": true, "fd00::1": true, "ff02::1": true, "::ffff:127.0.0.1": true, "::ffff:8.8.8.8": false,
		"64:ff9b::7f00:1": true, "64:ff9b::808:808": false, "2002:7f00:1::": true, "2002:808:808::": false,
	} {
		require.Equal(t, want, isPrivate(netip.MustParseAddr(text)), text)
	}
}
