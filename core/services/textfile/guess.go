package textfile

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
)

// sampleSize bounds what the detector is shown: it needs about 0.2 ms a KiB.
const sampleSize = 8 << 10

// guess finds the legacy encoding of data, which is not valid UTF-8. Nearly
// every code page can decode nearly everything, so a guess is believed only
// if the detector is confident, the text looks written in it, and encoding
// gives the same bytes. UTF-8 with some broken bytes is never guessed at.
func guess(data []byte) (name, text string, ok bool) {
	if damagedUTF8(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", "", false
	}
	for _, c := range candidates(chardet.Detect(sample(data))) {
		codec := codecOf(c.name)
		if codec == nil {
			continue
		}
		text, ok := decodeExactly(data, codec)
		if ok && c.plausible(text) {
			return c.name, text, true
		}
	}
	return "", "", false
}

// damagedUTF8 reports whether data has more characters of UTF-8 beyond ASCII
// than broken bytes, or as many.
func damagedUTF8(data []byte) bool {
	good, bad := 0, 0
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			bad++
		} else {
			good++
		}
		i += size
	}
	return good > 0 && good >= bad
}

// sample collects the lines with bytes beyond ASCII, up to sampleSize. No
// encoding that is guessed has a line feed inside a character.
func sample(data []byte) []byte {
	var lines []byte
	for len(data) > 0 && len(lines) < sampleSize {
		line, rest := data, []byte(nil)
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			line, rest = data[:end+1], data[end+1:]
		}
		data = rest
		first := bytes.IndexFunc(line, func(r rune) bool { return r >= utf8.RuneSelf })
		if first < 0 {
			continue
		}
		if len(line) > sampleSize/2 { // begin where a character does
			line = line[first:]
		}
		lines = append(lines, line[:min(len(line), sampleSize-len(lines))]...)
	}
	return lines
}

// candidate is an encoding that a file may have, and the scripts that text in
// it is written in.
type candidate struct {
	name    string
	scripts []*unicode.RangeTable // nil for Latin
}

// candidates turns the detector's answer into encodings to try, in order.
// Without confidence there are none; the Latin ones are judged by their
// letters, for which the detector has no model.
func candidates(r chardet.Result) []candidate {
	name := strings.ToLower(r.Encoding)
	try := func(atLeast float64, scripts []*unicode.RangeTable, names ...string) (list []candidate) {
		if r.Confidence < atLeast {
			return nil
		}
		for _, n := range names {
			list = append(list, candidate{n, scripts})
		}
		return list
	}
	const script, multibyte = 0.6, 0.9
	cyrillic := []*unicode.RangeTable{unicode.Cyrillic}
	greek := []*unicode.RangeTable{unicode.Greek}
	hebrew := []*unicode.RangeTable{unicode.Hebrew}
	chinese := []*unicode.RangeTable{unicode.Han, unicode.Bopomofo}
	japanese := []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}
	korean := []*unicode.RangeTable{unicode.Hangul, unicode.Han}
	switch name {
	case "iso-8859-1", "windows-1252", "iso-8859-9", "windows-1254":
		// The Turkish pages differ from the western ones in six letters only.
		return try(0.4, nil, "iso-8859-1", "windows-1252", "iso-8859-9", "windows-1254")
	case "macroman":
		return try(script, nil, "macintosh")
	case "windows-1251", "koi8-r", "ibm855", "ibm866", "iso-8859-5":
		return try(script, cyrillic, name)
	case "maccyrillic":
		return try(script, cyrillic, "x-mac-cyrillic")
	case "iso-8859-7":
		return try(script, greek, "iso-8859-7", "windows-1253")
	case "windows-1253":
		return try(script, greek, name)
	case "iso-8859-8", "windows-1255":
		return try(script, hebrew, name, "windows-1255")
	case "tis-620":
		return try(script, []*unicode.RangeTable{unicode.Thai}, "windows-874")
	case "gb2312":
		return try(multibyte, chinese, "gbk", "gb18030")
	case "big5":
		return try(multibyte, chinese, name)
	case "shift_jis", "cp932":
		return try(multibyte, japanese, "shift_jis")
	case "euc-jp":
		return try(multibyte, japanese, name)
	case "euc-kr", "cp949":
		return try(multibyte, korean, "euc-kr")
	}
	return nil
}

// plausible reports whether text looks written, not mapped: at least three
// letters beyond ASCII, and hardly anything that does not belong.
func (c candidate) plausible(text string) bool {
	const enough, tolerance = 3, 20
	fits, odd := 0, 0
	before := rune('\n')
	for i, r := range text {
		if r < utf8.RuneSelf {
			before = r
			continue
		}
		after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		switch {
		case c.scripts != nil && unicode.In(r, c.scripts...):
			fits++
		case c.scripts == nil && latinLetter(before, r, after):
			fits++
		case !unicode.IsPunct(r) && !unicode.IsSymbol(r) && r != '\u00a0' && !wide(r):
			odd++
		case unicode.IsLetter(before) && unicode.IsLetter(after) && r != '’' && r != '·' && !wide(r):
			odd++ // a sign inside a word
		}
		before = r
	}
	return fits >= enough && odd*tolerance <= fits
}

// latinLetter reports whether r is a letter of a western language in a place
// where one stands: beside another letter, and in upper case only at the
// beginning of a word or among others.
func latinLetter(before, r, after rune) bool {
	if !unicode.Is(unicode.Latin, r) || r == 'ÿ' || r == 'ª' || r == 'º' { // ÿ is the byte 0xFF
		return false
	}
	if !unicode.Is(unicode.Latin, before) && !unicode.Is(unicode.Latin, after) {
		return false
	}
	return !unicode.IsUpper(r) || !unicode.IsLower(before)
}

// wide reports whether r is one of the signs of East Asian text.
func wide(r rune) bool { return r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef }
