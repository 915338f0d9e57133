package textfile

import (
	"bytes"
	"go/build"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FS-17, FS-18, CR-06
func TestClassify(t *testing.T) {
	svg := `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`
	transport := bytes.Repeat(append([]byte("G\x40\x00\x10"), make([]byte, 184)...), 4)
	for name, tt := range map[string]struct {
		name, head string
		kind       Kind
		mimeType   string
	}{
		"empty":                        {"a.png", "", KindText, "text/plain"},
		"ascii":                        {"a.go", "package a\n", KindText, "text/plain"},
		"no extension":                 {"Makefile", "all:\n\ttrue\n", KindText, "text/plain"},
		"utf-8":                        {"a", "日本\n", KindText, "text/plain"},
		"typescript":                   {"a.ts", "const x = 1\n", KindText, "text/plain"},
		"typescript module":            {"a.mts", "export {}\n", KindText, "text/plain"},
		"typescript common":            {"a.cts", "export {}\n", KindText, "text/plain"},
		"typescript, broken":           {"a.ts", "const x = '\xff'\n", KindText, "text/plain"},
		"transport stream":             {"a.ts", string(transport), KindVideo, "video/mp2t"},
		"escape sequences":             {"log", "\x1b[31mred\x1b[0m\f\b\n", KindText, "text/plain"},
		"text named as an image":       {"a.png", "not an image\n", KindText, "text/plain"}, // content takes precedence
		"text named as a video":        {"a.mp4", "ask git lfs\n", KindText, "text/plain"},
		"text named as a PDF":          {"a.pdf", "plain\n", KindText, "text/plain"},
		"text that begins like a BMP":  {"a.txt", "BMW is a car maker\n", KindText, "text/plain"},
		"text that begins like an ID3": {"a.txt", "ID3 tags\n", KindText, "text/plain"},
		"svg":                          {"a.svg", svg, KindSVG, "image/svg+xml"},
		"svg, upper case":              {"A.SVG", "\n <svg/>", KindSVG, "image/svg+xml"},
		"svg, BOM":                     {"a.svg", "\xef\xbb\xbf" + svg, KindSVG, "image/svg+xml"},
		"svg, utf-16":                  {"a.svg", "\xff\xfe<\x00s\x00v\x00g\x00/\x00>\x00", KindSVG, "image/svg+xml"},
		"svg in name only":             {"a.svg", "version https://git-lfs\n", KindText, "text/plain"},
		"svg under another name":       {"a.xml", svg, KindText, "text/plain"},
		"svg, binary":                  {"a.svg", "<\x00\x01\x02", KindBinary, "application/octet-stream"},
		"svgz":                         {"a.svgz", "\x1f\x8b\x08\x00", KindBinary, "application/gzip"},
		"utf-16 BOM":                   {"a", "\xff\xfea\x00\n\x00", KindText, "text/plain"},
		"utf-16be BOM":                 {"a", "\xfe\xff\x00a\x00\n", KindText, "text/plain"},
		"utf-32 BOM":                   {"a", "\xff\xfe\x00\x00a\x00\x00\x00", KindText, "text/plain"},
		"utf-16 without BOM":           {"a", "a\x00b\x00\n\x00", KindBinary, "application/octet-stream"},
		"utf-16 BOM, then rubbish":     {"a", "\xff\xfea\x00\x00\x00\x01\x00", KindBinary, "application/octet-stream"},
		"NUL":                          {"a.txt", "a\x00b", KindBinary, "application/octet-stream"},
		"control codes":                {"a.txt", "\x01\x02\x03\x04abc", KindBinary, "application/octet-stream"},
		"latin-1":                      {"a.txt", "caf\xe9 cr\xe8me\n", KindText, "text/plain"},
		"stray byte":                   {"a.go", "hello\xff world\n", KindText, "text/plain"},
		"shift_jis":                    {"a.c", "// \x95\x5c\x8e\xa6\n", KindText, "text/plain"},
		"pdf":                          {"a.pdf", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", KindPDF, "application/pdf"},
		"pdf, all ascii":               {"a", "%PDF-1.4\n1 0 obj\n", KindPDF, "application/pdf"},
		"image by name":                {"a.tga", "\x00\x00\x02\x00\x00", KindImage, "image/x-tga"},
		"broken png":                   {"a.png", "\x89PNG\x00\x00", KindImage, "image/png"},
		"webp":                         {"a", "RIFF\x00\x01\x00\x00WEBPVP8 ", KindImage, "image/webp"},
		"avif":                         {"a", "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00", KindImage, "image/avif"},
		"heic":                         {"a", "\x00\x00\x00\x1cftypheic\x00\x00\x00\x00", KindImage, "image/heic"},
		"wav":                          {"a", "RIFF\x00\x01\x00\x00WAVEfmt ", KindAudio, "audio/wav"},
		"mp3":                          {"a", "ID3\x04\x00\x00\x00\x00", KindAudio, "audio/mpeg"},
		"mp3 without a tag":            {"a.mp3", "\xff\xfb\x90\x64\x00\x00", KindAudio, "audio/mpeg"},
		"ogg":                          {"a", "OggS\x00\x02\x00\x00", KindAudio, "audio/ogg"},
		"m4a":                          {"a", "\x00\x00\x00\x1cftypM4A \x00\x00\x00\x00", KindAudio, "audio/mp4"},
		"mp4":                          {"a", "\x00\x00\x00\x1cftypisom\x00\x00\x02\x00", KindVideo, "video/mp4"},
		"mov":                          {"a", "\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00", KindVideo, "video/quicktime"},
		"webm":                         {"a", "\x1aE\xdf\xa3\x01\x00\x00\x00", KindVideo, "video/webm"},
		"avi":                          {"a", "RIFF\x00\x01\x00\x00AVI LIST", KindVideo, "video/x-msvideo"},
		"zip":                          {"a.docx", "PK\x03\x04\x14\x00", KindBinary, "application/zip"},
		"wasm":                         {"a", "\x00asm\x01\x00\x00\x00", KindBinary, "application/wasm"},
		"binary by name":               {"a.dat", "\x80\x81\x82", KindBinary, "application/octet-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, Class{tt.kind, tt.mimeType}, Classify(tt.name, []byte(tt.head), int64(len(tt.head))))
		})
	}
}

func TestClassifyRealFiles(t *testing.T) {
	picture := image.NewPaletted(image.Rect(0, 0, 4, 4), color.Palette{color.Black, color.White})
	for mimeType, write := range map[string]func(*bytes.Buffer) error{
		"image/png":  func(b *bytes.Buffer) error { return png.Encode(b, picture) },
		"image/gif":  func(b *bytes.Buffer) error { return gif.Encode(b, picture, nil) },
		"image/jpeg": func(b *bytes.Buffer) error { return jpeg.Encode(b, picture, nil) },
	} {
		var b bytes.Buffer
		require.NoError(t, write(&b))
		require.Equal(t, Class{KindImage, mimeType}, Classify("a.txt", b.Bytes(), int64(b.Len())))
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		require.Equal(t, KindBinary, Classify("program", program[:HeadSize], int64(len(program))).Kind)
	}
	// Go's own sources are text, whatever they contain.
	sources, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", "*", "*.go"))
	require.NoError(t, err)
	for _, name := range sources {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, KindText, Classify(name, data[:min(len(data), HeadSize)], int64(len(data))).Kind, name)
	}
}

