package textfile

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// legacy is text in languages with code pages of their own.
var legacy = map[string]string{
	"french":   "// Calcule la médiane des valeurs.\n// L'élève a été noté à l'école, dès que possible.\nfunc main() {}\n",
	"german":   "Die Größe des Gebäudes überrascht.\nÄpfel und Öl für die Küche.\n",
	"spanish":  "El niño comió en la habitación.\n¿Qué pasó mañana?\n",
	"russian":  "Привет, мир! Это проверка кодировки.\nЕще одна строка на русском языке.\n",
	"comment":  "package main\n\n// приветствие\nfunc main() {\n\tprintln(\"привет\")\n}\n",
	"greek":    "Αυτό είναι ένα δοκιμαστικό αρχείο.\nΚαλημέρα κόσμε.\n",
	"hebrew":   "זהו קובץ בדיקה בעברית.\nשלום עולם.\n",
	"thai":     "นี่คือไฟล์ทดสอบภาษาไทย\n",
	"japanese": "これは日本語のテストです。\n文字コードを判定します。漢字も含む。\n",
	"kana":     "int main() {\n  // 表示する\n  puts(\"こんにちは\");\n}\n",
	"chinese":  "这是一个中文测试文件。\n用来检测编码是否正确。\n",
	"taiwan":   "這是一個中文測試檔案。\n用來檢測編碼是否正確。\n",
	"korean":   "이것은 한국어 시험 파일입니다.\n인코딩을 확인합니다.\n",
}

func encode(t testing.TB, name, text string) []byte {
	t.Helper()
	data, err := Format{Encoding: name}.Encode(text)
	require.NoError(t, err)
	return data
}

func requireExact(t testing.TB, data []byte, d Document) {
	t.Helper()
	require.True(t, d.Lossless)
	again, err := d.Format.Encode(d.Text)
	require.NoError(t, err)
	require.Equal(t, data, again)
}

// FS-06, FS-55, CR-05: BOM, encoding and line endings survive; qwen 2257.
func TestDecode(t *testing.T) {
	text := "Größe\r\n日本\r\n\U0001F600 end"
	for name, tt := range map[string]struct {
		data   []byte
		text   string
		format Format
	}{
		"empty":                {[]byte{}, "", Format{UTF8, false, NewlineNone}},
		"ascii":                {[]byte("a\nb"), "a\nb", Format{UTF8, false, NewlineLF}},
		"utf-8":                {[]byte(text), text, Format{UTF8, false, NewlineCRLF}},
		"utf-8, BOM":           {[]byte("\xef\xbb\xbf" + text), text, Format{UTF8, true, NewlineCRLF}},
		"BOM alone":            {[]byte("\xef\xbb\xbf"), "", Format{UTF8, true, NewlineNone}},
		"two BOMs":             {[]byte("\xef\xbb\xbf\xef\xbb\xbfa\n"), "\uFEFFa\n", Format{UTF8, true, NewlineLF}},
		"NUL":                  {[]byte("a\x00b\n"), "a\x00b\n", Format{UTF8, false, NewlineLF}},
		"U+FFFD itself":        {[]byte("\uFFFD\n"), "\uFFFD\n", Format{UTF8, false, NewlineLF}},
		"utf-16le":             {append([]byte("\xff\xfe"), encode(t, UTF16LE, text)...), text, Format{UTF16LE, true, NewlineCRLF}},
		"utf-16be":             {append([]byte("\xfe\xff"), encode(t, UTF16BE, text)...), text, Format{UTF16BE, true, NewlineCRLF}},
		"utf-32le":             {append([]byte("\xff\xfe\x00\x00"), encode(t, UTF32LE, text)...), text, Format{UTF32LE, true, NewlineCRLF}},
		"utf-32be":             {append([]byte("\x00\x00\xfe\xff"), encode(t, UTF32BE, text)...), text, Format{UTF32BE, true, NewlineCRLF}},
		"utf-16le BOM alone":   {[]byte("\xff\xfe"), "", Format{UTF16LE, true, NewlineNone}},
		"utf-32le BOM alone":   {[]byte("\xff\xfe\x00\x00"), "", Format{UTF32LE, true, NewlineNone}},
		"utf-16le with U+FFFD": {[]byte("\xff\xfe\xfd\xffa\x00"), "\uFFFDa", Format{UTF16LE, true, NewlineNone}},
		"utf-16le, NUL first":  {[]byte("\xff\xfe\x00\x00a\x00"), "\x00a", Format{UTF16LE, true, NewlineNone}}, // not UTF-32: 6 bytes
		"mixed":                {[]byte("a\nb\r\nc\r"), "a\nb\r\nc\r", Format{UTF8, false, NewlineMixed}},
		"lone CR":              {[]byte("a\rb"), "a\rb", Format{UTF8, false, NewlineNone}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decode(tt.data)
			require.Equal(t, tt.text, d.Text)
			require.Equal(t, tt.format, d.Format)
			requireExact(t, tt.data, d)
		})
	}
}

func TestDecodeLegacy(t *testing.T) {
	for _, tt := range []struct{ language, encoding string }{
		{"french", "iso-8859-1"}, {"german", "iso-8859-1"}, {"spanish", "iso-8859-1"}, {"french", "macintosh"},
		{"russian", "windows-1251"}, {"russian", "koi8-r"}, {"russian", "ibm866"}, {"russian", "iso-8859-5"}, {"comment", "windows-1251"},
		{"greek", "iso-8859-7"}, {"hebrew", "windows-1255"}, {"thai", "windows-874"},
		{"japanese", "shift_jis"}, {"japanese", "euc-jp"}, {"kana", "shift_jis"},
		{"chinese", "gbk"}, {"taiwan", "big5"}, {"korean", "euc-kr"},
	} {
		t.Run(tt.language+" "+tt.encoding, func(t *testing.T) {
			text := strings.ReplaceAll(legacy[tt.language], "\n", "\r\n")
			data := encode(t, tt.encoding, text)
			d := Decode(data)
			require.Equal(t, text, d.Text)
			require.Equal(t, Format{tt.encoding, false, NewlineCRLF}, d.Format)
			requireExact(t, data, d)

			long := append(bytes.Repeat([]byte("plain line\r\n"), 10_000), data...)
			d = Decode(long)
			require.Equal(t, tt.encoding, d.Format.Encoding)
			requireExact(t, long, d)
		})
	}
	quotes := strings.ReplaceAll(legacy["french"], "'", "’")
	d := Decode(encode(t, "windows-1252", quotes))
	require.Equal(t, "windows-1252", d.Format.Encoding)
	require.Equal(t, quotes, d.Text)
}

// A source file whose only letters beyond ASCII are those of a name.
func TestDecodeFewLetters(t *testing.T) {
	for data, want := range map[string]string{
		"caf\xe9\n":                     "café\n",
		"# \xa9 2020 M\xfcller\n":       "# © 2020 Müller\n",
		"name: Jos\xe9\n# r\xe9sum\xe9": "name: José\n# résumé",
	} {
		d := Decode([]byte(data))
		require.Equal(t, want, d.Text)
		requireExact(t, []byte(data), d)
	}
}

