package textfile

import "bytes"

// signature returns the MIME type of a binary file with a known signature, or "".
func signature(head []byte) string {
	has := func(offset int, pattern string) bool {
		return len(head) >= offset && bytes.HasPrefix(head[offset:], []byte(pattern))
	}
	switch {
	case has(0, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case has(0, "\xff\xd8\xff"):
		return "image/jpeg"
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return "image/gif"
	case has(0, "RIFF") && has(8, "WEBPVP"):
		return "image/webp"
	case has(0, "BM") && has(6, "\x00\x00\x00\x00"):
		return "image/bmp"
	case has(0, "II*\x00"), has(0, "MM\x00*"):
		return "image/tiff"
	case has(0, "\x00\x00\x01\x00"):
		return "image/x-icon"
	case has(0, "\xff\x0a"), has(0, "\x00\x00\x00\x0cJXL \r\n\x87\n"):
		return "image/jxl"
	case has(0, "8BPS"):
		return "image/vnd.adobe.photoshop"

	case has(0, "RIFF") && has(8, "WAVE"):
		return "audio/wav"
	case has(0, "FORM") && (has(8, "AIFF") || has(8, "AIFC")):
		return "audio/aiff"
	case has(0, "fLaC"):
		return "audio/flac"
	case has(0, "OggS"):
		return "audio/ogg"
	case has(0, "MThd\x00\x00\x00\x06"):
		return "audio/midi"
	case has(0, "ID3"), has(0, "\xff\xfb"), has(0, "\xff\xf3"), has(0, "\xff\xf2"):
		return "audio/mpeg"
	case has(0, "\xff\xf1"), has(0, "\xff\xf9"):
		return "audio/aac"

	case has(4, "ftyp"):
		return isoMedia(head)
	case has(0, "RIFF") && has(8, "AVI "):
		return "video/x-msvideo"
	case has(0, "\x1aE\xdf\xa3"):
		return "video/webm"
	case has(0, "FLV\x01"):
		return "video/x-flv"
	case has(0, "\x00\x00\x01\xba"), has(0, "\x00\x00\x01\xb3"):
		return "video/mpeg"
	case has(0, "G") && has(188, "G") && has(376, "G"):
		return "video/mp2t"

	case has(0, "PK\x03\x04"), has(0, "PK\x05\x06"):
		return "application/zip"
	case has(0, "\x1f\x8b"):
		return "application/gzip"
	case has(0, "BZh"):
		return "application/x-bzip2"
	case has(0, "\xfd7zXZ\x00"):
		return "application/x-xz"
	case has(0, "\x28\xb5\x2f\xfd"):
		return "application/zstd"
	case has(0, "7z\xbc\xaf\x27\x1c"):
		return "application/x-7z-compressed"
	case has(0, "Rar!\x1a\x07"):
		return "application/vnd.rar"
	case has(257, "ustar"):
		return "application/x-tar"
	case has(0, "\x00asm"):
		return "application/wasm"
	case has(0, "\x7fELF"):
		return "application/x-elf"
	case has(0, "SQLite format 3\x00"):
		return "application/vnd.sqlite3"
	}
	return ""
}

// isoMedia distinguishes the formats with an ftyp box by their brand.
func isoMedia(head []byte) string {
	if len(head) < 12 {
		return "video/mp4"
	}
	switch brand := string(head[8:12]); brand {
	case "avif", "avis":
		return "image/avif"
	case "heic", "heix", "hevc", "mif1", "msf1":
		return "image/heic"
	case "M4A ", "M4B ":
		return "audio/mp4"
	case "qt  ":
		return "video/quicktime"
	}
	return "video/mp4"
}

// mimeOfExtension returns the MIME type for a lower-case extension of binary files, or "". It omits
// the TypeScript extensions ts, mts and cts: a video stream with such a name has a signature.
func mimeOfExtension(ext string) string {
	switch ext {
	case "png", "gif", "webp", "bmp", "avif", "heic", "jxl":
		return "image/" + ext
	case "jpg", "jpeg":
		return "image/jpeg"
	case "tif", "tiff":
		return "image/tiff"
	case "ico":
		return "image/x-icon"
	case "tga":
		return "image/x-tga"
	case "psd":
		return "image/vnd.adobe.photoshop"
	case "wav", "flac", "aac", "ogg", "aiff":
		return "audio/" + ext
	case "mp3":
		return "audio/mpeg"
	case "m4a":
		return "audio/mp4"
	case "opus":
		return "audio/ogg"
	case "mid", "midi":
		return "audio/midi"
	case "mp4", "webm":
		return "video/" + ext
	case "m4v":
		return "video/mp4"
	case "mov":
		return "video/quicktime"
	case "avi":
		return "video/x-msvideo"
	case "mkv":
		return "video/x-matroska"
	case "mpg", "mpeg":
		return "video/mpeg"
	case "pdf":
		return "application/pdf"
	case "zip":
		return "application/zip"
	case "gz", "tgz", "svgz":
		return "application/gzip"
	case "wasm":
		return "application/wasm"
	case "exe", "dll", "so", "dylib", "o", "a", "obj", "lib", "class", "pyc", "pyo", "bin", "dat", "db", "jar",
		"bz2", "xz", "zst", "7z", "rar", "tar", "woff", "woff2", "ttf", "otf", "eot":
		return "application/octet-stream"
	}
	return ""
}
