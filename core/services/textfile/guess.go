package textfile

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
)

// sampleSize is the limit of the detector's input: it needs about 0.2 ms per KiB.
const sampleSize = 8 << 10

// guess detects the legacy encoding of data that is not valid UTF-8. Nearly every code page can
// decode nearly all data. A guess is therefore accepted only if the detector is confident, the text
// is plausible, and encoding it returns the same bytes. UTF-8 with a few invalid bytes is never
// decoded as a legacy encoding.
func guess(data []byte) (name, text string, ok bool) {
	if damagedUTF8(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", "", false
	}
	for _, c := range candidates(chardet.Detect(sample(data)), data) {
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

// damagedUTF8 reports whether data has at least as many UTF-8 characters beyond ASCII as invalid
// bytes.
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

// sample collects the lines with bytes beyond ASCII, up to sampleSize. In none of the candidate
// encodings is a line feed part of another character.
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
		if len(line) > sampleSize/2 { // begin at a character boundary
			line = line[first:]
		}
		lines = append(lines, line[:min(len(line), sampleSize-len(lines))]...)
	}
	return lines
}

// candidate is a possible encoding of a file.
type candidate struct {
	name     string
	scripts  []*unicode.RangeTable // scripts of its texts; nil: Latin
	evidence []*unicode.RangeTable // scripts that count as evidence; nil: all of them
}

// candidates converts the detector's result to encodings to try, in order. For languages that the
// detector models, a high confidence is required. The Latin encodings, mostly without a model, are
// judged by their letters.
func candidates(r chardet.Result, data []byte) []candidate {
	const language, multibyte = 0.6, 0.9
	cyrillic := []*unicode.RangeTable{unicode.Cyrillic}
	greek := []*unicode.RangeTable{unicode.Greek}
	hebrew := []*unicode.RangeTable{unicode.Hebrew}
	thai := []*unicode.RangeTable{unicode.Thai}
	chinese := []*unicode.RangeTable{unicode.Han, unicode.Bopomofo}
	japanese := []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}
	korean := []*unicode.RangeTable{unicode.Hangul, unicode.Han}

	var list []candidate
	offer := func(atLeast float64, scripts []*unicode.RangeTable, names ...string) {
		for _, name := range names {
			if r.Confidence >= atLeast {
				list = append(list, candidate{name: name, scripts: scripts})
			}
		}
	}
	if r.Confidence < multibyte {
		// The detector misses short Japanese texts, but their kana identify them.
		list = append(list, candidate{"shift_jis", japanese, []*unicode.RangeTable{unicode.Hiragana, fullWidthKatakana}})
	}
	switch name := strings.ToLower(r.Encoding); name {
	case "iso-8859-1", "windows-1252":
		offer(0, nil, "iso-8859-1", "windows-1252")
	case "iso-8859-9", "windows-1254":
		if hasTurkish(data) {
			offer(0, nil, "iso-8859-9", "windows-1254")
		} else {
			offer(0, nil, "iso-8859-1", "windows-1252")
		}
	case "macroman":
		offer(language, nil, "macintosh")
	case "windows-1251", "koi8-r", "ibm855", "ibm866", "iso-8859-5":
		offer(language, cyrillic, name)
	case "iso-8859-7", "windows-1253":
		offer(language, greek, name, "windows-1253")
	case "iso-8859-8", "windows-1255":
		offer(language, hebrew, name, "windows-1255")
	case "tis-620":
		offer(language, thai, "windows-874")
	case "gb2312":
		offer(multibyte, chinese, "gbk", "gb18030")
	case "big5":
		offer(multibyte, chinese, name)
	case "shift_jis", "cp932":
		offer(multibyte, japanese, "shift_jis")
	case "euc-jp":
		offer(multibyte, japanese, name)
	case "euc-kr", "cp949":
		offer(multibyte, korean, "euc-kr")
	}
	return list
}

var fullWidthKatakana = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x30a1, Hi: 0x30fa, Stride: 1}}}

// hasTurkish reports whether data has one of the six bytes in which the Turkish encodings differ
// from the western ones.
func hasTurkish(data []byte) bool {
	for _, b := range []byte("\xd0\xdd\xde\xf0\xfd\xfe") {
		if bytes.IndexByte(data, b) >= 0 {
			return true
		}
	}
	return false
}

// plausible reports whether text looks written rather than decoded by accident. It needs several
// different letters beyond ASCII of the encoding's languages, and hardly any other characters. In
// Latin text one letter is sufficient, such as that of an author's name, if all letters are common
// ones and there is no contrary evidence.
func (c candidate) plausible(text string) bool {
	const enough, tolerance = 3, 20
	fits, odd := 0, 0
	var first rune
	varied := false
	common := c.scripts == nil
	before := rune('\n')
	for i, r := range text {
		if r >= utf8.RuneSelf {
			after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			switch c.judge(before, r, after) {
			case evidence:
				fits++
				if first == 0 {
					first = r
				}
				varied = varied || r != first
				common = common && strings.ContainsRune(commonLatin, r)
			case doubt:
				odd++
			}
		}
		before = r
	}
	return fits >= enough && varied && odd*tolerance <= fits || fits > 0 && odd == 0 && common
}

// commonLatin are the letters of which one is sufficient evidence. It omits letters whose codes in
// the western encodings are the most common invalid bytes.
const commonLatin = "éèêëàáäåæçíìîïñóòôöõøúùûüßÉÄÖÜ"

// verdict is the evidence of one character about a guess.
type verdict int

const (
	neutral verdict = iota
	evidence
	doubt
)

// judge judges a character beyond ASCII by its neighbors.
func (c candidate) judge(before, r, after rune) verdict {
	switch {
	case r == utf8.RuneError || unicode.IsControl(r):
		return doubt
	case c.scripts == nil && unicode.Is(unicode.Latin, r):
		return judgeLatin(before, r, after)
	case c.scripts != nil && unicode.In(r, c.scripts...):
		if c.evidence == nil || unicode.In(r, c.evidence...) {
			return evidence
		}
		return neutral
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return doubt // of a script that the encoding has but its texts rarely use
	case unicode.IsLetter(before) && unicode.IsLetter(after) && c.scripts == nil && r != '’' && r != '·':
		return doubt // a symbol inside a word
	}
	return neutral
}

// judgeLatin judges a letter of a western language. Such a letter has a letter next to it; an
// upper-case one is at the beginning of a word or next to other capitals. Letters with the codes of
// the most common invalid bytes, and letters of Icelandic only, are neutral.
func judgeLatin(before, r, after rune) verdict {
	switch {
	case r == 'ÿ', unicode.IsUpper(r) && unicode.IsLower(before):
		return doubt
	case strings.ContainsRune("þðýÞÐÝªº", r):
		return neutral
	case unicode.Is(unicode.Latin, before), unicode.Is(unicode.Latin, after):
		return evidence
	case unicode.IsUpper(r):
		return doubt
	}
	return neutral // a word of one letter, such as à
}