// FS-19, KH-20: shown, but not rewritable.
func TestDecodeLossy(t *testing.T) {
	for name, data := range map[string]string{
		"two stray bytes":       "hello\xff\xfe world\nline\n",
		"one between letters":   "abc\x80def",
		"one on a line":         "ok\n\xff\n",
		"many":                  strings.Repeat("a line\xff\n", 50),
		"cut sequence":          "a\xc3\x28b\n",
		"damaged UTF-8":         "h\u00e9llo w\u00f6rld \xff and \xc3\n",
		"UTF-8 cut at the end":  "日本語テスト\xe6\x97\n",
		"Russian UTF-8, broken": legacy["russian"] + "\xd0\n",
		"overlong":              "path \xc0\xaf\xc0\xaf x\n",
		"surrogate":             "a \xed\xa0\x80 b\n",
		"high bytes in a row":   "hello \xff\xfe\xfd world\n",
		"the same byte":         "bad: \xc3\xc3\xc3\xc3 end\n",
		"control codes":         "x\x80\x81\x82\x83\x84y\n",
		"with NUL":              "caf\xe9 cr\xe8me br\xfbl\xe9e\x00\n",
		"utf-8 BOM":             "\xef\xbb\xbfa\xffb",
		"utf-16le, odd":         "\xff\xfea\x00b",
		"utf-16le, lone":        "\xff\xfe\x00\xd8a\x00",
		"utf-16be, lone":        "\xfe\xff\xdc\x00\x00a",
		"utf-16 halves swapped": "\xfe\xff\xdc\x00\xd8\x00",
		"utf-32le, too large":   "\xff\xfe\x00\x00\x00\x00\x11\x00\x00\xd8\x00\x00",
		"utf-32be, odd":         "\x00\x00\xfe\xff\x00\x00\x00",
		"utf-32be, surrogate":   "\x00\x00\xfe\xff\x00\x00\xd8\x00",
	} {
		t.Run(name, func(t *testing.T) {
			d := Decode([]byte(data))
			require.False(t, d.Lossless, "decoded as %s: %q", d.Format.Encoding, d.Text)
			require.True(t, utf8.ValidString(d.Text))
			require.Contains(t, d.Text, "\uFFFD")
		})
	}
}

// FS-19: UTF-8 with a few invalid bytes is never decoded as a legacy encoding.
func TestDecodeDamagedUTF8(t *testing.T) {
	rounds := 200
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 20_000
	}
	random := rand.New(rand.NewPCG(7, 8))
	texts := map[string]string{"ascii": "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n"}
	for language, text := range legacy {
		texts[language] = text
	}
	for language, text := range texts {
		for range rounds {
			data := []byte(text)
			for range 1 + random.IntN(2) {
				at := random.IntN(len(data) + 1)
				data = append(data[:at:at], append([]byte{byte(0x80 + random.IntN(128))}, data[at:]...)...)
			}
			if utf8.Valid(data) {
				continue // the two bytes formed a character
			}
			d := Decode(data)
			if language == "ascii" && d.Lossless { // possibly one letter of a western language
				require.Contains(t, []string{"iso-8859-1", "windows-1252", "iso-8859-9", "windows-1254"}, d.Format.Encoding)
				requireExact(t, data, d)
				continue
			}
			require.False(t, d.Lossless, "%s as %s: %q", language, d.Format.Encoding, d.Text)
		}
	}
}

func TestEncode(t *testing.T) {
	data, err := Format{}.Encode("é\n") // the zero Format is UTF-8
	require.NoError(t, err)
	require.Equal(t, "é\n", string(data))
	data, err = Format{Encoding: "windows-1252", BOM: true}.Encode("é") // no mark outside of the Unicode encodings
	require.NoError(t, err)
	require.Equal(t, "\xe9", string(data))
	data, err = Format{Encoding: UTF32BE, BOM: true}.Encode("é")
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\xfe\xff\x00\x00\x00\xe9", string(data))

	for name, tt := range map[string]struct {
		format  Format
		text    string
		message []string
	}{
		"lacks the character": {Format{Encoding: "windows-1252"}, "a\nb\n語", []string{"windows-1252", "語", "U+8A9E", "line 3"}},
		"exact iso-8859-1":    {Format{Encoding: "iso-8859-1"}, "€", []string{"iso-8859-1", "€", "line 1"}},
		"gbk":                 {Format{Encoding: "gbk"}, "\U0001F600", []string{"gbk", "U+1F600"}},
		"broken text":         {Format{Encoding: UTF8}, "a\nb\xff", []string{"line 2"}},
		"broken text, utf-16": {Format{Encoding: UTF16LE}, "\xff", []string{"line 1"}},
		"unknown":             {Format{Encoding: "klingon"}, "a", []string{"klingon"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.format.Encode(tt.text)
			require.Equal(t, fault.FileWriteFailure, fault.CodeOf(err))
			for _, part := range tt.message {
				require.Contains(t, fault.As(err).Message, part)
			}
			require.NotEmpty(t, fault.As(err).Remedy)
		})
	}
}

