package webfetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// read reads the body of a response. It does not read an unsupported type or a body above the size
// limit.
func (s *Service) read(res *http.Response, u *url.URL) (body, error) {
	b := body{url: u, contentType: res.Header.Get("Content-Type")}
	media := mediaType(b.contentType)
	if media != "" && kindOf(media) == unsupported && res.ContentLength != 0 {
		if isSuccess(res.StatusCode) {
			return b, unsupportedType(media, res.ContentLength)
		}
		return b, nil // the status is the result
	}
	if res.ContentLength > s.o.MaxBytes {
		return b, tooLarge(fmt.Sprintf("The response has %d bytes, more than %d.", res.ContentLength, s.o.MaxBytes))
	}
	data, err := readAtMost(res.Body, s.o.MaxBytes, "The response has more than %d bytes.")
	if err != nil {
		return b, brokenOff(err)
	}
	if b.data, err = s.decompress(data, res.Header.Values("Content-Encoding")); err != nil {
		return b, err
	}
	return b, nil
}

func isSuccess(status int) bool { return 200 <= status && status <= 299 }

// readAtMost reads all of r. Above the limit it fails with the given message.
func readAtMost(r io.Reader, most int64, message string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if int64(len(data)) > most {
		return nil, tooLarge(fmt.Sprintf(message, most))
	}
	return data, err
}

func tooLarge(message string) *fault.Error {
	return failed(message, "Fetch a smaller page; or download it with a shell command and read parts of it.", nil)
}

func brokenOff(err error) error {
	if fault.As(err) != nil {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return failed("The server closed the connection before the end of the response.", "Try again later, or use another source.", err)
	}
	return fmt.Errorf("read the response: %w", err)
}

// decompress undoes the encodings of the Content-Encoding headers, in reverse order.
func (s *Service) decompress(data []byte, headers []string) ([]byte, error) {
	var encodings []string
	for _, e := range strings.Split(strings.ToLower(strings.Join(headers, ",")), ",") {
		if e = strings.TrimSpace(e); e != "" && e != "identity" {
			encodings = append(encodings, e)
		}
	}
	const most = 3
	if len(encodings) > most {
		return nil, failed(fmt.Sprintf("The response is compressed %d times.", len(encodings)), "Use another source.", nil)
	}
	for i := len(encodings) - 1; i >= 0 && len(data) > 0; i-- {
		r, err := decompressor(data, encodings[i])
		if err == nil {
			data, err = readAtMost(r, s.o.MaxBytes, "The response has more than %d bytes after decompression.")
		}
		if fault.As(err) != nil {
			return nil, err
		}
		if err != nil {
			return nil, failed("The "+encodings[i]+" compression of the response is invalid: "+errorText(err)+".", "Try again later, or use another source.", err)
		}
	}
	return data, nil
}

func decompressor(data []byte, encoding string) (io.Reader, error) {
	r := bytes.NewReader(data)
	switch encoding {
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "deflate": // zlib by the standard; some servers send raw deflate
		if len(data) > 1 && data[0]&0x0f == 8 && (uint(data[0])<<8|uint(data[1]))%31 == 0 {
			return zlib.NewReader(r)
		}
		return flate.NewReader(bufio.NewReader(r)), nil
	}
	return nil, failed(fmt.Sprintf("The server compressed its response as %s, which was not requested and is not supported.", escape.Quote(escape.Clip(escape.OneLine(encoding), 40))),
		"Use another source, or download it with a shell command.", nil)
}
