package filestate

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// FS-17, CR-06 (cache part): data without a hash, which proves nothing.
func TestNonTextPayloads(t *testing.T) {
	for name, tt := range map[string]struct{ content, mime string }{
		"a.png": {"\x89PNG\r\n\x1a\n\x00\x00", "image/png"},
		"a.pdf": {"%PDF-1.7\nrest", "application/pdf"},
		"a.mp3": {"ID3\x03\x00\x00\x00\x00\x00\x00", "audio/mpeg"},
	} {
		f := newFixture(t)
		f.write(name, tt.content)
		for range 2 { // RC-16: the full pipeline both times
			r := f.full(name)
			require.Nil(t, r.State)
			require.Equal(t, &Payload{tt.mime, []byte(tt.content)}, r.Payload)
		}
		e := f.entry(name)
		require.Empty(t, e.SHA256)
		require.True(t, e.nonText)
		require.False(t, e.LastReadWasFull || e.LastReadCacheable)
		refusal := f.edit(name)
		f.requireRefusal(refusal, fault.EditRequiresPriorRead, fault.NonText)
	}
}

// A read of text only reports the kind of any other file without reading it.
func TestTextOnly(t *testing.T) {
	f := newFixture(t)
	f.hook = func(w string, p workspace.Path) {
		require.False(t, w == atReading && p.Base() != "a.txt", "%s was read", p)
	}
	for name, mime := range map[string]string{"a.png": "image/png", "a.pdf": "application/pdf"} {
		content := map[string]string{"a.png": "\x89PNG\r\n\x1a\n\x00\x00", "a.pdf": "%PDF-1.7\nrest"}[name]
		r, err := f.Read(t.Context(), ReadRequest{Path: f.write(name, content), TextOnly: true})
		require.NoError(t, err)
		require.Equal(t, &Read{Payload: &Payload{MIMEType: mime}}, r)
		f.requireRefusal(f.edit(name), fault.EditRequiresPriorRead, fault.NonText)
	}
	r, err := f.Read(t.Context(), ReadRequest{Path: f.write("a.txt", "text\n"), TextOnly: true})
	require.NoError(t, err)
	require.Equal(t, "text\n", *r.State.Content)
}

// FS-18, TE-06: SVG then edit
func TestSVG(t *testing.T) {
	f := newFixture(t)
	f.write("small.svg", "<svg>"+strings.Repeat(" \n", 1000)+"</svg>")
	require.NotNil(t, f.shown("small.svg").SHA256)
	require.Nil(t, f.edit("small.svg"))
	require.NotNil(t, f.full("small.svg").Placeholder, "full and cacheable")

	f.write("large.svg", "<svg>"+strings.Repeat(" ", 1<<20)+"</svg>")
	f.write("binary", "\x00\x01\x02")
	for _, name := range []string{"large.svg", "binary"} {
		for range 2 {
			r := f.full(name)
			require.Nil(t, r.State)
			require.True(t, strings.HasPrefix(r.Refusal, "Cannot display content of "), r.Refusal)
			require.Contains(t, r.Refusal, f.name(name))
		}
		f.requireRefusal(f.edit(name), fault.EditRequiresPriorRead, fault.NonText)
	}
}

// FS-19, KH-20
func TestLossyTextIsShownWithoutAHash(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "plain text, then a broken byte: \xff\xfe\x81 end\n")
	for range 2 {
		st := f.shown("a.txt")
		require.Contains(t, *st.Content, "\uFFFD")
		require.Nil(t, st.SHA256)
		require.False(t, st.Truncated)
	}
	require.False(t, f.entry("a.txt").LastReadCacheable)
	f.requireRefusal(f.edit("a.txt"), fault.EditRequiresPriorRead, fault.NonText)
}

// FS-20: by stat alone, so a FIFO without a writer does not block.
func TestReadOfWhatIsNoFile(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, os.Mkdir(f.name("dir"), 0o755))
	_, err := f.Read(t.Context(), ReadRequest{Path: f.path("dir")})
	require.Equal(t, fault.TargetIsDirectory, fault.CodeOf(err))
	for name, made := range map[string]error{"fifo": mkfifo(f.name("fifo")), "socket": mksocket(t, f.name("socket"))} {
		if made != nil {
			t.Logf("%s: %v", name, made)
			continue
		}
		_, err := f.Read(t.Context(), ReadRequest{Path: f.path(name)})
		require.Equal(t, fault.NotARegularFile, fault.CodeOf(err), name)
		require.Equal(t, fault.SpecialFile, fault.As(err).Reason)
	}
	require.Zero(t, f.disk.opens)
}