// A head that ends inside a character is classified like a complete one.
func TestClassifyCutHead(t *testing.T) {
	for _, text := range []string{strings.Repeat("日本語\U0001F600é", 3000)} {
		for _, format := range []Format{{UTF8, false, ""}, {UTF8, true, ""}, {UTF16LE, true, ""}, {UTF16BE, true, ""}, {UTF32LE, true, ""}, {UTF32BE, true, ""}} {
			data, err := format.Encode(text)
			require.NoError(t, err)
			for n := HeadSize - 20; n < HeadSize; n++ {
				require.Equal(t, KindText, Classify("a", data[:n], int64(len(data))).Kind, "%s %d", format.Encoding, n)
			}
		}
	}
}

// Random bytes are not text.
func TestClassifyRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		data := make([]byte, 4096)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		require.NotEqual(t, KindText, Classify("a", data, int64(len(data))).Kind)
	}
}

func TestClassifyMode(t *testing.T) {
	for mode, want := range map[fs.FileMode]Kind{
		fs.ModeDir | 0o755:                KindDirectory,
		fs.ModeNamedPipe:                  KindSpecial,
		fs.ModeSocket:                     KindSpecial,
		fs.ModeDevice:                     KindSpecial,
		fs.ModeDevice | fs.ModeCharDevice: KindSpecial,
		fs.ModeSymlink:                    KindSpecial,
		fs.ModeIrregular:                  KindSpecial,
	} {
		c, ok := ClassifyMode(mode)
		require.True(t, ok)
		require.Equal(t, want, c.Kind)
		require.NotEmpty(t, c.MIMEType)
	}
	_, ok := ClassifyMode(0o644 | fs.ModeSetuid)
	require.False(t, ok)
}

func BenchmarkClassify(b *testing.B) {
	head := bytes.Repeat([]byte("the quick brown fox\n"), HeadSize/20)
	for b.Loop() {
		Classify("a.go", head, 1<<20)
	}
}
