package file_test

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools/file"
)

func utf16Bytes(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func utf32Bytes(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, r := range "\ufeff" + text {
		b = order.AppendUint32(b, uint32(r))
	}
	return string(b)
}

// windows1252 encodes the characters that the tests use.
func windows1252(text string) string {
	var b []byte
	for _, r := range text {
		switch {
		case r == '€':
			b = append(b, 0x80)
		case r == '“':
			b = append(b, 0x93)
		case r == '”':
			b = append(b, 0x94)
		default:
			b = append(b, byte(r))
		}
	}
	return string(b)
}

// FS-55: each tool that changes files keeps the encoding, byte order mark, line endings and permissions. The hash is that of
// the bytes on disk.
func TestChangesKeepTheFormat(t *testing.T) {
	t.Parallel()
	const german = "Grüße aus Köln,\nzwei Straßen weiter für 5 €,\nviele Grüße “Jürgen” über Österreich,\nschöne Fußgängerzone\n"
	plain := func(text string) string { return text }
	for name, tt := range map[string]struct {
		text   string
		old    string // a line of text
		encode func(string) string
	}{
		"UTF-8":             {german, "zwei Straßen weiter für 5 €,", plain},
		"UTF-8 BOM":         {"one\ntwo\nthree\n", "two", func(s string) string { return "\ufeff" + s }},
		"UTF-16LE":          {"eins 😀\nzwei\n", "zwei", func(s string) string { return utf16Bytes(binary.LittleEndian, s) }},
		"UTF-16BE":          {"eins 😀\nzwei\n", "zwei", func(s string) string { return utf16Bytes(binary.BigEndian, s) }},
		"UTF-32LE":          {"eins 😀\nzwei\n", "zwei", func(s string) string { return utf32Bytes(binary.LittleEndian, s) }},
		"UTF-32BE":          {"eins 😀\nzwei\n", "zwei", func(s string) string { return utf32Bytes(binary.BigEndian, s) }},
		"windows-1252":      {german, "schöne Fußgängerzone", windows1252},
		"no final newline":  {"one\ntwo", "two", plain},
		"control character": {"one\x1b[1m\n\ttwo\x0c\n", "one\x1b[1m", plain},
	} {
		for ending, style := range map[string]func(string) string{
			"LF":   plain,
			"CRLF": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		} {
			text, line := tt.text, tt.old
			want := tt.encode(style(strings.Replace(text, line, "geändert\nund länger", 1)))
			for tool, change := range map[string]func(hash string) args{
				file.SafePatch: func(hash string) args {
					diff := "@@ @@\n-" + line + "\n+geändert\n+und länger\n"
					return patchArgs("a.txt", diff, hash)
				},
				file.WriteFile: func(hash string) args {
					return writeArgs("a.txt", strings.Replace(text, line, "geändert\nund länger", 1), hash)
				},
				file.Edit:       func(string) args { return editArgs("a.txt", line, "geändert\nund länger") },
				file.TextEditor: func(string) args { return replaceArgs("a.txt", line, "geändert\nund länger") },
				file.ApplyPatch: func(string) args {
					return args{"input": envelope("*** Update File: a.txt\n@@\n-" + line + "\n+geändert\n+und länger\n")}
				},
			} {
				t.Run(name+"/"+ending+"/"+tool, func(t *testing.T) {
					s := newSession(t, autoEdit)
					path := s.Write("a.txt", tt.encode(style(text)))
					require.NoError(t, os.Chmod(path, 0o640))
					st := read(t, s, "a.txt")
					require.Equal(t, style(text), *st.Content)
					require.Equal(t, sum(s.Read("a.txt")), *st.SHA256)
					st = succeed(t, s.Call(tool, change(*st.SHA256))).LatestFileState
					require.Equal(t, want, s.Read("a.txt"))
					require.Equal(t, sum(want), *st.SHA256)
					require.Equal(t, style(strings.Replace(text, line, "geändert\nund länger", 1)), *st.Content)
					if runtime.GOOS != "windows" {
						info, err := os.Stat(path)
						require.NoError(t, err)
						require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
					}
				})
			}
		}
	}
}

// FS-55, the example of the requirement: a file with BOM, CRLF and mode 0640 is overwritten with LF text.
func TestOverwriteKeepsBOMAndCRLF(t *testing.T) {
	s := newSession(t, autoEdit)
	s.Write("a.txt", "\ufeffone\r\ntwo\r\n")
	st := read(t, s, "a.txt")
	require.Equal(t, "one\r\ntwo\r\n", *st.Content)
	succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", "new\nlines\n", *st.SHA256)))
	require.Equal(t, "\ufeffnew\r\nlines\r\n", s.Read("a.txt"))
}

// Mixed line endings: unchanged lines keep theirs.
func TestChangesKeepMixedLineEndings(t *testing.T) {
	const mixed = "a\r\nb\nc\r\nd\ne\r\n"
	for tool, change := range map[string]args{
		file.SafePatch: patchArgs("a.txt", "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n", sum(mixed)),
		file.WriteFile: writeArgs("a.txt", "a\nb\nC\nd\ne\n", sum(mixed)),
		file.Edit:      editArgs("a.txt", "c", "C"),
	} {
		s := newSession(t, autoEdit)
		s.Write("a.txt", mixed)
		read(t, s, "a.txt")
		succeed(t, s.Call(tool, change))
		require.Equal(t, strings.Replace(mixed, "c", "C", 1), s.Read("a.txt"), tool)
	}
}

// A character that the encoding lacks is refused with its line, and the remedy succeeds.
func TestCharacterThatTheEncodingLacks(t *testing.T) {
	text := windows1252("Grüße aus Köln,\nschöne Fußgängerzone, Straße über Österreich\n")
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", text)
		st := read(t, s, "a.txt")
		require.NotNil(t, st.SHA256, "detected as a legacy encoding")
		before := tree(t, s.Dir)
		a := map[string]args{
			file.SafePatch: patchArgs("a.txt", "@@ @@\n-Grüße aus Köln,\n+Grüße 😀,\n", *st.SHA256),
			file.WriteFile: writeArgs("a.txt", "Grüße 😀,\n", *st.SHA256),
			file.Edit:      editArgs("a.txt", "aus Köln", "😀"),

			file.ApplyPatch: {"input": envelope("*** Update File: a.txt\n@@\n-Grüße aus Köln,\n+Grüße 😀,\n")},
			file.TextEditor: {"command": "str_replace", "path": "a.txt", "old_str": "aus Köln", "new_str": "😀"},
		}[m.tool]
		r := s.Call(m.tool, a)
		report := refuse(t, r, fault.FileWriteFailure, "")
		require.Contains(t, report.Message, "1F600")
		require.Contains(t, report.Message, "line 1")
		require.Empty(t, s.Confirmations())
		require.Equal(t, before, tree(t, s.Dir))
	})
}