// For any bytes: if Lossless, encoding returns the same bytes; the text is always valid UTF-8
// (FS-19).
func FuzzDecode(f *testing.F) {
	for _, text := range legacy {
		for _, name := range []string{UTF8, UTF16LE, UTF32BE, "iso-8859-1", "windows-1251", "shift_jis", "gbk", "big5", "euc-kr"} {
			if data, err := (Format{Encoding: name, BOM: true}).Encode(text); err == nil {
				f.Add(data)
			}
		}
	}
	for _, data := range []string{"", "a\r\n", "\xff\xfe\x00\x00", "\xff\xfe", "\xef\xbb\xbf\xef\xbb\xbf", "abc\x80def", "caf\xe9 cr\xe8me br\xfbl\xe9e", "\x1b$B\x1b(B\xe9"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		d := Decode(data)
		require.Equal(t, before, data)
		require.True(t, utf8.ValidString(d.Text))
		require.Equal(t, NewlineOf(d.Text), d.Format.Newline)
		if utf8.Valid(data) && d.Format.Encoding == UTF8 {
			require.True(t, d.Lossless)
		}
		if d.Lossless {
			requireExact(t, before, d)
		}
		Classify("x", data, int64(len(data)))
	})
}

func TestDecodeRandom(t *testing.T) {
	rounds := 700
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 30_000
	}
	random := rand.New(rand.NewPCG(3, 4))
	lossless := 0
	for range rounds {
		data := []byte(legacy["comment"])[:random.IntN(60)]
		for range random.IntN(12) {
			at := random.IntN(len(data) + 1)
			data = append(data[:at:at], append([]byte{byte(0x80 + random.IntN(128))}, data[at:]...)...)
		}
		if d := Decode(data); d.Lossless {
			lossless++
			requireExact(t, data, d)
		}
	}
	t.Logf("%d of %d lossless", lossless, rounds)
}

func TestCodecsLeaveTheMarkAlone(t *testing.T) {
	for _, name := range []string{UTF8, UTF16LE, UTF16BE, UTF32LE, UTF32BE} {
		data := encode(t, name, "\uFEFFa")
		text, ok := decodeExactly(data, codecOf(name))
		require.True(t, ok)
		require.Equal(t, "\uFEFFa", text)
	}
}

func BenchmarkDecode(b *testing.B) {
	ascii := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog\n"), 1<<20/44)
	russian := bytes.Repeat([]byte(legacy["russian"]), 1<<20/len(legacy["russian"]))
	b.Run("valid and copy", func(b *testing.B) { // the lower bound
		b.SetBytes(int64(len(ascii)))
		for b.Loop() {
			if utf8.Valid(ascii) {
				sink = string(ascii)
			}
		}
	})
	for _, bench := range []struct {
		name string
		data []byte
	}{
		{"ascii", ascii}, {"ascii crlf", bytes.ReplaceAll(ascii, []byte("\n"), []byte("\r\n"))}, {"utf-8", russian},
		{"utf-16", append([]byte(markUTF16LE), encode(b, UTF16LE, string(russian))...)},
		{"windows-1251", encode(b, "windows-1251", string(russian))},
		{"broken utf-8", append(bytes.Clone(russian), 0xff)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.data)))
			for b.Loop() {
				sink = Decode(bench.data).Text
			}
		})
	}
}

var sink string
